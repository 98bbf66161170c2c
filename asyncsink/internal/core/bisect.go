package core

import "slices"

// bisection halves a request that was refused as a whole until the guilty entry
// stands alone, and an open batch that a lowered limit made too large. Parts go
// one after another, before all other batches; the last in the slice is the next.
type bisection struct{ parts [][]ref }

func (s *bisection) split(refs []ref) {
	half := len(refs) / 2
	s.parts = append(s.parts, append([]ref(nil), refs[half:]...), append([]ref(nil), refs[:half]...))
}

func (s *bisection) next() []ref {
	n := len(s.parts)
	p := s.parts[n-1]
	s.parts = s.parts[:n-1]
	return p
}

// halve splits what a refused request carried; of its own entries, those that
// have an outcome of their own are not among them.
func (c *Core[E]) halve(b *Batch[E], fails []Failure) {
	c.Counters.Bisected++
	refs := make([]ref, 0, len(b.refs))
	for i, r := range b.refs {
		if len(fails) > 0 && fails[0].Index == i {
			fails = fails[1:]
			continue
		}
		refs = append(refs, r)
	}
	s := b.of
	if s == nil {
		s = &bisection{}
	}
	s.split(refs)
	c.bisected = append(c.bisected, s)
}

// unhalve goes on with the other parts of a halved request. Under Prefix, when
// this part is to go again, those behind it go back to their lanes first, since
// they may hold entries of the same keys.
func (c *Core[E]) unhalve(b *Batch[E], whole Outcome, fails []Failure) {
	s := b.of
	if c.gated() && c.Relation == Prefix && goesAgain(whole, fails) {
		for _, part := range s.parts { // the last part first
			for _, r := range slices.Backward(part) {
				c.leave(r)
				c.lanes.putBack(c.lanes.of(r), r)
				b.lanes = append(b.lanes, *c.log.lane(r))
			}
		}
		return
	}
	if len(s.parts) > 0 {
		c.bisected = append(c.bisected, s)
	}
}

func goesAgain(whole Outcome, fails []Failure) bool {
	again := func(k Kind) bool { return k != Delivered && k != Rejected }
	return again(whole.Kind) || slices.ContainsFunc(fails, func(f Failure) bool { return again(f.Kind) })
}

// half sends the next part of a request that was refused as a whole.
func (c *Core[E]) half(now Time) (*Batch[E], Time, bool) {
	refs, bytes := c.nextPart(now)
	if len(refs) == 0 {
		return nil, 0, false
	}
	if !c.fits(len(refs), bytes) {
		return nil, Never, true
	}
	if at := c.limiter.wait(now, len(refs), bytes); at > now {
		return nil, at, true
	}
	b := c.newBatch()
	b.of = c.bisected[0]
	c.bisected = c.bisected[1:]
	for _, r := range b.of.next() {
		c.take(b, r, 1, c.log.size(r))
	}
	c.send(now, b)
	return b, 0, true
}

// nextPart is the part whose turn it is, halved until it keeps limits that were
// lowered since; nil: there is none. Without a gate the halves need not wait for
// each other.
func (c *Core[E]) nextPart(now Time) (refs []ref, bytes int64) {
	for len(c.bisected) > 0 {
		s := c.bisected[0]
		if len(s.parts) == 0 {
			c.bisected = c.bisected[1:]
			continue
		}
		refs, bytes = c.weed(now, s.next()), 0
		if c.err != nil {
			return nil, 0
		}
		if len(refs) == 0 {
			continue
		}
		s.parts = append(s.parts, refs)
		for _, r := range refs {
			bytes += c.log.size(r)
		}
		if len(refs) == 1 || len(refs) <= int(c.Limits.Batch.Entries) && bytes <= int64(c.Limits.Batch.Bytes) {
			return refs, bytes
		}
		s.split(s.next())
		if !c.gated() {
			c.bisected = slices.Insert(c.bisected, 0, &bisection{[][]ref{s.next()}})
		}
	}
	return nil, 0
}

// weed gives up what must no longer be sent of a part: too large since a limit
// was lowered, too old, or behind a rejected entry of its key in another part.
func (c *Core[E]) weed(now Time, part []ref) []ref {
	return slices.DeleteFunc(part, func(r ref) bool {
		d := c.doomed(now, r)
		if d == nil {
			return false
		}
		c.leave(r)
		c.giveUp(r, d)
		if c.gated() {
			c.reopen(now, *c.log.lane(r))
		}
		return true
	})
}
