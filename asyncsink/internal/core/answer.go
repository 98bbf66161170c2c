package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// ErrUnanswered: a request of a destination that owns its retries passed its
// time-out. What it carried is of unknown effect and must not be issued again.
var ErrUnanswered = errors.New("request was not answered in time and must not be issued again")

// ErrAbandoned: submitters that ignore their context hold every slot.
var ErrAbandoned = errors.New("timed-out submitters that ignore their context hold every request slot")

// ErrHandedBack: under an order, a pipelined destination handed entries back
// that it had not stored, after later ones of their keys may have been.
var ErrHandedBack = errors.New("a pipelined destination handed entries back, so their order can't be kept")

// GivenUp says that an entry was given up and there is no dead-letter output, or the
// order does not allow to go on without it. It wraps the entry's own error.
type GivenUp struct {
	Class    string
	Attempts int
	Err      error
}

func (e *GivenUp) Error() string {
	return fmt.Sprintf("entry given up (%s) after %d attempts and nothing may take it: %v", e.Class, e.Attempts, e.Err)
}

func (e *GivenUp) Unwrap() error { return e.Err }

// Done is the answer to a request: whole applies to the entries that fails,
// sorted by index, does not name. An answer after the time-out is counted only.
func (c *Core[E]) Done(now Time, b *Batch[E], whole Outcome, fails []Failure) {
	if b.state == batchAbandoned {
		c.abandoned--
		c.Counters.LateReplies++
		c.recycle(b)
		return
	}
	c.flights.remove(b)
	c.apply(now, b, whole, fails)
	c.recycle(b)
}

// expire ends the requests whose deadline has passed: their entries go again,
// of unknown effect. A request keeps its slot until its submitter returns; when
// all slots have been held so for another time-out, the core stops.
func (c *Core[E]) expire(now Time) {
	for b := c.flights.first; b != nil && b.Deadline <= now; b = c.flights.first {
		c.Counters.TimedOut++
		c.flights.remove(b)
		b.state = batchAbandoned
		if c.abandoned++; c.piled() {
			c.piledAt = now
		}
		c.apply(now, b, Outcome{Kind: Ambiguous, Err: errTimeout}, nil)
	}
	if c.piled() && now >= c.piledAt.Add(c.Limits.InFlight.Timeout) {
		c.Stop(ErrAbandoned)
	}
}

var errTimeout = errors.New("no answer before the time-out")

func (c *Core[E]) piled() bool { return c.abandoned >= int(c.Limits.InFlight.Requests) }

// Abandon treats every request in flight as if its deadline had passed, for a
// shell that goes down: what they carried is then held, of unknown effect.
func (c *Core[E]) Abandon(now Time) {
	for b := c.flights.first; b != nil; b = b.newer {
		b.Deadline = now
	}
	c.expire(now)
}

func (c *Core[E]) apply(now Time, b *Batch[E], whole Outcome, fails []Failure) {
	n := len(b.refs)
	if c.keyed() && c.Relation == Pipelined && handsBack(n, whole, fails) {
		c.Stop(ErrHandedBack) // requests behind it may have been stored
	}
	if c.gated() && c.Relation == Prefix && whole.Kind == Rejected && goesAgain(Outcome{}, fails) {
		whole.Kind = Retry // halves would overtake those of their keys that go again
	}
	if c.Relation == Prefix && whole.Kind == Delivered && len(fails) > 0 {
		fails = fromFirst(fails, n)
	}
	ans := b.answer
	if whole.Kind == Delivered && len(fails) == 0 && !c.gated() && b.of == nil {
		c.Ledger.InFlight.sub(n, b.Bytes)
		c.deliver(now, b.refs, b.Bytes)
	} else {
		halve := whole.Kind == Rejected && n-len(fails) > 1
		if halve {
			c.halve(b, fails)
		} else if b.of != nil {
			c.unhalve(b, whole, fails)
		}
		c.each(now, b, whole, fails, halve, &ans)
		c.finish(now, b, whole, fails)
	}
	if len(fails) == 0 {
		switch whole.Kind {
		case Throttled:
			c.Counters.ThrottledRequests++
			ans.refused = true
		case Retry, Ambiguous:
			ans.failed = true
		}
	}
	c.control.observe(ans)
}

