package core

import (
	"errors"
	"fmt"
)

// failure is what a schedule found; the test turns it into the seed to replay.
type failure struct{ what string }

func (w *world) fail(format string, args ...any) {
	panic(failure{fmt.Sprintf("life %d, step %d, %v: ", w.life, w.steps, w.now.Std().UTC().Format("04:05.000000")) + fmt.Sprintf(format, args...)})
}

// everything is what the log holds, in arrival order.
func (c *Core[E]) everything() (all []Held[E]) {
	for at := c.log.oldest; at >= 0; at = c.log.slab[at].chunk.newer {
		s := c.log.slab[at]
		for i := range s.chunk.n {
			if s.state.settled[i/64]>>(i%64)&1 == 0 {
				all = append(all, s.held(i, c.log.writer))
			}
		}
	}
	return all
}

// check holds after every step: ledger, bounds, and the places where entries are.
func (w *world) check() {
	c := w.core
	if err := c.Ledger.check(); err != nil {
		w.fail("%v", err)
	}
	var inFlight int64
	for b := c.flights.first; b != nil; b = b.newer {
		inFlight += int64(len(b.refs))
	}
	if c.Err() == nil {
		w.balance("entries in flight", c.Ledger.InFlight.Entries, inFlight)
		w.balance("entries buffered", c.Ledger.Buffered.Entries, w.places())
		w.balance("entries given up", c.Ledger.Unwritten.Entries, int64(c.graves.len()+len(c.burying)))
	}
	live := int64(0)
	for at := c.log.oldest; at >= 0; at = c.log.slab[at].chunk.newer {
		live += int64(c.log.slab[at].chunk.n - c.log.slab[at].state.gone)
	}
	spilled := int64(0)
	for _, h := range w.pending {
		if h.ID.Writer == w.config.Writer {
			spilled++
		}
	}
	w.balance("entries spilled", c.Ledger.Spilled.Entries, spilled)
	w.balance("entries in the log", c.Ledger.Held().Entries, live)
	if retained := len(c.log.slab) - len(c.log.free); retained > int(live)+2 {
		w.fail("%d chunks retained for %d entries", retained, live)
	}
}

// checkHeld holds whenever an entry was accepted. (Limits that are lowered later
// drop nothing.)
func (w *world) checkHeld() {
	l, held := w.core.Limits.Held, w.core.Ledger.Held()
	if held.Entries > int64(l.Entries) || held.Bytes > int64(l.Bytes) && held.Entries > 1 {
		w.fail("held %+v is above its cap %+v", held, l)
	}
}

// checkFlights holds whenever a request is sent.
func (w *world) checkFlights() {
	l, out := w.core.Limits.InFlight, w.core.Ledger.InFlight
	requests, abandoned := w.core.Requests()
	if requests+abandoned > int(l.Requests) {
		w.fail("%d requests and %d abandoned are above the cap of %d", requests, abandoned, l.Requests)
	}
	if requests > 1 && (out.Entries > int64(l.Entries) || out.Bytes > int64(l.Bytes)) {
		w.fail("in flight %+v is above its cap %+v", out, l)
	}
}

func (w *world) balance(what string, booked, found int64) {
	if booked != found {
		w.fail("%s: the ledger says %d, there are %d", what, booked, found)
	}
}

// places counts buffered entries where they wait.
func (w *world) places() int64 {
	c := w.core
	n := c.fresh.Entries + c.openCount().Entries
	for _, s := range c.bisected {
		for _, p := range s.parts {
			n += int64(len(p))
		}
	}
	for b := c.flights.first; b != nil; b = b.newer {
		if b.of != nil {
			for _, p := range b.of.parts {
				n += int64(len(p))
			}
		}
	}
	if c.gated() {
		for _, s := range c.lanes.byKey.slots {
			if s.lane != 0 {
				n += int64(c.lanes.slab[s.lane-1].parked)
			}
		}
		return n
	}
	for _, groups := range [][]*group{c.retry.waiting.items, c.retry.ready.items} {
		for _, g := range groups {
			n += int64(len(g.refs) - g.at)
		}
	}
	return n
}

