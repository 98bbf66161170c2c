package spill

import (
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/statecodec"
)

// Log is a queue of entries on disk. It belongs to one goroutine at a time, the owner; what other goroutines may call says
// so.
type Log struct {
	in      *folder // nil: no disk
	section statecodec.Section
	segment int64 // bytes

	open    *statecodec.BlockWriter
	lent    bool      // somebody has the open block's payload so far
	spare   []byte    // for the next block
	waiting []waiting // complete, and not in a file as a whole: one, unless entries were forced

	segments []*Segment // with at least one block, in order
	at       int        // all before are fed
	current  *Segment   // the newest, or one without a block yet; nil: the next block begins one

	entries int   // that are not fed
	bytes   int64 // of payload that are not fed

	syncer  *syncer // under Steady
	merging bool
	closed  bool
}

// waiting is a complete block that is to be written.
type waiting struct {
	place
	raw      []byte
	written  int // of raw; above 0: it is a block of the current segment
	reserved bool
	lent     bool // somebody has the payload
}

func (b *waiting) payload() []byte { return b.raw[statecodec.HeadBytes:] }

// Open opens the log. It creates the folder if need be, and removes what an earlier life left in it: what that life had
// made part of a checkpoint has another name there. The error is a *[DiskError], a *files.LockedError if another process
// has the folder, or says all that is wrong with c.
func Open(c Config) (*Log, error) {
	c, err := c.orDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{section: c.Section, segment: c.Segment, open: statecodec.NewBlockWriter(c.Section, c.block)}
	if c.Dir == "" {
		return l, nil
	}
	if l.in, err = openFolder(c); err != nil {
		return nil, err
	}
	if c.Sync == Steady {
		l.syncer = newSyncer()
	}
	return l, nil
}

// Append adds x behind all others, whose sequences are lower. x and its Data may be reused when it returns.
//
// Entries are collected in memory until a block is full, and then written. A block that could not be written waits in
// memory, and while one waits another is filled. When that is full as well, the error is [ErrFull] or a *[DiskError], and
// x was not taken: try again after [Log.Free] or when the disk has recovered ([Log.Retry]). With force x is taken all the
// same, into memory: for what can't be read again. Any other error is of x (statecodec.ErrTooLarge, its key group): it is
// never taken.
func (l *Log) Append(x *statecodec.Entry, force bool) error {
	if l.closed {
		return ErrClosed
	}
	if l.in == nil && !force {
		return ErrFull
	}
	if !l.open.Fits(x) {
		if err := l.flush(); err != nil && !force {
			return err
		}
		l.seal()
		_ = l.flush() // else it waits: x has room in the next one
		l.reset()
	}
	before := len(l.open.Payload())
	if err := l.open.Add(x); err != nil {
		return fmt.Errorf("spill: %w", err)
	}
	l.entries++
	l.bytes += int64(len(l.open.Payload()) - before)
	return nil
}

// Retry writes what waits for the disk, and removes files that could not be removed. The error is as that of Append.
func (l *Log) Retry() error {
	if l.closed {
		return ErrClosed
	}
	if l.in != nil {
		l.in.sweep()
	}
	return l.flush()
}

// seal completes the open block. reset follows, when it has been written or not: most blocks then have the same memory,
// which stays in the processor's cache.
func (l *Log) seal() {
	w := l.open
	raw := w.Seal()
	l.waiting = append(l.waiting, waiting{
		place: place{first: w.First(), last: w.Last(), entries: int32(w.Entries()), size: int32(len(raw))},
		raw:   raw, lent: l.lent,
	})
}

// reset begins another block, in memory that nobody else has.
func (l *Log) reset() {
	l.open.Reset(l.spare)
	l.spare, l.lent = nil, false
}