// fromFirst: behind the first entry that a Prefix destination did not store, nothing was.
func fromFirst(fails []Failure, n int) []Failure {
	first := fails[0].Index
	all := make([]Failure, 0, n-first)
	for i, k := first, 0; i < n; i++ {
		f := Failure{i, Outcome{Kind: Retry, Err: errBehind}}
		if k < len(fails) && fails[k].Index == i {
			if f = fails[k]; f.Kind == Delivered {
				f.Kind = Retry
			}
			k++
		}
		all = append(all, f)
	}
	return all
}

var errBehind = errors.New("an entry before it in the request failed")

// each books every entry of an answer, last first, so that what goes back to a
// lane stands in order there.
func (c *Core[E]) each(now Time, b *Batch[E], whole Outcome, fails []Failure, halve bool, ans *answer) {
	k := len(fails) - 1
	for i := len(b.refs) - 1; i >= 0; i-- {
		r, o, named := b.refs[i], whole, false
		if k >= 0 && fails[k].Index == i {
			o, named = fails[k].Outcome, true
			k--
		}
		size := c.log.size(r)
		if c.OwnsRetries && o.Kind == Ambiguous {
			c.Stop(fmt.Errorf("%w: %w", ErrUnanswered, orUnknown(o.Err)))
			c.log.setUnsure(r, true)
			continue // it stays in flight in the last snapshot
		}
		c.Ledger.InFlight.sub(1, size)
		if o.Kind == Delivered {
			c.leave(r)
			c.deliver(now, b.refs[i:i+1], size)
			continue
		}
		c.Ledger.Buffered.add(1, size)
		switch o.Kind {
		case Throttled:
			ans.throttled++
			c.Counters.Throttled++
		case Fatal:
			c.Stop(orUnknown(o.Err))
		case Rejected:
			if !named && halve {
				continue
			}
			c.leave(r)
			c.log.failed(r)
			c.giveUp(r, &Death{"rejected", orUnknown(o.Err), now})
			continue
		}
		c.again(now, r, o)
	}
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no cause given")
	}
	return err
}

// again puts a failed entry back, or gives it up at a limit.
func (c *Core[E]) again(now Time, r ref, o Outcome) {
	attempts := c.log.attempts(r)
	if o.Kind != CredentialExpired && o.Err != errBehind {
		attempts = c.log.failed(r)
	}
	c.log.setUnsure(r, o.Kind == Ambiguous)
	c.leave(r)
	if c.err != nil {
		return // held; no more is sent
	}
	d := c.overLimit(now, r, attempts, o.Err)
	if d != nil && c.keyed() && c.log.doubted(r) {
		if c.StopAmbiguous {
			c.Stop(&GivenUp{d.Class, attempts, d.Err})
			return
		}
		d = nil // a late attempt may take its place in the order: never skipped
	}
	switch {
	case d != nil:
		c.giveUp(r, d)
	case c.gated():
		c.lanes.putBack(c.lanes.of(r), r)
	default:
		c.retry.add(r, attempts)
	}
}

func (c *Core[E]) overLimit(now Time, r ref, attempts int, err error) *Death {
	l := c.Limits.Retry
	switch {
	case l.Attempts > 0 && attempts >= l.Attempts:
		return &Death{"attempts", orUnknown(err), now}
	case l.Age > 0 && now.Sub(c.log.born(r)) >= l.Age:
		return &Death{"age", orUnknown(err), now}
	}
	return nil
}

// doomed says why an entry must not be sent.
func (c *Core[E]) doomed(now Time, r ref) *Death {
	if d := c.log.slab[r.slot()].state.deaths[uint16(r.off())]; d != nil {
		return d
	}
	if limit := int64(c.Limits.Batch.EntryBytes); c.suspect && c.log.size(r) > limit && !c.log.doubted(r) {
		return &Death{"too_large", &TooLarge{Limit: c.Limits.Batch.EntryBytes, Size: limits.Bytes(c.log.size(r))}, now}
	}
	if age := c.Limits.Retry.Age; age > 0 && now.Sub(c.log.born(r)) >= age && !(c.keyed() && c.log.doubted(r)) {
		return &Death{"age", errTooOld, now}
	}
	if len(c.divert) > 0 {
		if _, ok := c.divert[c.log.hash(r)]; ok && !c.log.doubted(r) {
			return &Death{"diverted", errDiverted, now}
		}
	}
	return nil
}

