package core

import "math/bits"

const (
	// An entry that stays unsettled keeps its chunk, some 5 KiB of metadata: small
	// chunks bound what stragglers cost, larger ones would make longer runs. A
	// snapshot copies 16 bytes for each.
	chunkBits = 7
	chunkLen  = 1 << chunkBits // entries in a chunk
	words     = chunkLen / 64
)

// ref is where an entry lies: slab slot and offset. It is valid until the
// entry is settled.
type ref uint32

func makeRef(slot, off int) ref { return ref(slot<<chunkBits | off) }
func (r ref) slot() int         { return int(r >> chunkBits) }
func (r ref) off() int          { return int(r & (chunkLen - 1)) }

// chunk is a run of entries in arrival order. Fields of an entry are written
// once, when it is appended; what else changes later (n, sealed, dirty, older,
// newer, next) no snapshot reads. Metadata lies in arrays of its own, so
// that a batch is a run and settling is a mask.
type chunk[E any] struct {
	first   Seq
	number  uint64 // of those made
	n       int
	sealed  bool // takes no more entries
	dirty   int  // runs that settled under a snapshot and are not cleared
	made    uint64
	older   int // neighbours in arrival order, as slots; -1: none
	newer   int
	entries [chunkLen]E
	size    [chunkLen]uint32
	born    [chunkLen]Time
	ids     []ID     // restored entries keep theirs; nil: derived
	hash    []uint64 // of the key, under an order; nil otherwise
	next    []ref    // the lane's FIFO, under an order
	lane    []int32  // its index, once the entry was examined under a gate
}

// state is what changes beside a chunk. It is copied on the first write after
// a snapshot, so that a snapshot costs the slab's headers and no more.
type state struct {
	made     uint64
	gone     int // settled
	settled  [words]uint64
	unsure   [words]uint64 // the last attempt may have stored it
	doubt    [words]uint64 // under an order: some attempt may have, or may yet
	attempts [chunkLen]uint16
	deaths   map[uint16]*Death
}

type slot[E any] struct {
	chunk *chunk[E]
	state *state
}

// arrivals is the arrival log: one structure for buffering, snapshot, spill
// and restore. Chunks lie in a slab with a free list, so that one entry that
// never settles holds back its own chunk only.
type arrivals[E any] struct {
	slab   []slot[E]
	free   []int
	pool   []slot[E] // a few cleared chunks, against garbage in steady state
	grown  uint64    // chunks made so far
	oldest int       // slot, or -1
	newest int
	tail   *chunk[E] // the newest, or nil
	last   Seq       // the newest sequence given
	keyed  bool
	writer [16]byte
	front  cursor

	snapshots uint64   // taken so far; the number of one is its count
	pins      []uint64 // numbers of those not yet released, ascending
	dirty     []dirty[E]
	copies    []slot[E] // memory for the next snapshot's headers: fresh pages would cost more than the copy

	track  bool
	ranges []Range // settled since the last pull, when tracked
}

// dirty is a run that settled while a snapshot could read it: its payloads are
// cleared once no snapshot up to number under is left.
type dirty[E any] struct {
	chunk  *chunk[E]
	off, n int
	under  uint64
}

// cursor is the next entry that no batch has examined.
type cursor struct{ slot, off int }

const poolLimit = 64 // of each kind of thing that is kept for reuse

const chunkPool = 4 * poolLimit

func newArrivals[E any](writer [16]byte, keyed, track bool) arrivals[E] {
	return arrivals[E]{writer: writer, oldest: -1, newest: -1, keyed: keyed, track: track, front: cursor{-1, 0}}
}

func (l *arrivals[E]) append(now Time, e E, size uint32, hash uint64) ref {
	c := l.tail
	if c == nil || c.sealed {
		c = l.grow()
	}
	i := c.n & (chunkLen - 1) // which it is; the mask tells the compiler
	c.entries[i], c.size[i], c.born[i] = e, size, now
	if l.keyed {
		c.hash[i] = hash
	}
	if c.ids != nil { // among restored ones
		c.ids[i] = ID{l.writer, l.last + 1}
	}
	c.n++
	c.sealed = c.n == chunkLen
	l.last++
	return makeRef(l.newest, i)
}

// restore appends an entry of an earlier life under its own id, or one of this life that was spilled.
func (l *arrivals[E]) restore(h Held[E], size uint32, hash uint64) ref {
	if h.Seq > l.last+1 {
		l.skipTo(h.Seq)
	}
	if h.ID == (ID{l.writer, l.last + 1}) {
		return l.append(h.Born, h.Entry, size, hash)
	}
	if l.newest >= 0 && l.slab[l.newest].chunk.ids == nil {
		l.seal()
	}
	if l.newest < 0 || l.slab[l.newest].chunk.sealed {
		l.grow().ids = make([]ID, chunkLen)
	}
	r := l.append(h.Born, h.Entry, size, hash)
	l.slab[r.slot()].chunk.ids[r.off()] = h.ID
	st := l.own(r.slot())
	st.attempts[r.off()] = uint16(min(h.Attempts, 1<<16-1))
	if h.Unsure {
		st.unsure[r.off()/64] |= 1 << (r.off() % 64)
		if l.keyed {
			st.doubt[r.off()/64] |= 1 << (r.off() % 64)
		}
	}
	return r
}

