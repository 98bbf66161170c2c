package kinesistest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Fault is one scripted failure: which requests it strikes, which of their entries, and how. It has a text form
// of one line, which [Fault.String] prints and [ParseFault] reads, so that a failing run can be told in a log
// line and repeated on a command line:
//
//	PutRecords entries share=0.1 seed=7 fail InternalFailure
//	PutRecords nth=3 cut after applying
//	PutRecords every=10 delay 200ms
//	PutRecords stream=orders from=5 times=2 fail ServiceUnavailable status=503
//	PutRecords entries index=0,2 key="hot" fail ProvisionedThroughputExceededException
//	* share=0.01 seed=4 hang
//
// The grammar, with [ ] for what may be left out, { } for any number of times, | for a choice, in words
// separated by blanks:
//
//	fault    = operation { which } how [ ( "before" | "after" ) "applying" ]
//	operation= "*" | name of an operation, such as PutRecords
//	which    = "stream=" name     only requests to this stream
//	         | "nth=" n           only the n-th of the requests seen: short for from=n to=n
//	         | "from=" n          from the n-th on
//	         | "to=" n            up to the n-th, itself included
//	         | "every=" n         the n-th, the 2n-th and so on
//	         | "share=" p         each with probability p, above 0 and at most 1
//	         | "seed=" n          of the dice for share; 0 if left out
//	         | "times=" n         at most n times in all
//	how      = "entries" { entries } "fail" code   these entries fail, HTTP 200 (PutRecords only)
//	         | "fail" code [ "status=" n ]         the request fails as a whole
//	         | "delay" duration                    the answer takes longer, by 200ms or 1.5s
//	         | "cut"                               the connection breaks off without an answer
//	         | "hang"                              no answer until the client gives up
//	         | "short" n                           the answer lacks the last n results (PutRecords only)
//	         | "truncate"                          status 200 and the first half of the body, then the connection breaks off
//	entries  = "index=" n { "," n }  at these places of the request, from 0
//	         | "share=" p            each with probability p
//	         | "seed=" n             the same seed as above; it may stand on either side
//	         | "key=" string         with this partition key; a Go string literal, or a bare word
//
// Conditions add up: all of them must hold. Requests are counted for each fault by itself, from its injection
// on, over the requests to its operation and stream. The dice are a function of seed, request and entry: the
// same requests in the same order meet the same fate. A fault on entries that finds none of its entries in a
// request has not struck, as far as times is concerned.
//
// "before applying", which may be left out, means that the server fails first and stores nothing (or not these
// entries). "after applying" means that everything was stored and the client is told otherwise, or late, or
// nothing: the case that makes duplicates. A short or truncated answer always comes after applying, since there
// is something to tell.
//
// Several faults may strike one request. Delays add up, entries fail by the first fault that names them, and
// the first of fail, cut, hang and truncate takes the place of the answer.
type Fault struct {
	Op       string  // "PutRecords" and so on; "": any, printed as *
	Stream   string  // name; "": any
	From, To int     // of the requests seen, counted from 1, inclusive; 0: open
	Every    int     // each request whose number it divides; 0: each
	Share    float64 // probability of each request, at most 1; 0: all
	Seed     uint64  // of the dice for both shares
	Times    int     // at most so many; 0: no end

	Do      Action
	Entries Entries       // of FailEntries
	Code    string        // of FailEntries and FailRequest
	Status  int           // of FailRequest; 0: the one that goes with the code, 400 if in doubt
	Delay   time.Duration // of DelayReply
	Missing int           // of ShortReply
	After   bool          // after applying
}

// Entries chooses entries of a PutRecords request; the zero value chooses all.
type Entries struct {
	Index []int   // places in the request, from 0; empty: any
	Share float64 // probability of each entry, at most 1; 0: all
	Key   string  // partition key; "": any
}

// Action is what a Fault does.
type Action int

// The actions, in the grammar's order; none is the zero value, so that an empty Fault does not validate.
const (
	FailEntries   Action = iota + 1 // entries ... fail: they are answered with Code, HTTP 200
	FailRequest                     // fail: the request is answered with Code and Status
	DelayReply                      // delay: by Delay
	Cut                             // cut: the connection breaks off without an answer
	Hang                            // hang: no answer until the client gives up; one that never does hangs for ever
	ShortReply                      // short: the last Missing results are left out
	TruncateReply                   // truncate: half of the answer's body, then the connection breaks off
)

