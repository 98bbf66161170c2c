package core

import "slices"

// full is how many entries make a batch now.
func (c *Core[E]) full() int64 {
	return max(1, min(int64(c.Limits.Batch.Entries), c.control.window()))
}

// waitingEntries is what may go before the frontier.
func (c *Core[E]) waitingEntries() int64 { return c.retry.entries + c.lanes.entries }

func (c *Core[E]) openCount() Count {
	if c.open == nil {
		return Count{}
	}
	return Count{int64(len(c.open.Entries)), c.open.Bytes}
}

func (c *Core[E]) readyEntries() int64 {
	return c.openCount().Entries + c.waitingEntries() + c.fresh.Entries
}

func (c *Core[E]) readyBytes() int64 {
	return c.openCount().Bytes + c.retry.bytes + c.lanes.bytes + c.fresh.Bytes
}

// complete: the batch is full, or would be if the ready entries were taken.
// Under a gate only what has been taken counts.
func (c *Core[E]) complete() bool {
	if c.open != nil && c.open.closed {
		return true
	}
	if c.gated() {
		open := c.openCount()
		if open.Entries > 0 && c.Order == Total && c.Relation == Independent {
			return true // nothing may join it
		}
		return open.Entries >= c.full() || open.Bytes >= int64(c.Limits.Batch.Bytes) || c.allWaitsBehind(open)
	}
	return c.readyEntries() >= c.full() || c.readyBytes() >= int64(c.Limits.Batch.Bytes)
}

// allWaitsBehind: everything else that is held is parked behind the entries of
// the open batch, so that waiting could fill it with new keys only while all the
// others stand still. With few keys this is what their rate depends on.
func (c *Core[E]) allWaitsBehind(open Count) bool {
	return open.Entries > 0 && c.Ledger.Buffered.Entries > open.Entries && c.Ledger.InFlight.Entries == 0 &&
		c.waitingEntries() == 0 && c.fresh.Entries == 0 && c.retry.waiting.len() == 0 && len(c.bisected) == 0
}

// due: what is ready goes now, as it is.
func (c *Core[E]) due(now Time) bool {
	return c.readyEntries() > 0 && (c.ended && !c.feeding || c.dueAt() <= now || c.flushing())
}

// flushing: something that is ready was accepted before a Flush. What came later
// is not hurried, even while an older entry is out or waits out a back-off.
func (c *Core[E]) flushing() bool {
	if c.flushTo == 0 {
		return false
	}
	if c.open != nil && slices.ContainsFunc(c.open.Seqs, func(s Seq) bool { return s <= c.flushTo }) {
		return true
	}
	if r, ok := c.retry.next(); ok && c.log.seq(r) <= c.flushTo {
		return true
	}
	if q := &c.lanes.passed; q.len() > 0 && c.log.seq(q.refs[q.at]) <= c.flushTo {
		return true
	}
	ch, off, n := c.log.frontier()
	return n > 0 && ch.first+Seq(off) <= c.flushTo
}

// dueAt is when the ready entry that has waited longest has waited long enough.
func (c *Core[E]) dueAt() Time {
	at := Never
	if c.open != nil && len(c.open.Entries) > 0 {
		at = c.open.readyAt
	}
	if c.waitingEntries() > 0 {
		at = min(at, c.since)
	}
	if c.fresh.Entries > 0 {
		ch, off, _ := c.log.frontier()
		at = min(at, ch.born[off])
	}
	if at == Never {
		return Never
	}
	return at.Add(c.Limits.Batch.Age)
}

// fill moves ready entries into the open batch: those that failed, those whose
// gate has opened, then the frontier. It examines a bounded number.
func (c *Core[E]) fill(now Time) (again bool) {
	if c.open == nil {
		c.open = c.newBatch()
		c.open.readyAt = Never
	}
	b, waited := c.open, false
	for budget := 2 * int64(c.Limits.Batch.Entries); ; budget-- {
		if c.err != nil || b.closed || int64(len(b.Entries)) >= c.full() || b.Bytes >= int64(c.Limits.Batch.Bytes) {
			break
		}
		if budget <= 0 {
			again = true
			break
		}
		if r, ok := c.retry.next(); ok {
			waited = true
			if c.fillOne(now, r) {
				c.retry.drop()
			}
		} else if c.lanes.passed.len() > 0 {
			waited = true
			r := c.lanes.passed.refs[c.lanes.passed.at]
			size := c.log.size(r)
			if c.fillOne(now, r) {
				c.lanes.passed.pop()
				c.lanes.entries--
				c.lanes.bytes -= size
			}
		} else if n := c.fillFrontier(now); n > 0 {
			budget -= int64(n) - 1
		} else {
			break
		}
	}
	if waited {
		b.readyAt = min(b.readyAt, c.since)
		c.since = now
	}
	return again
}

