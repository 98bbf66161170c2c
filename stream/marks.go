package stream

import (
	"cmp"
	"fmt"
	"slices"
)

// Marks turns settled sequences into a low-water mark for each split: the position up to which everything that was read of
// it is settled. Records settle in any order; a mark moves over a record once that and all before it in its split have
// settled. A split that waits holds no other back.
//
//	marks.Assign(split)                        // where reading begins
//	marks.Add(seq, rec.Split, rec.Position)    // as a record is handed on
//	marks.Settle(r.First, r.Last)              // as ranges are reported
//	marks.Positions()                          // what a checkpoint keeps
//
// Add and Settle take constant time for each record, amortised. Memory is a small multiple of what the unsettled records
// need, 56 bytes and a position each: a record that never settles keeps its own only, and what a burst took is given back.
// In a steady state nothing is allocated.
//
// The zero value is ready. It must not be used by two goroutines at the same time.
type Marks struct {
	ring  ring
	long  arena
	last  uint64 // the sequence that was added last
	known splits
}

// Assign sets the positions from which splits are read, so that Positions has them before a record of theirs is settled. A
// split that is known already starts anew; its records of before move its mark no more. Positions are copied.
func (m *Marks) Assign(splits ...Split) {
	for _, s := range splits {
		m.Revoke(s.ID)
		x := m.known.at(m.known.intern(s.ID))
		if s.Position != nil {
			x.mark, x.marked = append([]byte{}, s.Position...), true
		}
	}
}

// Add notes that a record was handed on under a sequence, with its Split and Position. Sequences begin above 0 and ascend,
// by one or more; Add panics if they do not. A split that was not assigned is so now, from its beginning. The position is
// copied.
func (m *Marks) Add(seq uint64, split string, position []byte) {
	if seq <= m.last {
		panic(fmt.Sprintf("stream: Marks.Add: sequence %d after %d: sequences ascend", seq, m.last))
	}
	m.last = seq
	if m.ring.full() {
		m.rebuild()
	}
	id := m.known.intern(split)
	x := m.known.at(id)
	at := m.keep(position)
	i := m.ring.push(slot{seq: seq, own: at, upTo: at, split: id, prev: x.newest, next: none})
	if x.newest != none {
		m.ring.slots[x.newest].next = i
	}
	x.newest = i
	x.live++
}

// Settle notes that the sequences first to last, both included, are settled. Ranges come in any order. What was never added
// or has settled before is ignored, so that a range may cover what others wrote; to cover the same again and again costs a
// walk each time.
func (m *Marks) Settle(first, last uint64) {
	r := &m.ring
	for i := r.find(first); i < r.n; i++ {
		at := r.index(i)
		if s := &r.slots[at]; s.seq > last {
			break
		} else if s.split != none {
			m.settle(at)
		}
	}
	r.trim()
	if r.live == 0 {
		m.long.bytes = m.long.bytes[:0]
	}
	if r.wasteful() {
		m.rebuild()
	}
}

// settle takes a record out of its split's list, and leaves what it knew to the one before it.
func (m *Marks) settle(at int32) {
	s := &m.ring.slots[at]
	x := m.known.at(s.split)
	if s.prev != none {
		before := &m.ring.slots[s.prev]
		before.next, before.upTo = s.next, s.upTo
	} else {
		x.mark, x.marked = m.long.appendTo(x.mark[:0], s.upTo), true
	}
	if s.next != none {
		m.ring.slots[s.next].prev = s.prev
	} else {
		x.newest = s.prev
	}
	if x.live--; x.live == 0 && x.revoked {
		m.known.release(s.split)
	}
	s.split = none
	m.ring.live--
}

// Positions returns all splits that were assigned or added and not revoked, by ID, each with the position up to which
// all of it is settled: the last settled one, else that of Assign, else nil. The positions are copies.
func (m *Marks) Positions() []Split {
	all := make([]Split, 0, len(m.known.byID))
	for id, i := range m.known.byID {
		s := Split{ID: id}
		if x := m.known.at(i); x.marked {
			s.Position = append([]byte{}, x.mark...)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Split) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Origin returns the split and the position that were added with a sequence, which must be unsettled; ok is false if it is
// not. A dead letter names them. The records of a revoked split have theirs too. The position is a copy.
func (m *Marks) Origin(seq uint64) (split string, position []byte, ok bool) {
	i := m.ring.find(seq)
	if i == m.ring.n {
		return "", nil, false
	}
	s := &m.ring.slots[m.ring.index(i)]
	if s.seq != seq || s.split == none {
		return "", nil, false
	}
	return m.known.at(s.split).id, m.long.appendTo([]byte{}, s.own), true
}

// Revoke forgets a split: Positions no longer returns it. Ask before for the position at which another is to go on. What
// is unsettled of it may settle later and moves nothing.
func (m *Marks) Revoke(split string) { m.known.revoke(split) }