// skipTo leaves out the sequences before seq, which an earlier life has settled: in
// the newest chunk as settled slots, if it reaches so far.
func (l *arrivals[E]) skipTo(seq Seq) {
	if c := l.tail; c == nil || c.ids == nil || c.sealed || seq-c.first >= chunkLen {
		l.seal()
	} else {
		st := l.own(l.newest)
		for ; c.first+Seq(c.n) < seq; c.n++ {
			st.settled[c.n/64] |= 1 << (c.n % 64)
			st.gone++
		}
	}
	l.last = seq - 1
}

// seal ends the newest chunk, so that derived ids and restored ones never share one.
func (l *arrivals[E]) seal() {
	if l.newest < 0 {
		return
	}
	at := l.newest
	l.slab[at].chunk.sealed = true
	if s := l.slab[at]; s.state.gone == s.chunk.n {
		l.release(at)
	}
}

func (l *arrivals[E]) grow() *chunk[E] {
	var s slot[E]
	if n := len(l.pool); n > 0 {
		s, l.pool = l.pool[n-1], l.pool[:n-1]
		*s.state = state{}
	} else {
		s = slot[E]{&chunk[E]{}, &state{}}
		if l.keyed {
			s.chunk.hash, s.chunk.next, s.chunk.lane = make([]uint64, chunkLen), make([]ref, chunkLen), make([]int32, chunkLen)
		}
	}
	c := s.chunk
	s.state.made = l.snapshots
	l.grown++
	c.first, c.number, c.n, c.sealed, c.made, c.ids = l.last+1, l.grown, 0, false, l.snapshots, nil
	c.older, c.newer = l.newest, -1
	at := len(l.slab)
	if n := len(l.free); n > 0 {
		at, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.slab = append(l.slab, slot[E]{})
	}
	l.slab[at] = s
	if l.newest >= 0 {
		l.slab[l.newest].chunk.newer = at
	} else {
		l.oldest = at
	}
	l.newest, l.tail = at, c
	if l.front.slot < 0 {
		l.front = cursor{at, 0}
	}
	return c
}

// own returns the state beside a chunk for writing.
func (l *arrivals[E]) own(at int) *state {
	s := &l.slab[at]
	if l.pinned(s.state.made) {
		s.state = s.state.clone(l.snapshots)
	}
	return s.state
}

func (s *state) clone(made uint64) *state {
	c := *s
	c.made = made
	if s.deaths != nil {
		c.deaths = make(map[uint16]*Death, len(s.deaths))
		for k, d := range s.deaths {
			c.deaths[k] = d
		}
	}
	return &c
}

// settle marks n neighbours, which lie in one chunk, as settled.
func (l *arrivals[E]) settle(r ref, n int) {
	at, off := r.slot(), r.off()
	st, c := l.own(at), l.slab[at].chunk
	for i := off; i < off+n; {
		w, b := i/64, i%64
		k := min(64-b, off+n-i)
		st.settled[w] |= ^uint64(0) >> (64 - k) << b
		i += k
	}
	st.gone += n
	if l.track {
		l.report(c.first+Seq(off), n)
	}
	if l.pinned(c.made) {
		l.dirty = append(l.dirty, dirty[E]{c, off, n, l.snapshots})
		c.dirty++
	} else {
		clear(c.entries[off : off+n])
	}
	if st.gone == c.n && c.sealed {
		l.release(at)
	}
}

func (l *arrivals[E]) report(first Seq, n int) {
	last := first + Seq(n) - 1
	if k := len(l.ranges); k > 0 && l.ranges[k-1].Last+1 == first {
		l.ranges[k-1].Last = last
		return
	}
	l.ranges = append(l.ranges, Range{first, last})
}

// pinned: a snapshot that is not released was taken after the making.
func (l *arrivals[E]) pinned(made uint64) bool {
	return len(l.pins) > 0 && l.pins[len(l.pins)-1] > made
}

// sweep clears up to n dirty runs that no snapshot reads any more, and says
// whether more are left.
func (l *arrivals[E]) sweep(n int) (more bool) {
	for ; len(l.dirty) > 0; n-- {
		d := &l.dirty[0]
		if len(l.pins) > 0 && l.pins[0] <= d.under {
			return false
		}
		if n == 0 {
			return true
		}
		clear(d.chunk.entries[d.off : d.off+d.n])
		d.chunk.dirty--
		*d = dirty[E]{}
		l.dirty = l.dirty[1:]
	}
	l.dirty = nil
	return false
}