// flush writes the blocks that wait, in their order.
func (l *Log) flush() error {
	for len(l.waiting) > 0 {
		if l.in == nil {
			return ErrFull
		}
		b := &l.waiting[0]
		if err := l.write(b); err != nil {
			return err
		}
		if !b.lent && cap(b.raw) <= spareBytes {
			l.spare = b.raw
		}
		l.waiting = slices.Delete(l.waiting, 0, 1)
	}
	return nil
}

const spareBytes = 512 << 10 // more memory than that is not kept: the block was one of a large entry

// write writes what is left of a block.
func (l *Log) write(b *waiting) error {
	if b.written == 0 {
		if err := l.prepare(b); err != nil {
			return err
		}
	}
	s := l.current
	if b.written == 0 {
		b.at = s.written
	}
	n, err := s.write(b.raw[b.written:])
	if err != nil && b.written == 0 && n > 0 && s.cutBack(b.at) == nil {
		n = 0 // it waits as a whole, and what is before it can be sealed
	}
	if b.written == 0 && n > 0 {
		l.join(b)
	}
	b.written += n
	if err != nil {
		return err
	}
	s.frame.Add(b.raw)
	if s.closing || s.written >= l.segment {
		l.end()
	} else if l.syncer != nil {
		l.syncer.wrote(s, int64(len(b.raw)))
	}
	return nil
}

// prepare sees to it that there is a segment that the block may go to, and space.
func (l *Log) prepare(b *waiting) error {
	if s := l.current; s != nil && s.placed > 0 && s.doubtful() != nil {
		l.end()
	}
	need := int64(0)
	if l.current == nil {
		need += l.in.overhead
	}
	if !b.reserved {
		need += int64(b.size)
	}
	if !l.in.reserve(need) {
		return ErrFull
	}
	if l.current == nil {
		s, err := l.in.create()
		if err != nil {
			l.in.release(need)
			return err
		}
		l.current = s
	}
	b.reserved = true
	return l.current.writeRest()
}

// join makes a block that is being written one of the current segment.
func (l *Log) join(b *waiting) {
	s := l.current
	if s.placed == 0 {
		l.segments = append(l.segments, s)
	}
	s.join(b.place)
	s.space += int64(b.size)
}

// end ends the current segment.
func (l *Log) end() {
	s := l.current
	l.current = nil
	cut := s.closing
	s.end()
	switch {
	case l.syncer != nil:
		l.syncer.ask(s)
	case !cut: // else a snapshot does it, beside the writer
		_ = s.Seal() // a few bytes; whoever needs it asks again
	}
}

// Stats is what the log has at this moment.
type Stats struct {
	Segments int   // files of which not all entries are settled
	Disk     int64 // bytes of all files, also of those that wait for their last reader
	Cap      int64 // of Disk
	Copied   int64 // bytes that merges have written, in this life
	Entries  int   // that have not been fed
	Bytes    int64 // of their payload
	Err      error // of the disk: it refused what it was asked last, or failed to sync one of Segments; nil: it is well
	Stuck    error // files that could not be removed; nil: none
}

// Stats counts.
func (l *Log) Stats() Stats {
	s := Stats{Segments: len(l.segments), Entries: l.entries, Bytes: l.bytes}
	if f := l.in; f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		s.Disk, s.Cap, s.Copied, s.Err, s.Stuck = f.used, f.cap, f.copied, f.last, f.stuckError()
		for _, g := range l.segments {
			if s.Err == nil {
				s.Err = g.doubt
			}
		}
	}
	return s
}

// Close ends the log and removes its files; one that is pinned goes with its last pin, and the folder is locked until then.
// It waits for a sync of [Steady] that is under way. The error says which files could not be removed: the next Open does.
func (l *Log) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	l.waiting, l.spare = nil, nil
	l.open.Reset(nil)
	if l.in == nil {
		return nil
	}
	if l.syncer != nil {
		l.syncer.stop()
	}
	if s := l.current; s != nil && s.placed == 0 {
		l.in.free(s)
	}
	for _, s := range l.segments {
		l.in.free(s)
	}
	l.segments, l.current, l.at = nil, nil, 0
	return l.in.close()
}
