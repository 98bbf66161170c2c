package core

import (
	"cmp"
	"iter"
	"slices"
)

// Snapshot is what was unsettled at one moment: buffered, in flight, and given
// up without the dead-letter output's word. Taking one copies the slab's
// headers only; All may run on any goroutine beside the core.
type Snapshot[E any] struct {
	Next   Seq      // the first sequence of this life that was not given
	Held   Count    // what All yields
	Divert []uint64 // hashes of keys whose entries go to the dead letters

	number uint64
	writer [16]byte
	slab   []slot[E]
	tail   *chunk[E] // was still being filled, up to n
	n      int
}

// Snapshot takes one. It pins the chunks it shows until Release.
func (c *Core[E]) Snapshot() *Snapshot[E] {
	l := &c.log
	l.snapshots++
	l.pins = append(l.pins, l.snapshots)
	s := &Snapshot[E]{
		Next:   l.last + 1,
		Held:   c.Ledger.Held(),
		number: l.snapshots,
		writer: l.writer,
		slab:   append(l.copies, l.slab...),
		Divert: slices.Clip(c.diverted), // only ever appended to
	}
	l.copies = nil
	if l.newest >= 0 {
		s.tail = l.slab[l.newest].chunk
		s.n = s.tail.n
	}
	return s
}

// Release lets the chunks of a snapshot go; nothing may read it afterwards.
// Memory comes back in the steps that follow.
func (c *Core[E]) Release(s *Snapshot[E]) {
	if i := slices.Index(c.log.pins, s.number); i >= 0 {
		c.log.pins = slices.Delete(c.log.pins, i, i+1)
		clear(s.slab)
		c.log.copies, s.slab = s.slab[:0], nil
	}
}

// Divert takes over the diverted keys of an earlier life. Where keys are no
// longer diverted, they are let go.
func (c *Core[E]) Divert(hashes []uint64) {
	if !c.keyed() || c.OnRejected != Divert {
		return
	}
	for _, h := range hashes {
		c.divertKey(h)
	}
}

func (c *Core[E]) divertKey(hash uint64) {
	if _, ok := c.divert[hash]; ok {
		return
	}
	if c.divert == nil {
		c.divert = map[uint64]struct{}{}
	}
	c.divert[hash] = struct{}{}
	c.diverted = append(c.diverted, hash)
}

// All yields the entries in arrival order.
func (s *Snapshot[E]) All() iter.Seq[Held[E]] {
	return func(yield func(Held[E]) bool) {
		inOrder := make([]slot[E], 0, len(s.slab))
		for _, at := range s.slab {
			if at.chunk != nil {
				inOrder = append(inOrder, at)
			}
		}
		slices.SortFunc(inOrder, func(a, b slot[E]) int { return cmp.Compare(a.chunk.first, b.chunk.first) })
		for _, at := range inOrder {
			n := s.n
			if at.chunk != s.tail {
				n = at.chunk.n
			}
			for i := range n {
				if at.state.settled[i/64]>>(i%64)&1 == 0 && !yield(at.held(i, s.writer)) {
					return
				}
			}
		}
	}
}

func (at slot[E]) held(i int, writer [16]byte) Held[E] {
	h := Held[E]{
		Seq:      at.chunk.first + Seq(i),
		Entry:    at.chunk.entries[i],
		Attempts: int(at.state.attempts[i]),
		Born:     at.chunk.born[i],
		Unsure:   (at.state.unsure[i/64]|at.state.doubt[i/64])>>(i%64)&1 != 0,
		Death:    at.state.deaths[uint16(i)],
	}
	h.ID = ID{writer, h.Seq}
	if at.chunk.ids != nil {
		h.ID = at.chunk.ids[i]
	}
	return h
}

func (c *Core[E]) held(r ref) Held[E] {
	return c.log.slab[r.slot()].held(r.off(), c.log.writer)
}
