package core

// lanes keeps the order within keys. A lane exists while a key has something
// outstanding: in flight, or failed and to go again. What arrives for the key
// meanwhile is examined once, parked behind it, and let go when the gate opens.
// Keys are known by their hash; equal hashes share a lane, which costs
// concurrency and never order.
type lanes[E any] struct {
	log   *arrivals[E]
	byKey index // hash to index in slab
	slab  []lane
	free  []int32

	// passed is the heads of lanes whose gate has opened, oldest first: they go
	// before the frontier, without a second look at the key.
	passed         fifo
	entries, bytes int64 // of passed heads
}

// lane is one key's. An entry that was examined knows the index of its own, so
// that the key is looked up twice in an entry's life: when it is examined, and
// when its lane closes.
type lane struct {
	hash       uint64
	batch      uint64 // the request that the outstanding ones are in
	head, tail ref    // parked, in arrival order
	parked     int32
	out        int32 // in flight
	open       bool
	failed     bool // its head has failed and waits for a back-off
	queued     bool // its head is in passed or waits out a back-off
}

// keptEmpty is how large a queue or slab may be that is kept while nothing is in
// it, against garbage in steady state. A larger one is left of a backlog.
const keptEmpty = 1 << 14

// fifo is a queue in one slice, whose front moves.
type fifo struct {
	refs []ref
	at   int
}

func (q *fifo) len() int   { return len(q.refs) - q.at }
func (q *fifo) push(r ref) { q.refs = append(q.refs, r) }
func (q *fifo) pop() ref {
	r := q.refs[q.at]
	if q.at++; q.at == len(q.refs) {
		q.refs, q.at = q.refs[:0], 0
		if cap(q.refs) > keptEmpty {
			q.refs = nil
		}
	} else if q.at >= 1024 && q.at*2 >= len(q.refs) { // amortised O(1)
		q.refs = q.refs[:copy(q.refs, q.refs[q.at:])]
		q.at = 0
	}
	return r
}

// find returns the lane of a key that has one.
func (l *lanes[E]) find(hash uint64) (int32, bool) {
	return l.byKey.get(hash)
}

// of returns the lane of an entry that has been examined.
func (l *lanes[E]) of(r ref) *lane { return &l.slab[*l.log.lane(r)] }

// open makes a lane for a key that has none. It may move the others in memory.
func (l *lanes[E]) open(hash uint64) int32 {
	var i int32
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
	} else {
		i = int32(len(l.slab))
		l.slab = append(l.slab, lane{})
	}
	l.slab[i] = lane{hash: hash, open: true}
	l.byKey.put(hash, i)
	return i
}

func (l *lanes[E]) close(i int32) {
	l.byKey.remove(l.slab[i].hash)
	l.slab[i].open = false
	l.free = append(l.free, i)
}

// shrink lets the memory of a backlog go once no lane is left. Indices of lanes
// are not valid afterwards.
func (l *lanes[E]) shrink() {
	if l.byKey.n == 0 && len(l.slab) > keptEmpty {
		l.slab, l.free, l.byKey = nil, nil, newIndex(l.byKey.seed)
	}
}

func (l *lanes[E]) park(a *lane, r ref) {
	if a.parked == 0 {
		a.head = r
	} else {
		*l.log.next(a.tail) = r
	}
	a.tail = r
	a.parked++
}

// putBack puts a failed entry before those that wait behind it.
func (l *lanes[E]) putBack(a *lane, r ref) {
	if a.parked == 0 {
		a.tail = r
	} else {
		*l.log.next(r) = a.head
	}
	a.head, a.failed = r, true
	a.parked++
}

func (l *lanes[E]) pop(a *lane) ref {
	r := a.head
	if a.parked--; a.parked > 0 {
		a.head = *l.log.next(r)
	}
	return r
}

// pass opens the gate of a lane whose outstanding entries are all answered.
func (l *lanes[E]) pass(a *lane) {
	a.queued = true
	l.passed.push(a.head)
	l.entries++
	l.bytes += l.log.size(a.head)
}