var (
	errTooOld   = errors.New("older than the age limit before it could be sent")
	errDiverted = errors.New("an earlier entry of its key was given up")
)

// giveUp sends an entry, which is buffered, to the dead letters. Where that is
// not possible the core stops, and the entry stays as it is: the next life, with
// another configuration perhaps, tries it again.
func (c *Core[E]) giveUp(r ref, d *Death) {
	c.Counters.Rejected++
	if !c.buries() {
		c.Stop(&GivenUp{d.Class, c.log.attempts(r), d.Err})
		return
	}
	c.log.setDeath(r, d)
	if c.keyed() && c.OnRejected == Divert {
		c.divertKey(c.log.hash(r))
	}
	size := c.log.size(r)
	c.Ledger.Buffered.sub(1, size)
	c.Ledger.Unwritten.add(1, size)
	c.graves.push(r)
}

// Buried acknowledges the lot that Bury handed out: it is durable.
func (c *Core[E]) Buried() {
	for _, r := range c.burying {
		size := c.log.size(r)
		c.Ledger.Unwritten.sub(1, size)
		c.Ledger.Dead.add(1, size)
		c.log.settle(r, 1)
	}
	c.burying = c.burying[:0]
}

// leave takes an answered entry out of its lane's outstanding ones.
func (c *Core[E]) leave(r ref) {
	if c.gated() {
		c.lanes.of(r).out--
	}
}

// finish starts the back-off of what failed and opens the gates of what did not.
func (c *Core[E]) finish(now Time, b *Batch[E], whole Outcome, fails []Failure) {
	if c.err != nil {
		return
	}
	hint := whole.After
	for _, f := range fails {
		hint = max(hint, f.After)
	}
	if c.gated() {
		c.finishLanes(now, b, hint)
	}
	c.retry.commit(now, hint)
}

// finishLanes visits each lane of an answer once, at its first entry there.
func (c *Core[E]) finishLanes(now Time, b *Batch[E], hint time.Duration) {
	for _, i := range b.lanes {
		a := &c.lanes.slab[i]
		if !a.open || a.out > 0 || a.queued {
			continue
		}
		if a.failed {
			a.queued = true
			c.retry.add(a.head, max(1, c.log.attempts(a.head)))
			continue
		}
		c.reopen(now, i)
	}
	c.lanes.shrink()
}

// reopen lets the next entry of a lane go, or ends the lane.
func (c *Core[E]) reopen(now Time, i int32) {
	switch a := &c.lanes.slab[i]; {
	case a.out > 0 || a.queued:
	case a.parked > 0:
		if c.waitingEntries() == 0 {
			c.since = now
		}
		c.lanes.pass(a)
	default:
		c.lanes.close(i)
	}
}

// deliver settles entries, in runs of neighbours.
func (c *Core[E]) deliver(now Time, refs []ref, bytes int64) {
	c.Ledger.Delivered.add(len(refs), bytes)
	for i := 0; i < len(refs); {
		r, n := refs[i], 1
		for i+n < len(refs) && refs[i+n] == r+ref(n) && refs[i+n].off() != 0 {
			n++
		}
		off := r.off()
		c.Latency.observeRun(now, c.log.slab[r.slot()].chunk.born[off:off+n])
		c.log.settle(r, n)
		i += n
	}
}

// handsBack: entries are to be sent again behind others that were issued after them.
func handsBack(n int, whole Outcome, fails []Failure) bool {
	back := func(k Kind) bool { return k == Retry || k == Throttled || k == CredentialExpired }
	return len(fails) < n && (back(whole.Kind) || whole.Kind == Rejected && n-len(fails) > 1) ||
		slices.ContainsFunc(fails, func(f Failure) bool { return back(f.Kind) })
}
