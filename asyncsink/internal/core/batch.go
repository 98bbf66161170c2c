package core

import (
	"slices"
	"sort"
)

// Batch is one attempt: entries that go in one request. It is the shell's from
// Send until Done; the core reuses it afterwards.
type Batch[E any] struct {
	ID       uint64 // grows by one with each request
	Entries  []E    // headers copied, so that an attempt that never ends pins no chunk
	Seqs     []Seq
	IDs      []ID     // nil: none of the entries comes from an earlier life
	Attempts []uint16 // that ended without delivery before this one
	Bytes    int64
	Sent     Time
	Deadline Time

	refs    []ref
	lanes   []int32 // of their keys, under a gate
	answer  answer  // the controller's part
	unsure  []ref   // those that an earlier attempt may have stored
	state   batchState
	of      *bisection // set: a half of a refused request
	readyAt Time       // of the entry that became ready first, while the batch is open
	closed  bool       // the next entry did not fit

	older, newer *Batch[E] // neighbours in the order of deadlines
}

// flights is the requests whose answers are awaited, in the order of their deadlines.
type flights[E any] struct {
	first, last *Batch[E]
	n           int
}

func (f *flights[E]) add(b *Batch[E]) {
	if f.last != nil { // kept in order even after the time-out was lowered
		b.Deadline = max(b.Deadline, f.last.Deadline)
		f.last.newer = b
	} else {
		f.first = b
	}
	b.older, f.last = f.last, b
	f.n++
}

func (f *flights[E]) remove(b *Batch[E]) {
	if b.older != nil {
		b.older.newer = b.newer
	} else {
		f.first = b.newer
	}
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		f.last = b.older
	}
	b.older, b.newer = nil, nil
	f.n--
}

type batchState uint8

const (
	batchOpen      batchState = iota
	batchInFlight             // its answer is awaited
	batchAbandoned            // timed out; its submitter has not returned
)

// InFlight says whether the answer is awaited: the time-out has not passed.
func (b *Batch[E]) InFlight() bool { return b.state == batchInFlight }

func (b *Batch[E]) reset() {
	clear(b.Entries)
	*b = Batch[E]{
		Entries: b.Entries[:0], Seqs: b.Seqs[:0], Attempts: b.Attempts[:0], refs: b.refs[:0], lanes: b.lanes[:0], unsure: b.unsure[:0],
	}
}

// take adds n neighbours of one chunk.
func (b *Batch[E]) take(l *arrivals[E], r ref, n int, bytes int64) {
	at, off := r.slot(), r.off()
	c, st := l.slab[at].chunk, l.slab[at].state
	b.Entries = append(b.Entries, c.entries[off:off+n]...)
	b.Attempts = append(b.Attempts, st.attempts[off:off+n]...)
	for i := range n {
		b.Seqs = append(b.Seqs, c.first+Seq(off+i))
		b.refs = append(b.refs, r+ref(i))
	}
	if c.ids != nil || b.IDs != nil {
		b.takeIDs(l.writer, c, off, n)
	}
	if c.lane != nil {
		b.lanes = append(b.lanes, c.lane[off:off+n]...)
	}
	b.Bytes += bytes
	for i := off; i < off+n; {
		if st.unsure[i/64] == 0 {
			i = (i/64 + 1) * 64
			continue
		}
		if r := makeRef(at, i); l.unsure(r) {
			b.unsure = append(b.unsure, r)
		}
		i++
	}
}

func (b *Batch[E]) takeIDs(writer [16]byte, c *chunk[E], off, n int) {
	for len(b.IDs) < len(b.Seqs)-n {
		b.IDs = append(b.IDs, ID{writer, b.Seqs[len(b.IDs)]})
	}
	for i := range n {
		id := ID{writer, c.first + Seq(off+i)}
		if c.ids != nil {
			id = c.ids[off+i]
		}
		b.IDs = append(b.IDs, id)
	}
}

// inOrder puts a batch, to which entries that failed before were added after
// later ones, in arrival order.
func (b *Batch[E]) inOrder() {
	if !slices.IsSorted(b.Seqs) {
		sort.Sort((*byArrival[E])(b))
	}
}

type byArrival[E any] Batch[E]

func (b *byArrival[E]) Len() int           { return len(b.Seqs) }
func (b *byArrival[E]) Less(i, j int) bool { return b.Seqs[i] < b.Seqs[j] }
func (b *byArrival[E]) Swap(i, j int) {
	b.Seqs[i], b.Seqs[j] = b.Seqs[j], b.Seqs[i]
	b.Entries[i], b.Entries[j] = b.Entries[j], b.Entries[i]
	b.Attempts[i], b.Attempts[j] = b.Attempts[j], b.Attempts[i]
	b.refs[i], b.refs[j] = b.refs[j], b.refs[i]
	if b.IDs != nil {
		b.IDs[i], b.IDs[j] = b.IDs[j], b.IDs[i]
	}
	if len(b.lanes) > 0 {
		b.lanes[i], b.lanes[j] = b.lanes[j], b.lanes[i]
	}
}
