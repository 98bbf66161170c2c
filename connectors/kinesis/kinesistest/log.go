package kinesistest

import "sort"

// log holds the records of one shard in arrival order, packed: the bytes of many records lie in one block, and
// what is fixed in size lies in one array beside it. A record of 100 bytes costs about 150.
//
// The log only grows. A copy of its block headers is therefore a consistent view that needs no lock: the writer
// appends beyond the lengths that the copy knows.
type log struct {
	blocks []block
	count  uint64
	latest int64 // arrival of the last record, Unix milliseconds
}

type block struct {
	first uint64 // position of recs[0], from 0
	bytes []byte
	recs  []entryMeta
}

// entryMeta describes one record of a block; its bytes lie at off: partition key, explicit hash key, data.
type entryMeta struct {
	off      uint32
	data     uint32
	key      uint16
	explicit uint8
	millis   int64  // arrival, Unix milliseconds
	arrival  uint64 // place in the stream's arrival order, from 0
}

const (
	firstBlock = 4 << 10
	fullBlock  = 256 << 10
)

// add appends a record and returns its position, from 0. Time never goes back within a log, whatever the clock
// or the order of concurrent requests says: since searches by it.
func (l *log) add(e *entry, millis int64, arrival uint64) uint64 {
	need := len(e.key) + len(e.explicit) + len(e.data)
	n := len(l.blocks)
	if n == 0 || cap(l.blocks[n-1].bytes)-len(l.blocks[n-1].bytes) < need {
		size := min(firstBlock<<min(n, 10), fullBlock)
		l.blocks = append(l.blocks, block{first: l.count, bytes: make([]byte, 0, max(size, need))})
		n++
	}
	b := &l.blocks[n-1]
	l.latest = max(l.latest, millis)
	m := entryMeta{
		off: uint32(len(b.bytes)), data: uint32(len(e.data)), key: uint16(len(e.key)), explicit: uint8(len(e.explicit)),
		millis: l.latest, arrival: arrival,
	}
	b.bytes = append(append(append(b.bytes, e.key...), e.explicit...), e.data...)
	b.recs = append(b.recs, m)
	l.count++
	return l.count - 1
}

// view is a copy that may be read without the stream's lock.
func (l *log) view() log {
	return log{blocks: append([]block(nil), l.blocks...), count: l.count}
}

// at returns the record at a position below count. Its bytes alias the log.
func (l *log) at(pos uint64) (entryMeta, entry) {
	i := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].first > pos }) - 1
	return l.blocks[i].at(int(pos - l.blocks[i].first))
}

func (b *block) at(i int) (entryMeta, entry) {
	m := b.recs[i]
	p := b.bytes[m.off:]
	k, x := int(m.key), int(m.key)+int(m.explicit)
	end := x + int(m.data)
	return m, entry{key: p[:k:k], explicit: p[k:x:x], data: p[x:end:end]}
}

// since is the position of the first record that arrived at or after the given time.
func (l *log) since(millis int64) uint64 {
	return uint64(sort.Search(int(l.count), func(i int) bool {
		m, _ := l.at(uint64(i))
		return m.millis >= millis
	}))
}

// footprint is the memory that the records take, room kept for more included.
func (l *log) footprint() int {
	const meta = 32
	total := 0
	for _, b := range l.blocks {
		total += cap(b.bytes) + meta*cap(b.recs)
	}
	return total
}
