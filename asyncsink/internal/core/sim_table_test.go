package core

import (
	"fmt"
	"strings"
)

// The limits that a schedule may hit.
const (
	limitHeldEntries = iota
	limitHeldBytes
	limitEntryBytes
	limitBatchEntries
	limitBatchBytes
	limitBatchAge
	limitRequests
	limitWindow
	limitFlightBytes
	limitTimeout
	limitRecordRate
	limitByteRate
	limitRequestRate
	limitAttempts
	limitAge
	limitCount
)

var limitNames = [limitCount]string{
	"held.entries", "held.bytes", "batch.entry_bytes", "batch.entries", "batch.bytes", "batch.age",
	"in_flight.requests", "in_flight.entries", "in_flight.bytes", "in_flight.timeout",
	"rate.records", "rate.bytes", "rate.requests", "retry.attempts", "retry.age",
}

const kinds = int(CredentialExpired) + 1

// coverage counts, over all schedules, each outcome by order and by the limits
// that the schedule had hit before it.
type coverage struct {
	cells   [kinds][3][limitCount]int
	classes map[string]int
	traits  map[string]int // schedules by relation and owner of the retries
	steps   int
	lives   int
	spilled int
}

func (c *coverage) count(k Kind, o Order, hit [limitCount]bool) {
	for l, h := range hit {
		if h {
			c.cells[k][o][l]++
		}
	}
}

// drives counts a schedule by the traits of its destination.
func (c *coverage) drives(r Relation, owns bool) {
	if c.traits == nil {
		c.traits = map[string]int{}
	}
	name := [...]string{"independent", "prefix", "pipelined"}[r] + ", retries of the writer"
	if owns {
		name = strings.TrimSuffix(name, "writer") + "client"
	}
	c.traits[name]++
}

func (c *coverage) buried(class string) {
	if c.classes == nil {
		c.classes = map[string]int{}
	}
	c.classes[class]++
}

// String draws the table.
func (c *coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %-10s", "limit hit", "order")
	for k := range kinds {
		fmt.Fprintf(&b, "%19v", Kind(k))
	}
	for l := range int(limitCount) {
		for o, order := range []string{"unordered", "per key", "total"} {
			fmt.Fprintf(&b, "\n%-20s %-10s", limitNames[l], order)
			for k := range kinds {
				fmt.Fprintf(&b, "%19d", c.cells[k][o][l])
			}
		}
	}
	return b.String()
}

// empty lists the cells that are empty and should not be, or the reverse.
func (c *coverage) empty() (cells []string) {
	for k := range kinds {
		for o := range 3 {
			for l := range int(limitCount) {
				if c.cells[k][o][l] == 0 != impossible(Kind(k), Order(o), l) {
					cells = append(cells, fmt.Sprintf("%v, order %d, %s", Kind(k), o, limitNames[l]))
				}
			}
		}
	}
	for _, relation := range []string{"independent", "prefix", "pipelined"} {
		for _, owner := range []string{"writer", "client"} {
			if c.traits[relation+", retries of the "+owner] == 0 {
				cells = append(cells, "a "+relation+" destination, retries of the "+owner)
			}
		}
	}
	for _, class := range []string{"rejected", "attempts", "age", "too_large", "diverted"} {
		if c.classes[class] == 0 {
			cells = append(cells, "dead letter of class "+class)
		}
	}
	return cells
}

// impossible cells must stay empty: under Total a gated destination has one
// request in flight, which an empty window always takes, so only a pipelined
// one meets the window; and that may not hand entries back.
func impossible(k Kind, o Order, limit int) bool {
	return o == Total && (limit == limitWindow || limit == limitFlightBytes) &&
		(k == Retry || k == Throttled || k == CredentialExpired)
}

func (w *world) hitHeld(e item) {
	l, held := w.core.Limits.Held, w.core.Ledger.Held()
	w.hit[limitHeldEntries] = w.hit[limitHeldEntries] || held.Entries >= int64(l.Entries)
	w.hit[limitHeldBytes] = w.hit[limitHeldBytes] || held.Bytes+int64(e.size) > int64(l.Bytes)
}

// noteLimits sees why the core waits.
func (w *world) noteLimits() {
	c := w.core
	mark := func(l int, hit bool) { w.hit[l] = w.hit[l] || hit }
	mark(limitRequests, c.flights.n >= int(c.Limits.InFlight.Requests))
	mark(limitTimeout, c.Counters.TimedOut > 0)
	b := c.open
	if b == nil || len(b.Entries) == 0 || !c.complete() {
		return
	}
	out, n := c.Ledger.InFlight, int64(len(b.Entries))
	mark(limitWindow, out.Entries > 0 && out.Entries+n > c.control.window())
	mark(limitFlightBytes, out.Entries > 0 && out.Bytes+b.Bytes > int64(c.Limits.InFlight.Bytes))
	mark(limitRecordRate, waitFor(c.limiter.records, w.now, n) > w.now)
	mark(limitByteRate, waitFor(c.limiter.bytes, w.now, b.Bytes) > w.now)
	mark(limitRequestRate, waitFor(c.limiter.requests, w.now, 1) > w.now)
}