var actionNames = map[Action]string{
	FailEntries: "entries", FailRequest: "fail", DelayReply: "delay", Cut: "cut", Hang: "hang", ShortReply: "short",
	TruncateReply: "truncate",
}

// String is the text form. For a fault that validates, ParseFault reads it back to an equal one.
func (f Fault) String() string {
	var w []string
	word := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	count := func(name string, n int) {
		if n != 0 {
			word("%s=%d", name, n)
		}
	}
	share := func(p float64) {
		if p != 0 {
			word("share=%s", strconv.FormatFloat(p, 'g', -1, 64))
		}
	}
	if f.Op == "" {
		word("*")
	} else {
		word("%s", f.Op)
	}
	if f.Stream != "" {
		word("stream=%s", f.Stream)
	}
	if f.From == f.To {
		count("nth", f.From)
	} else {
		count("from", f.From)
		count("to", f.To)
	}
	count("every", f.Every)
	share(f.Share)
	if f.Seed != 0 {
		word("seed=%d", f.Seed)
	}
	count("times", f.Times)
	word("%s", actionNames[f.Do])
	switch f.Do {
	case FailEntries:
		if len(f.Entries.Index) > 0 {
			word("index=%s", strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Entries.Index), "[]"), " ", ","))
		}
		share(f.Entries.Share)
		if f.Entries.Key != "" {
			word("key=%s", strconv.Quote(f.Entries.Key))
		}
		word("fail %s", f.Code)
	case FailRequest:
		word("%s", f.Code)
		count("status", f.Status)
	case DelayReply:
		word("%s", f.Delay)
	case ShortReply:
		word("%d", f.Missing)
	}
	if f.After {
		word("after applying")
	}
	return strings.Join(w, " ")
}

// Validate reports every fault of the fault at once.
func (f Fault) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("kinesistest: fault: "+format, args...))
		}
	}
	_, known := operations[f.Op]
	check(f.Op == "" || known, "operation %q: not one of kinesistest's", f.Op)
	check(f.Stream == "" || validName(f.Stream), "stream %q: not the name of a stream", f.Stream)
	check(f.From >= 0 && f.To >= 0 && (f.To == 0 || f.From <= f.To),
		"from %d, to %d: must not be negative, nor the first above the second", f.From, f.To)
	check(f.Every >= 0, "every %d: must not be negative", f.Every)
	check(f.Times >= 0, "times %d: must not be negative", f.Times)
	check(isShare(f.Share), "share %v: must be above 0 and at most 1", f.Share)
	check(f.Do >= FailEntries && f.Do <= TruncateReply, "action %d: there is no such action", f.Do)

	e := f.Entries
	outside := slices.ContainsFunc(e.Index, func(i int) bool { return i < 0 || i >= MaxEntries })
	check(f.Do == FailEntries || (len(e.Index) == 0 && e.Share == 0 && e.Key == ""), "entries: only go with FailEntries")
	check(!outside, "entries' index %v: must be 0 to %d", e.Index, MaxEntries-1)
	check(isShare(e.Share), "entries' share %v: must be above 0 and at most 1", e.Share)
	check((f.Do != FailEntries && f.Do != ShortReply) || f.Op == "PutRecords",
		"operation %q: entries and short go with PutRecords only", f.Op)

	hasCode := f.Do == FailEntries || f.Do == FailRequest
	check(!hasCode || isWord(f.Code), "code %q: must be letters", f.Code)
	check(hasCode || f.Code == "", "code %q: only goes with fail", f.Code)
	check(f.Status == 0 || (f.Do == FailRequest && f.Status >= 400 && f.Status <= 599),
		"status %d: must be 400 to 599, and goes with a failing request only", f.Status)
	check((f.Do == DelayReply) == (f.Delay != 0) && f.Delay >= 0, "delay %s: must be above 0, and goes with delay only", f.Delay)
	check((f.Do == ShortReply) == (f.Missing != 0) && f.Missing >= 0, "missing %d: must be above 0, and goes with short only", f.Missing)
	check(!f.After || (f.Do != ShortReply && f.Do != TruncateReply), "after applying: short and truncate always are; leave it out")
	return errors.Join(errs...)
}

// isShare refuses NaN as well.
func isShare(p float64) bool { return p >= 0 && p <= 1 }

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) })
}

func (f *Fault) requestError() *apiError {
	e := refuse(f.Code, "Injected by kinesistest: %s", f)
	if f.Status != 0 {
		e.status = f.Status
	}
	return e
}
