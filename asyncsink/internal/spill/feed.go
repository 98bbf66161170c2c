package spill

import (
	"errors"
	"io"
	"slices"

	"github.com/spillway-go/spillway/statecodec"
)

// Block is some consecutive entries of the log.
type Block struct {
	First, Last uint64   // sequences of the first and the last entry
	Entries     int      //
	Bytes       int      // of payload
	Segment     *Segment // that they belong to; nil: they never were on disk
	Payload     []byte   // if it is in memory, and then it does not change; nil: it lies in the segment's file

	at      int64
	section *statecodec.Section
}

func (l *Log) block(p place, s *Segment, payload []byte) Block {
	return Block{
		First: p.first, Last: p.last, Entries: int(p.entries), Bytes: int(p.size) - statecodec.HeadBytes,
		Segment: s, Payload: payload, at: p.at, section: &l.section,
	}
}

// Read makes r read the block's entries. Any goroutine may do so, until the segment is freed, and as often as it likes.
// The error is a *[DiskError] or a *[DamagedError].
func (b Block) Read(r *statecodec.BlockReader) error {
	if b.Payload != nil {
		r.Use(b.Payload, b.Entries, *b.section)
		return nil
	}
	s := b.Segment
	f, err := s.in.fs.Open(s.path)
	if err != nil {
		return diskError("open", s.path, err)
	}
	defer f.Close()
	return s.load(r, f, place{at: b.at, size: int32(b.Bytes) + statecodec.HeadBytes, entries: int32(b.Entries)}, *b.section)
}

// Next hands out the next block, to be read and fed to the core; false: there is none. Behind what is written come the
// blocks that wait for the disk, and then the one that is being filled, as far as it is: these never touch the disk, or
// need not.
func (l *Log) Next() (Block, bool) {
	b, ok := l.next()
	l.entries -= b.Entries
	l.bytes -= int64(b.Bytes)
	return b, ok
}

func (l *Log) next() (Block, bool) {
	for l.at < len(l.segments) {
		s := l.segments[l.at]
		if s.fed < s.placed {
			return l.fromSegment(s), true
		}
		if s == l.current {
			break
		}
		l.at++
	}
	for i := range l.waiting {
		if b := &l.waiting[i]; b.written == 0 {
			l.cut() // what is written later must not join a segment behind a hole
			return l.fromWaiting(i), true
		}
	}
	if w := l.open; w.Entries() > 0 {
		l.cut()
		b := l.filling()
		l.reset()
		return b, true
	}
	return Block{}, false
}

func (l *Log) fromSegment(s *Segment) Block {
	p := s.places[0]
	s.places = s.places[1:]
	s.fed++
	var payload []byte
	if part := l.part(s); part != nil && s.fed == s.placed {
		payload, part.lent = part.payload(), true
	}
	return l.block(p, s, payload)
}

// part is the last block of s, if it is not in the file as a whole.
func (l *Log) part(s *Segment) *waiting {
	if s == l.current && len(l.waiting) > 0 && l.waiting[0].written > 0 {
		return &l.waiting[0]
	}
	return nil
}

func (l *Log) fromWaiting(i int) Block {
	w := l.waiting[i]
	if w.reserved {
		l.in.release(int64(w.size))
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return l.block(w.place, nil, w.payload())
}

// filling is the block that is being filled. The log goes on behind what it shows.
func (l *Log) filling() Block {
	w := l.open
	l.lent = true
	payload := w.Payload()
	return l.block(place{
		first: w.First(), last: w.Last(), entries: int32(w.Entries()), size: int32(len(payload) + statecodec.HeadBytes),
	}, nil, payload)
}

// Cut ends the current segment, for a snapshot: the next block begins another, so that all [Log.Segments] can be sealed,
// beside the writer. It returns the blocks that are only in memory, which come behind all segments. They stay where they
// are in the queue, and are written and fed as if nothing had happened, then together with entries that came later. A block
// that the disk broke off is its segment's, and Seal fails until the disk has taken the rest.
func (l *Log) Cut() []Block {
	l.cut()
	var blocks []Block
	for i := range l.waiting {
		if b := &l.waiting[i]; b.written == 0 {
			b.lent = true
			blocks = append(blocks, l.block(b.place, nil, b.payload()))
		}
	}
	if l.open.Entries() > 0 {
		blocks = append(blocks, l.filling())
	}
	return blocks
}

// cut ends the current segment.
func (l *Log) cut() {
	if s := l.current; s != nil && s.placed > 0 {
		s.closing = true
		if l.part(s) == nil { // else when it is written
			l.end()
		}
	}
}

// Segments returns those that were not freed, in order. After Cut other goroutines may look at them.
func (l *Log) Segments() []*Segment { return slices.Clone(l.segments) }

// Free removes the file of a segment that has been fed as a whole, all of whose entries are settled, as soon as it is not
// pinned. If it can't be removed it takes its space, and Retry tries again.
func (l *Log) Free(s *Segment) {
	i := slices.Index(l.segments, s)
	if i < 0 {
		return // freed, or closed, before
	}
	if s.fed < s.placed {
		panic("spill: Free of a segment that has not been fed as a whole")
	}
	if s == l.current {
		if l.part(s) != nil {
			l.waiting = slices.Delete(l.waiting, 0, 1)
		}
		l.current = nil
	}
	l.segments = slices.Delete(l.segments, i, i+1)
	if i < l.at {
		l.at--
	}
	l.in.free(s)
}

// load reads one block of the segment.
func (s *Segment) load(r *statecodec.BlockReader, f io.ReaderAt, p place, section statecodec.Section) error {
	err := r.Load(f, p.at, int(p.size), section)
	if err == nil && r.Left() != int(p.entries) {
		err = &statecodec.FormatError{Offset: p.at, Section: section, Fault: statecodec.Malformed, Detail: "a block of other entries"}
	}
	if damage := (*statecodec.FormatError)(nil); errors.As(err, &damage) {
		return &DamagedError{s.path, damage}
	}
	if err != nil {
		return diskError("read", s.path, err)
	}
	return nil
}
