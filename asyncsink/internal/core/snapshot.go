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
	Next   Seq      // the first sequence that was not given
	Fed    Seq      // the newest in memory; those between it and Next lie on disk
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
		Next:   c.Last() + 1,
		Fed:    l.last,
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
		views := s.Views()
		for k := range views {
			v := &views[k]
			for i := range v.n {
				if v.at.state.settled[i/64]>>(i%64)&1 == 0 && !yield(v.Held(i)) {
					return
				}
			}
		}
	}
}

// View is a run of entries as a snapshot shows it: sequences First to First+Len-1, of
// which some are settled.
type View[E any] struct {
	at     slot[E]
	n      int
	writer *[16]byte
}

// Views are all that was in memory, in arrival order.
func (s *Snapshot[E]) Views() []View[E] {
	views := make([]View[E], 0, len(s.slab))
	first, last := ^uint64(0), uint64(0)
	for _, at := range s.slab {
		if at.chunk == nil {
			continue
		}
		v := View[E]{at, s.n, &s.writer}
		if at.chunk != s.tail {
			v.n = at.chunk.n
		}
		first, last = min(first, at.chunk.number), max(last, at.chunk.number)
		views = append(views, v)
	}
	byNumber := func(a, b View[E]) int { return cmp.Compare(a.at.chunk.number, b.at.chunk.number) }
	switch span := last - first + 1; {
	case slices.IsSortedFunc(views, byNumber):
	case span > 4*uint64(len(views)): // stragglers
		slices.SortFunc(views, byNumber)
	default: // numbers are dense: each view has a place of its own
		places := make([]View[E], span)
		for _, v := range views {
			places[v.at.chunk.number-first] = v
		}
		views = slices.DeleteFunc(places, func(v View[E]) bool { return v.at.chunk == nil })
	}
	return views
}

// Words is how many words of bits a View has at most.
const Words = words

// First is the sequence of the first entry.
func (v *View[E]) First() Seq { return v.at.chunk.first }

// Len is how many sequences it shows, settled ones included.
func (v *View[E]) Len() int { return v.n }

// Held gives entry i, which must not be settled.
func (v *View[E]) Held(i int) Held[E] { return v.at.held(i, *v.writer) }

// Entry gives entry i.
func (v *View[E]) Entry(i int) E { return v.at.chunk.entries[i] }

// ID gives its id.
func (v *View[E]) ID(i int) ID {
	if v.at.chunk.ids != nil {
		return v.at.chunk.ids[i]
	}
	return ID{*v.writer, v.at.chunk.first + Seq(i)}
}

// Born is when it was accepted.
func (v *View[E]) Born(i int) Time { return v.at.chunk.born[i] }

// Attempts is how many have ended without delivery.
func (v *View[E]) Attempts(i int) uint16 { return v.at.state.attempts[i] }

// Death is why it was given up; nil: it was not.
func (v *View[E]) Death(i int) *Death {
	if v.at.state.deaths == nil {
		return nil
	}
	return v.at.state.deaths[uint16(i)]
}

// Unsettled has a bit for each entry that is not settled.
func (v *View[E]) Unsettled() (bits [Words]uint64) {
	for w := range bits {
		if n := v.n - 64*w; n > 0 {
			bits[w] = ^v.at.state.settled[w] & (^uint64(0) >> max(0, 64-n))
		}
	}
	return bits
}

// Unsure has a bit for each entry of which an attempt may have been stored. Bits of settled entries mean nothing.
func (v *View[E]) Unsure() (bits [Words]uint64) {
	for w := range bits {
		bits[w] = v.at.state.unsure[w] | v.at.state.doubt[w]
	}
	return bits
}

// Changed says whether an entry was tried in vain or given up, so that it is not as it was written first.
func (v *View[E]) Changed() bool {
	return v.at.state.attempts != [chunkLen]uint16{} || len(v.at.state.deaths) > 0
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
