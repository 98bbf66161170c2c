package asyncsink

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/internal/spill"
	"github.com/spillway-go/spillway/statecodec"
)

// Snapshot is everything that was held at one moment: buffered, in flight,
// given up without the dead-letter output's word, and waiting on disk. Taking one waits for no answer
// and copies no entry; it is written beside the writer, on any one goroutine.
// Until Close the memory and the files of what it shows are kept.
type Snapshot[E any] struct {
	w        *Writer[E]
	core     *core.Snapshot[E]
	parts    []part  // as they were
	taken    []*part // which those are, in the writer's index
	segments []*spill.Segment
	blocks   []spill.Block // spilled, and only in memory yet
	wait     int           // entries that were not in memory
	spilled  int64         // bytes of those that this life spilled
	final    bool
	closed   bool
}

// Snapshot takes one. The error is [ErrClosed]; a writer that has stopped can still be snapshotted.
func (w *Writer[E]) Snapshot() (*Snapshot[E], error) {
	if err := w.enter("snapshot"); err != nil {
		return nil, err
	}
	defer w.leave()
	if w.closed {
		return nil, ErrClosed
	}
	return w.snapshot(false), nil
}

func (w *Writer[E]) snapshot(final bool) *Snapshot[E] {
	w.snapshots++
	s := &Snapshot[E]{w: w, blocks: w.queue.blocks(), wait: w.queue.len(), spilled: w.core.Ledger.Spilled.Bytes, final: final}
	s.segments = w.queue.log.Segments()
	for _, segment := range s.segments {
		segment.Pin()
		p := &part{segment: segment, first: max(Seq(segment.First()), w.parts.end()+1), last: Seq(segment.Last()),
			inFile: int64(segment.Entries()), at: w.section(statecodec.KindBuffer)}
		if w.partOf(segment) == nil && p.first <= p.last {
			w.parts.insert(p)
		}
	}
	for _, p := range w.parts {
		s.parts, s.taken = append(s.parts, *p), append(s.taken, p)
	}
	s.core = w.core.Snapshot()
	if !final {
		w.merge()
	}
	return s
}

// Len is how many entries it shows.
func (s *Snapshot[E]) Len() int { return int(s.core.Held.Entries) + s.wait }

// Bytes is what they have on the wire, as far as it is known: without what an earlier life left and is not in memory yet.
func (s *Snapshot[E]) Bytes() int64 { return s.core.Held.Bytes + s.spilled }

// Final: it was taken by Close, when nothing was sent any more. To send its
// entries again makes possible duplicates only of those that are Unsure.
func (s *Snapshot[E]) Final() bool { return s.final }

// Held is one unsettled entry.
type Held[E any] struct {
	ID       ID
	Entry    E
	Attempts int  // that ended without delivery
	Unsure   bool // the last attempt may have stored it
	Class    string
	Err      error // why it was given up; nil: it was not
}

// All yields the entries in arrival order. An error ends it: what lies on disk could not be read.
func (s *Snapshot[E]) All() iter.Seq2[Held[E], error] {
	return func(yield func(Held[E], error) bool) {
		for h, err := range s.all() {
			out := Held[E]{ID: h.ID, Entry: h.Entry, Attempts: h.Attempts, Unsure: h.Unsure}
			if h.Death != nil {
				out.Class, out.Err = h.Death.Class, h.Death.Err
			}
			if !yield(out, err) {
				return
			}
		}
	}
}

func (s *Snapshot[E]) all() iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		for h := range s.core.All() {
			if !yield(h, nil) {
				return
			}
		}
		for h, err := range s.waiting() {
			if !yield(h, err) {
				return
			}
		}
	}
}

