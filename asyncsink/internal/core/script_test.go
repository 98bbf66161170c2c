package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestScripts plays the conversations in testdata: what happens to the core,
// and what it wants next. A script's commands are the methods of script; after
// each one the core is asked until it waits, as a shell would. Back-offs are
// drawn at their upper bound, so that times can be followed.
//
// After a change that is meant: go test ./asyncsink/internal/core -run TestScripts -rewrite
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{saved: map[string]*saved{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			do, ok := scriptCommands[d.Cmd]
			if !ok {
				t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			}
			s.t, s.out, s.asked = t, strings.Builder{}, false
			do(s, d.CmdArgs)
			if s.asked {
				s.sayWait()
			}
			require.NoError(t, s.core.Ledger.check(), d.Pos)
			return s.out.String()
		})
	})
}

// scriptCommands are what a script may say. Entries are written NAME, NAME:KEY,
// NAME@SIZE or NAME:KEY@SIZE; without a size they weigh one byte.
var scriptCommands = map[string]func(*script, []datadriven.CmdArg){
	"new":      (*script).doNew,      // LIMIT=VALUE order= relation= on_rejected= flags: a core that holds nothing
	"restart":  (*script).doRestart,  // from=(SNAPSHOT, ...), and as new over the former configuration: the next life
	"tune":     (*script).doTune,     // LIMIT=VALUE
	"offer":    (*script).doOffer,    // ENTRY ...
	"keep":     (*script).doKeep,     // ENTRY ...
	"answer":   (*script).doAnswer,   // REQUEST [whole=KIND] [ENTRY=KIND ...] [after=DURATION]
	"advance":  (*script).doAdvance,  // DURATION, waking up on the way whenever the core asked for it
	"snapshot": (*script).doSnapshot, // NAME: taken now
	"read":     (*script).doRead,     // NAME: what it shows, whenever that is
	"release":  (*script).doRelease,  // NAME
	"state":    (*script).doState,    // the ledger, and what is not zero of the counters
	"settled": func(s *script, _ []datadriven.CmdArg) {
		s.say("%v, low-water mark %d", s.core.AppendSettled(nil), s.core.LowWater())
	},
	"window":  func(s *script, _ []datadriven.CmdArg) { s.say("%d entries", s.core.Window()) },
	"next":    func(s *script, _ []datadriven.CmdArg) { s.pump() },
	"flush":   func(s *script, _ []datadriven.CmdArg) { s.core.Flush(); s.pump() },
	"end":     func(s *script, _ []datadriven.CmdArg) { s.core.EndOfInput(); s.pump() },
	"buried":  func(s *script, _ []datadriven.CmdArg) { s.core.Buried(); s.pump() },
	"abandon": func(s *script, _ []datadriven.CmdArg) { s.core.Abandon(s.now); s.pump() },
	"stop":    func(s *script, _ []datadriven.CmdArg) { s.core.Stop(errors.New("told to")); s.pump() },
}

// script is one conversation.
type script struct {
	t       *testing.T
	out     strings.Builder
	now     Time
	lives   byte
	config  Config[word]
	core    *Core[word]
	sent    []*Batch[word] // by the number that the script gives them, from 1
	saved   map[string]*saved
	pending []Held[word] // to be restored, not fed yet
	wakeAt  Time
	asked   bool // the core, during this command
}

type saved struct {
	snap *Snapshot[word]
	held []Held[word] // as read
}

// clock is the time since the script began, without the limiter's rounding.
func clock(t Time) string { return t.Sub(0).Round(time.Microsecond).String() }

func (s *script) say(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *script) doNew(args []datadriven.CmdArg) {
	s.config, s.now, s.pending = Config[word]{}, 0, nil
	s.begin(args, nil)
}

func (s *script) doRestart(args []datadriven.CmdArg) {
	s.pending = nil
	var divert []uint64
	i := slices.IndexFunc(args, func(a datadriven.CmdArg) bool { return a.Key == "from" })
	for _, name := range args[i].Vals {
		from := s.saved[name]
		s.pending = append(s.pending, from.held...)
		divert = append(divert, from.snap.Divert...)
	}
	s.begin(slices.Delete(args, i, i+1), divert)
}

// begin starts a life, with what is pending and diverted from earlier ones.
func (s *script) begin(args []datadriven.CmdArg, divert []uint64) {
	configure(s.t, &s.config, args)
	s.lives++
	s.config.Writer[0] = s.lives
	s.core, s.sent = New(s.config), nil
	s.core.Divert(divert)
	s.core.Feed(len(s.pending) > 0)
	s.pump()
}

func (s *script) doTune(args []datadriven.CmdArg) {
	configure(s.t, &s.config, args)
	s.core.Tune(s.now, s.config.Limits)
	s.pump()
}

