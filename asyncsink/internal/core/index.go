package core

// index finds a key's lane by the key's hash: open addressing with linear
// probing, and no gravestones, since a removal moves back what stands behind it.
// A Go map does the same for twice the time, which was two fifths of an ordered
// entry's cost (it hashes the hash again, and two of three operations here are an
// insertion or a removal). The seed keeps keys that were made to collide apart.
type index struct {
	slots []indexSlot
	shift uint8 // 64 minus the logarithm of len(slots)
	n     int
	seed  uint64 // odd; random in all its bits, since the upper ones of a product are used
}

type indexSlot struct {
	hash uint64
	lane int32 // plus 1; 0: free
}

const indexBits = 6 // logarithm of the smallest size

func newIndex(seed uint64) index {
	return index{slots: make([]indexSlot, 1<<indexBits), shift: 64 - indexBits, seed: seed | 1}
}

func (x *index) home(hash uint64) int { return int(hash * x.seed >> x.shift) }

// find returns the slot of a hash, or the free one where it would be.
func (x *index) find(hash uint64) (at int, ok bool) {
	mask := len(x.slots) - 1
	for at = x.home(hash); ; at = (at + 1) & mask {
		if s := &x.slots[at]; s.lane == 0 || s.hash == hash {
			return at, s.lane != 0
		}
	}
}

func (x *index) get(hash uint64) (lane int32, ok bool) {
	at, ok := x.find(hash)
	return x.slots[at].lane - 1, ok
}

// put adds a hash that is not there.
func (x *index) put(hash uint64, lane int32) {
	if 4*(x.n+1) > 3*len(x.slots) {
		x.grow()
	}
	at, _ := x.find(hash)
	x.slots[at] = indexSlot{hash, lane + 1}
	x.n++
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]indexSlot, 2*len(old))
	x.shift--
	for _, s := range old {
		if s.lane != 0 {
			at, _ := x.find(s.hash)
			x.slots[at] = s
		}
	}
}

// remove takes out a hash that is there. What follows it up to the next free
// slot moves into the gap where that brings it nearer to its home.
func (x *index) remove(hash uint64) {
	mask := len(x.slots) - 1
	gap, _ := x.find(hash)
	for at := (gap + 1) & mask; x.slots[at].lane != 0; at = (at + 1) & mask {
		if home := x.home(x.slots[at].hash); (at-home)&mask >= (at-gap)&mask {
			x.slots[gap], gap = x.slots[at], at
		}
	}
	x.slots[gap] = indexSlot{}
	x.n--
}
