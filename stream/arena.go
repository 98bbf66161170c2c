package stream

import "encoding/binary"

const (
	inline   = 8        // bytes of a position that need no room in the arena: an offset
	minArena = 64 << 10 // bytes
)

// position is a Position: its bytes, or where they lie.
type position struct {
	at uint64
	n  uint32
}

// arena holds the bytes of long positions. They are added at its end; when that is reached, those that slots still refer
// to are copied to another, with which it takes turns.
type arena struct {
	bytes []byte
	spare []byte
}

// keep returns b as a position.
func (m *Marks) keep(b []byte) position {
	if len(b) <= inline {
		var short [inline]byte
		copy(short[:], b)
		return position{at: binary.LittleEndian.Uint64(short[:]), n: uint32(len(b))}
	}
	if len(m.long.bytes)+len(b) > cap(m.long.bytes) {
		m.compact(len(b))
	}
	p := position{at: uint64(len(m.long.bytes)), n: uint32(len(b))}
	m.long.bytes = append(m.long.bytes, b...)
	return p
}

func (a *arena) appendTo(dst []byte, p position) []byte {
	if p.n > inline {
		return append(dst, a.bytes[p.at:p.at+uint64(p.n)]...)
	}
	var short [inline]byte
	binary.LittleEndian.PutUint64(short[:], p.at)
	return append(dst, short[:p.n]...)
}

// compact drops the bytes that no slot refers to, and makes room for some.
func (m *Marks) compact(room int) {
	need := room
	m.eachLong(func(p position) position {
		need += int(p.n)
		return p
	})
	// Half of it is free, and enough for a walk over the slots to be paid by what is added until the next.
	size := max(minArena, 2*need, 8*len(m.ring.slots))
	from, to := m.long.bytes, m.long.spare[:0]
	if cap(to) < size || cap(to) > 4*size {
		to = make([]byte, 0, size)
	}
	m.eachLong(func(p position) position {
		at := uint64(len(to))
		to = append(to, from[p.at:p.at+uint64(p.n)]...)
		return position{at: at, n: p.n}
	})
	m.long = arena{bytes: to, spare: from}
}

// eachLong replaces the long positions of the unsettled records. Most have one: own is upTo until one behind it settles.
func (m *Marks) eachLong(f func(position) position) {
	for i := range m.ring.n {
		s := &m.ring.slots[m.ring.index(i)]
		if s.split == none {
			continue
		}
		same := s.own == s.upTo
		if s.own.n > inline {
			s.own = f(s.own)
		}
		if same {
			s.upTo = s.own
		} else if s.upTo.n > inline {
			s.upTo = f(s.upTo)
		}
	}
}