// release takes an empty chunk out of the log.
func (l *arrivals[E]) release(at int) {
	c := l.slab[at].chunk
	if l.front.slot == at {
		l.front = cursor{c.newer, 0}
	}
	if c.older >= 0 {
		l.slab[c.older].chunk.newer = c.newer
	} else {
		l.oldest = c.newer
	}
	if c.newer >= 0 {
		l.slab[c.newer].chunk.older = c.older
	} else {
		l.newest, l.tail = c.older, nil
		if c.older >= 0 {
			l.tail = l.slab[c.older].chunk
		}
	}
	if c.dirty == 0 && !l.pinned(c.made) && len(l.pool) < chunkPool {
		l.pool = append(l.pool, l.slab[at])
	}
	l.slab[at] = slot[E]{}
	l.free = append(l.free, at)
}

func (l *arrivals[E]) size(r ref) int64   { return int64(l.slab[r.slot()].chunk.size[r.off()]) }
func (l *arrivals[E]) born(r ref) Time    { return l.slab[r.slot()].chunk.born[r.off()] }
func (l *arrivals[E]) hash(r ref) uint64  { return l.slab[r.slot()].chunk.hash[r.off()] }
func (l *arrivals[E]) seq(r ref) Seq      { return l.slab[r.slot()].chunk.first + Seq(r.off()) }
func (l *arrivals[E]) next(r ref) *ref    { return &l.slab[r.slot()].chunk.next[r.off()] }
func (l *arrivals[E]) lane(r ref) *int32  { return &l.slab[r.slot()].chunk.lane[r.off()] }
func (l *arrivals[E]) attempts(r ref) int { return int(l.slab[r.slot()].state.attempts[r.off()]) }
func (l *arrivals[E]) doubted(r ref) bool {
	st := l.slab[r.slot()].state
	return (st.unsure[r.off()/64]|st.doubt[r.off()/64])>>(r.off()%64)&1 != 0
}

func (l *arrivals[E]) unsure(r ref) bool {
	return l.slab[r.slot()].state.unsure[r.off()/64]>>(r.off()%64)&1 != 0
}

func (l *arrivals[E]) setUnsure(r ref, v bool) {
	if l.unsure(r) != v {
		st := l.own(r.slot())
		st.unsure[r.off()/64] ^= 1 << (r.off() % 64)
		if l.keyed {
			st.doubt[r.off()/64] |= 1 << (r.off() % 64)
		}
	}
}

// failed counts an attempt.
func (l *arrivals[E]) failed(r ref) int {
	st := l.own(r.slot())
	if st.attempts[r.off()] < 1<<16-1 {
		st.attempts[r.off()]++
	}
	return int(st.attempts[r.off()])
}

func (l *arrivals[E]) setDeath(r ref, d *Death) {
	st := l.own(r.slot())
	if st.deaths == nil {
		st.deaths = map[uint16]*Death{}
	}
	st.deaths[uint16(r.off())] = d
}

// frontier is the entries no batch has examined that lie in one chunk; empty at the end.
func (l *arrivals[E]) frontier() (c *chunk[E], off, n int) {
	for l.front.slot >= 0 {
		c = l.slab[l.front.slot].chunk
		for c.ids != nil && l.front.off < c.n && l.isSettled(l.front) { // an earlier life has settled it
			l.front.off++
		}
		if n = c.n - l.front.off; n > 0 {
			return c, l.front.off, n
		}
		if c.newer < 0 {
			break
		}
		l.front = cursor{c.newer, 0}
	}
	return nil, 0, 0
}

func (l *arrivals[E]) isSettled(at cursor) bool {
	return l.slab[at.slot].state.settled[at.off/64]>>(at.off%64)&1 != 0
}

// unsettled counts the entries from first to last that are not settled.
func (s slot[E]) unsettled(first, last Seq) (n int64) {
	from, to := int(first-s.chunk.first), int(last-s.chunk.first)+1
	if from == 0 && to == s.chunk.n {
		return int64(s.chunk.n - s.state.gone)
	}
	for i := from; i < to; i++ {
		n += int64(^s.state.settled[i/64] >> (i % 64) & 1)
	}
	return n
}

// lowWater is the first sequence that is not settled.
func (l *arrivals[E]) lowWater() Seq {
	for at := l.oldest; at >= 0; at = l.slab[at].chunk.newer {
		c, st := l.slab[at].chunk, l.slab[at].state
		for w, settled := range st.settled {
			if i := w*64 + bits.TrailingZeros64(^settled); i < min(w*64+64, c.n) {
				return c.first + Seq(i)
			}
		}
	}
	return l.last + 1
}