// checkWait: whoever waits says until when, and never only for an answer that may not come.
func (w *world) checkWait(until Time) {
	c := w.core
	if c.Err() != nil {
		return
	}
	if until == Never && c.Ledger.Held().Entries > 0 && len(c.burying) == 0 {
		w.fail("liveness: %+v held and no time to wake up", c.Ledger)
	}
	if until == Never && c.Ledger.Buffered.Entries > 0 {
		w.fail("liveness: %+v buffered and no time to wake up", c.Ledger)
	}
	if c.flights.first != nil && until > c.flights.first.Deadline {
		w.fail("liveness: waits beyond the deadline of a request")
	}
	if until < w.now {
		w.fail("wake-up %v is in the past", until)
	}
	if len(w.pending) > 0 && c.Ledger.Held().Entries == 0 {
		w.fail("liveness: %d restored entries wait, and nothing is held", len(w.pending))
	}
}

// checkStop: a core stops only for a reason that its configuration or its destination gave.
func (w *world) checkStop(err error) {
	var up *GivenUp
	switch {
	case errors.Is(err, ErrUnanswered) && w.config.OwnsRetries, errors.Is(err, ErrAbandoned):
	case errors.As(err, &up):
		keyed := w.config.Order != Unordered
		if w.config.DeadLetters && !(keyed && (w.config.OnRejected == Stop || w.config.StopAmbiguous)) {
			w.fail("stopped without need: %v", err)
		}
	case err == errSim:
	default:
		w.fail("stopped with an unknown error: %v", err)
	}
}

func (w *world) observeSend(b *Batch[item]) {
	w.checkFlights()
	l := w.core.Limits
	if n := len(b.Entries); n == 0 || n > int(l.Batch.Entries) {
		w.fail("batch of %d entries", n)
	}
	if b.Bytes > int64(l.Batch.Bytes) && len(b.Entries) > 1 {
		w.fail("batch of %d bytes is above the cap of %d", b.Bytes, l.Batch.Bytes)
	}
	keys := map[int]bool{}
	for i, e := range b.Entries {
		if w.acked[e.id] {
			w.fail("entry %d was acknowledged as stored and is sent again", e.id)
		}
		w.observeTry(b, i)
		w.out[b] = append(w.out[b], e.id)
		if w.core.gated() && w.config.Relation == Independent {
			key := e.key
			if w.config.Order == Total {
				key = 0
			}
			if keys[key] {
				w.fail("key %d twice in a request", key)
			}
			keys[key] = true
		}
		if i > 0 && b.Seqs[i] <= b.Seqs[i-1] {
			w.fail("batch %v is not in arrival order", b.Seqs)
		}
	}
	if len(b.Entries) == int(l.Batch.Entries) {
		w.hit[limitBatchEntries] = true
	}
	if b.closed {
		w.hit[limitBatchBytes] = true
	}
	if len(b.Entries) < int(l.Batch.Entries) && !b.closed {
		w.hit[limitBatchAge] = true
	}
}

// checkEnd: everything is stored or in the dead letters.
func (w *world) checkEnd() {
	for id := range w.next {
		if w.dest.stored[id] == 0 && w.dead[id] == 0 {
			w.fail("entry %d is lost", id)
		}
		if w.item(id).poison && w.dead[id] == 0 {
			w.fail("entry %d can never be stored and is not in the dead letters", id)
		}
	}
	extra := 0
	for _, copies := range w.dest.stored {
		extra += copies - 1
	}
	if may := w.mayDouble + int(w.core.Counters.PossibleDuplicates.Entries); extra > may {
		w.fail("%d copies too many are stored, and only %d were announced as possible duplicates or read again", extra, may)
	}
	if n := len(w.accepted); n != len(w.settled) || w.core.LowWater() != w.core.Last()+1 {
		w.fail("%d settled of %d, low-water mark %d, last %d", len(w.settled), n, w.core.LowWater(), w.core.Last())
	}
}