// fillOne takes an entry that has been examined before, under a gate with those
// of its lane that may share its request; false: it does not fit.
func (c *Core[E]) fillOne(now Time, r ref) bool {
	if !c.roomFor(r) {
		return false
	}
	if !c.gated() {
		if d := c.doomed(now, r); d != nil {
			c.giveUp(r, d)
		} else {
			c.take(c.open, r, 1, c.log.size(r))
		}
		return true
	}
	i := *c.log.lane(r)
	a := &c.lanes.slab[i]
	a.queued, a.failed, a.batch = false, false, c.open.ID
	for first := true; a.parked > 0 && (first || c.Relation == Prefix && c.roomFor(a.head)); first = false {
		r := c.lanes.pop(a)
		if d := c.doomed(now, r); d != nil {
			c.giveUp(r, d)
			continue
		}
		a.out++
		c.take(c.open, r, 1, c.log.size(r))
	}
	c.reopen(now, i)
	return true
}

// roomFor says whether the open batch takes an entry, and closes it if not.
func (c *Core[E]) roomFor(r ref) bool {
	b := c.open
	if int64(len(b.Entries)) >= c.full() {
		return false
	}
	if len(b.Entries) > 0 && b.Bytes+c.log.size(r) > int64(c.Limits.Batch.Bytes) {
		b.closed = true
		return false
	}
	return true
}

// fillFrontier examines entries at the frontier; 0: there is none, or none fits.
func (c *Core[E]) fillFrontier(now Time) (examined int) {
	ch, off, n := c.log.frontier()
	if n == 0 {
		return 0
	}
	r := makeRef(c.log.front.slot, off)
	readyAt := ch.born[off]
	age := c.Limits.Retry.Age
	tooOld := age > 0 && now.Sub(readyAt) >= age // then those behind it, which are younger, may be as well
	if c.gated() || c.suspect || tooOld || len(c.divert) > 0 || ch.ids != nil {
		if !c.roomFor(r) {
			return 0
		}
		c.pass(1, c.log.size(r))
		c.examine(now, r)
		if len(c.open.Entries) > 0 {
			c.open.readyAt = min(c.open.readyAt, readyAt)
		}
		return 1
	}
	b := c.open
	n = int(min(int64(n), c.full()-int64(len(b.Entries))))
	limit, taken, bytes := int64(c.Limits.Batch.Bytes)-b.Bytes, 0, int64(0)
	for _, s := range ch.size[off : off+n] {
		if bytes+int64(s) > limit && (taken > 0 || len(b.Entries) > 0) {
			b.closed = true
			break
		}
		bytes += int64(s)
		taken++
	}
	if taken > 0 {
		c.pass(taken, bytes)
		c.take(b, r, taken, bytes)
		b.readyAt = min(b.readyAt, readyAt)
	}
	return taken
}

// pass moves the frontier over n entries of one chunk.
func (c *Core[E]) pass(n int, bytes int64) {
	c.log.front.off += n
	c.fresh.sub(n, bytes)
}

// examine decides about an entry at the frontier, once: given up, taken, or
// parked behind those of its key.
func (c *Core[E]) examine(now Time, r ref) {
	if d := c.log.slab[r.slot()].state.deaths[uint16(r.off())]; d != nil { // restored so
		c.giveUp(r, d)
		return
	}
	if c.gated() {
		if i, ok := c.lanes.find(c.log.hash(r)); ok {
			*c.log.lane(r) = i
			a := &c.lanes.slab[i]
			together := c.Relation == Prefix && a.out > 0 && a.batch == c.open.ID && a.parked == 0 && !a.queued
			if !together {
				c.lanes.park(a, r)
				return
			}
			if d := c.doomed(now, r); d != nil {
				c.giveUp(r, d)
				return
			}
			a.out++
			c.take(c.open, r, 1, c.log.size(r))
			return
		}
	}
	if d := c.doomed(now, r); d != nil {
		c.giveUp(r, d)
		return
	}
	if c.gated() {
		i := c.lanes.open(c.log.hash(r))
		*c.log.lane(r) = i
		c.lanes.slab[i].out, c.lanes.slab[i].batch = 1, c.open.ID
	}
	c.take(c.open, r, 1, c.log.size(r))
}

func (c *Core[E]) take(b *Batch[E], r ref, n int, bytes int64) {
	b.take(&c.log, r, n, bytes)
}

func (c *Core[E]) newBatch() *Batch[E] {
	var b *Batch[E]
	if n := len(c.spare); n > 0 {
		b, c.spare = c.spare[n-1], c.spare[:n-1]
	} else {
		b = &Batch[E]{}
	}
	c.requests++
	b.ID = c.requests
	return b
}

func (c *Core[E]) recycle(b *Batch[E]) {
	b.reset()
	if len(c.spare) < poolLimit {
		c.spare = append(c.spare, b)
	}
}