func (s *script) doOffer(args []datadriven.CmdArg) {
	for _, a := range args {
		if _, err := s.core.Offer(s.now, parseWord(s.t, a.Key)); err != nil {
			s.say("%s refused: %v", a.Key, err)
		}
		if s.core.Noticeable() {
			s.pump()
		}
	}
	if s.out.Len() == 0 {
		s.say("held")
	}
}

func (s *script) doKeep(args []datadriven.CmdArg) {
	for _, a := range args {
		_, err := s.core.Keep(s.now, parseWord(s.t, a.Key))
		require.NoError(s.t, err)
	}
	s.pump()
}

func (s *script) doAnswer(args []datadriven.CmdArg) {
	n, err := strconv.Atoi(args[0].Key)
	require.NoError(s.t, err)
	if n > len(s.sent) || s.sent[n-1].state == batchOpen {
		s.say("request %d is not out", n)
		return
	}
	b := s.sent[n-1]
	whole, fails := Outcome{}, []Failure(nil)
	for _, a := range args[1:] {
		switch a.Key {
		case "after":
			whole.After, err = time.ParseDuration(a.Vals[0])
			require.NoError(s.t, err)
		case "whole":
			whole.Kind, whole.Err = parseKind(s.t, a.Vals[0])
		default:
			i := slices.IndexFunc(b.Entries, func(w word) bool { return w.name == a.Key })
			require.GreaterOrEqual(s.t, i, 0, "request %d does not carry %s", n, a.Key)
			kind, cause := parseKind(s.t, a.Vals[0])
			fails = append(fails, Failure{i, Outcome{Kind: kind, Err: cause}})
		}
	}
	slices.SortFunc(fails, func(a, b Failure) int { return a.Index - b.Index })
	s.core.Done(s.now, b, whole, fails)
	s.pump()
}

func (s *script) doAdvance(args []datadriven.CmdArg) {
	d, err := time.ParseDuration(args[0].Key)
	require.NoError(s.t, err)
	end := s.now.Add(d)
	for s.wakeAt <= end {
		s.now = s.wakeAt
		s.say("at %s:", clock(s.now))
		s.pump()
	}
	s.now = end
	if s.out.Len() == 0 {
		s.say("nothing")
	}
}

func (s *script) doSnapshot(args []datadriven.CmdArg) {
	from := &saved{snap: s.core.Snapshot()}
	s.saved[args[0].Key] = from
	s.say("%d entries of %d bytes", from.snap.Held.Entries, from.snap.Held.Bytes)
	if len(from.snap.Divert) > 0 {
		s.say("%d keys diverted", len(from.snap.Divert))
	}
}

func (s *script) doRead(args []datadriven.CmdArg) {
	from := s.saved[args[0].Key]
	from.held = slices.Collect(from.snap.All())
	for _, h := range from.held {
		s.say("%s", describe(h))
	}
	from.held = append(from.held, s.pending...)
}

func (s *script) doRelease(args []datadriven.CmdArg) {
	s.core.Release(s.saved[args[0].Key].snap)
	s.pump()
}

// pump does what the core wants until it waits.
func (s *script) pump() {
	for range 10_000 {
		switch a := s.core.Next(s.now); a.Kind {
		case Send:
			s.sent = append(s.sent, a.Batch)
			s.say("send %d: %s", len(s.sent), names(a.Batch.Entries))
		case Bury:
			for _, d := range a.Dead {
				s.say("bury %s: %s, attempts %d: %v", d.Entry.name, d.Death.Class, d.Attempts, d.Death.Err)
			}
		case Room:
			s.feed(a)
		case Again:
		case Wait:
			s.wakeAt, s.asked = a.Until, true
			require.GreaterOrEqual(s.t, s.wakeAt, s.now, "wake-up in the past")
			return
		}
	}
	s.t.Fatalf("the core never waits")
}

func (s *script) sayWait() {
	switch err := s.core.Err(); {
	case err != nil:
		s.say("stopped: %v", err)
	case s.wakeAt == Never:
		s.say("wait for an event")
	default:
		s.say("wait until %s", clock(s.wakeAt))
	}
}

func (s *script) feed(room Action[word]) {
	var fed []word
	for len(s.pending) > 0 && int64(len(fed)) < room.Entries && s.core.Restore(s.now, s.pending[0]) {
		fed = append(fed, s.pending[0].Entry)
		s.pending = s.pending[1:]
	}
	s.say("room for %d entries of %d bytes, restore: %s", room.Entries, room.Bytes, cmp.Or(names(fed), "nothing"))
	if len(s.pending) == 0 {
		s.core.Feed(false)
	}
}
