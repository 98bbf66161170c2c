package stream

import "sort"

const (
	minSlots  = 256      // of a ring; powers of two, as all its lengths
	keptSlots = 16 << 10 // a ring up to this long, a megabyte, is kept when it empties
	none      = -1
)

// ring holds the records that were added, in the order of their sequences, from the first that is unsettled. Those that have
// settled behind it are holes. When it is full, its holes are closed, or it is made longer if they are few: so it is never
// longer than four times what is unsettled, and one record that stays keeps a slot and not all that came after it.
type ring struct {
	slots    []slot
	first, n int
	live     int // of the n: unsettled
}

// slot is a record. The unsettled records of a split are a list, so that one that settles finds the one before it,
// whatever lies between.
type slot struct {
	seq        uint64
	own        position // where its split goes on behind it
	upTo       position // the same for the last of the settled records that follow it in its split
	split      int32    // none: settled
	prev, next int32    // in its split, as indices of slots
}

func (r *ring) index(i int) int32 { return int32((r.first + i) & (len(r.slots) - 1)) }

func (r *ring) full() bool { return r.n == len(r.slots) }

func (r *ring) push(s slot) int32 {
	i := r.index(r.n)
	r.slots[i] = s
	r.n++
	r.live++
	return i
}

// trim lets go of the holes at the front.
func (r *ring) trim() {
	for r.n > 0 && r.slots[r.first].split == none {
		r.first = int(r.index(1))
		r.n--
	}
}

func (r *ring) wasteful() bool { return len(r.slots) > keptSlots && r.live < len(r.slots)/8 }

// find returns the place, counted from the first, of the lowest sequence that is not below seq, or n. Sequences ascend by one
// at least, so the distances to both ends bound it; where they ascend by one, to a single place.
func (r *ring) find(seq uint64) int {
	at := func(i int) uint64 { return r.slots[r.index(i)].seq }
	if r.n == 0 || seq > at(r.n-1) {
		return r.n
	}
	if seq <= at(0) {
		return 0
	}
	last := uint64(r.n - 1)
	low, high := 0, int(min(last, seq-at(0)))
	if back := at(r.n-1) - seq; back < last {
		low = int(last - back)
	}
	return low + sort.Search(high-low, func(i int) bool { return at(low+i) >= seq })
}

// size is how long the ring should be: half of it free, and not much shorter than it is, since it may fill again.
func (r *ring) size() int {
	n := minSlots
	for n < 2*r.live {
		n *= 2
	}
	if n < len(r.slots) && (len(r.slots) <= keptSlots || n > len(r.slots)/4) {
		return len(r.slots)
	}
	return n
}

// rebuild closes the holes of the ring, and links the records of each split anew.
func (m *Marks) rebuild() {
	r := &m.ring
	to := ring{slots: r.slots, first: r.first} // no slot is written before it is read
	if n := r.size(); n != len(r.slots) {
		to = ring{slots: make([]slot, n)}
	}
	for i := range r.n {
		if s := &r.slots[r.index(i)]; s.split != none {
			m.known.at(s.split).newest = none
		}
	}
	for i := range r.n {
		s := r.slots[r.index(i)]
		if s.split == none {
			continue
		}
		x := m.known.at(s.split)
		s.prev, s.next = x.newest, none
		x.newest = to.push(s)
		if s.prev != none {
			to.slots[s.prev].next = x.newest
		}
	}
	shorter := len(to.slots) < len(r.slots)
	*r = to
	if shorter { // positions are fewer too
		m.compact(0)
		m.long.spare = nil
	}
}