// waiting yields the entries that were not in memory.
func (s *Snapshot[E]) waiting() iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		after := s.core.Fed
		for _, p := range s.parts {
			if p.restored == nil || p.last <= s.core.Fed {
				continue
			}
			for h, err := range s.unfed(s.w.readerOf(p, s.core.Fed)) {
				if !yield(h, err) || err != nil {
					return
				}
			}
		}
		for _, segment := range s.segments {
			if Seq(segment.Last()) <= s.core.Fed {
				continue // it may be one that the disk can't complete
			}
			for h, err := range s.inBlocks(after, Seq(segment.First())-1) {
				if !yield(h, err) || err != nil {
					return
				}
			}
			for h, err := range s.unfed(s.w.readerOfSegment(segment, after)) {
				if !yield(h, err) || err != nil {
					return
				}
			}
			after = max(after, Seq(segment.Last()))
		}
		for h, err := range s.inBlocks(after, s.core.Next) {
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// unfed yields what a reader reads.
func (s *Snapshot[E]) unfed(r *statecodec.HeldReader) iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		defer r.Close()
		var e statecodec.Entry
		for {
			if err := r.Next(&e); err == io.EOF {
				return
			} else if err != nil {
				if r.Held != nil {
					err = &FileError{r.Held.File, err}
				}
				yield(core.Held[E]{}, err)
				return
			}
			h, err := s.w.held(&e, r.Section.CodecVersion)
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// inBlocks yields what only blocks hold, behind one sequence and up to another.
func (s *Snapshot[E]) inBlocks(after, last Seq) iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		for _, b := range s.blocks {
			if Seq(b.Last) <= after || Seq(b.First) > last {
				continue
			}
			for h, err := range s.w.inBlock(b) {
				if err == nil && (h.Seq <= after || h.Seq > last) {
					continue
				}
				if !yield(h, err) || err != nil {
					return
				}
			}
		}
	}
}

// Encode writes the snapshot whole, as sections of the writer's name: what the writer
// knows, and all entries. [Snapshot.Changes] writes less.
func (s *Snapshot[E]) Encode(enc *statecodec.Encoder) error {
	if err := s.encodeWriter(enc); err != nil {
		return err
	}
	if err := enc.Begin(s.w.section(statecodec.KindBuffer)); err != nil {
		return err
	}
	f := s.w.framer()
	views := s.core.Views()
	for k := range views {
		for i := range unsettled(&views[k], 1, s.core.Fed) {
			e, err := f.ofView(&views[k], i)
			if err == nil {
				err = enc.Entry(e)
			}
			if err != nil {
				return err
			}
		}
	}
	for h, err := range s.waiting() {
		var e *statecodec.Entry
		if err == nil {
			e, err = f.of(&h)
		}
		if err == nil {
			err = enc.Entry(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writerCodec marks the section of what a writer knows besides its entries: a blob of the next
// sequence, and one of the hashes of the keys whose entries go to the dead letters.
const writerCodec = "spillway.writer"

func (s *Snapshot[E]) encodeWriter(enc *statecodec.Encoder) error {
	if s.w.traits.Codec == nil {
		return fmt.Errorf("writer %s: encode: the traits have no codec", s.w.name)
	}
	err := enc.Begin(statecodec.Section{Operator: s.w.name, Kind: statecodec.KindBuffer, Codec: writerCodec, CodecVersion: 1})
	if err != nil {
		return err
	}
	if err := enc.Blob(binary.LittleEndian.AppendUint64(nil, uint64(s.core.Next))); err != nil {
		return err
	}
	for hashes := s.core.Divert; len(hashes) > 0; {
		n := min(len(hashes), statecodec.DefaultEntryBytes/8)
		blob := make([]byte, 0, 8*n)
		for _, hash := range hashes[:n] {
			blob = binary.LittleEndian.AppendUint64(blob, hash)
		}
		if err := enc.Blob(blob); err != nil {
			return err
		}
		hashes = hashes[n:]
	}
	return nil
}

// sectionOf is a section of entries like one of what an older file holds.
func (w *Writer[E]) sectionOf(s statecodec.Section) statecodec.Section {
	s.Kind = statecodec.KindBuffer
	return s
}

// section is one of the writer's, for entries that its codec writes now.
func (w *Writer[E]) section(kind statecodec.Kind) statecodec.Section {
	s := statecodec.Section{Operator: w.name, Kind: kind}
	if c := w.traits.Codec; c != nil { // without one nothing is written
		s.Codec, s.CodecVersion = c.ID(), c.Version()
	}
	if w.traits.Key != nil {
		s.KeyGroups = statecodec.DefaultKeyGroups
	}
	return s
}

// Close lets go of the memory and the files that the snapshot keeps. Closing twice is harmless.
func (s *Snapshot[E]) Close() {
	if s.closed {
		return
	}
	s.closed = true
	for _, segment := range s.segments {
		segment.Unpin()
	}
	w := s.w
	// Refused only when the writer is closed, and its memory goes with it.
	_ = w.ex.Execute("snapshot closed", func() {
		w.core.Release(s.core)
		w.pump()
	})
	if s.final {
		w.closeLog()
	}
}
