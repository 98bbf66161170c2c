package asyncsink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/statecodec"
)

// Restore is what an earlier life of a writer of the same name left behind. The
// entries are taken back one by one as there is room, before new ones.
type Restore struct {
	// Checkpoint is the id of the checkpoint, handed to the connector.
	Checkpoint uint64
	// Open gives the bytes that an Encoder wrote, from their start. It is called
	// again for each snapshot that is written before all entries are taken back, so
	// the bytes must stay until then.
	Open func() (io.ReadCloser, error)
	// Exact: nothing was sent after the snapshot was taken, in any life, so that only
	// entries marked as unsure count as possible duplicates. Otherwise all do.
	Exact bool
}

// StateError says that what is to be restored can't be.
type StateError struct {
	Writer string
	Err    error
}

func (e *StateError) Error() string { return "writer " + e.Writer + ": restore: " + e.Err.Error() }

// Unwrap is the cause.
func (e *StateError) Unwrap() error { return e.Err }

// backlog is the part of an earlier life's snapshot that was not taken back
// yet: read as there is room, and again from its source for a new snapshot. A
// nil backlog is empty.
type backlog[E any] struct {
	w      *Writer[E]
	source *Restore
	total  int // entries in the snapshot
	taken  int

	reader io.ReadCloser
	dec    *statecodec.Decoder
	within statecodec.Section
	in     bool          // a section is being read
	peeked *core.Held[E] // read, and found no room
}

// restore opens what is to be taken back and counts it, which also checks it.
func (w *Writer[E]) restore() error {
	r := w.config.Restore
	if r == nil {
		return nil
	}
	b := &backlog[E]{w: w, source: r}
	for _, err := range b.all() {
		if err != nil {
			return &StateError{w.name, err}
		}
		b.total++
	}
	divert, err := b.divert()
	if err != nil {
		return &StateError{w.name, err}
	}
	if err := w.enter("restore"); err != nil { // the connector may tune already
		return err
	}
	defer w.leave()
	w.core.Divert(divert)
	if b.total > 0 {
		w.backlog = b
		w.core.Feed(true)
		w.tick() // Open may have taken long
		w.pump()
	}
	return nil
}

// feed takes back what there is room for. It calls the traits' functions, and a
// panic of theirs is not the affair of whoever happens to make room.
func (w *Writer[E]) feed(room core.Action[E]) {
	defer func() {
		if v := recover(); v != nil {
			w.core.Stop(&StateError{w.name, fmt.Errorf("panic: %v\n%s", v, debug.Stack())})
		}
	}()
	if w.flushes > 0 {
		defer w.core.Flush()
	}
	b := w.backlog
	for n := int64(0); n < room.Entries; n++ {
		h, err := b.next()
		if err == io.EOF {
			w.fed()
			return
		}
		if err != nil {
			w.core.Stop(&StateError{w.name, err})
			return
		}
		if !w.core.Restore(w.now, h) {
			b.peeked = &h
			return
		}
		b.taken++
	}
	if b.taken == b.total {
		w.fed()
	}
}

func (w *Writer[E]) fed() {
	w.backlog.close()
	w.backlog = nil
	w.fedUpTo = w.core.Last()
	w.core.Feed(false)
	w.log.Debug("restored entries were taken back", "entries", w.core.Ledger.Restored.Entries)
}

func (b *backlog[E]) len() int {
	if b == nil {
		return 0
	}
	return b.total - b.taken
}

// rest is what is left at this moment, for a snapshot.
func (b *backlog[E]) rest() *backlog[E] {
	if b == nil {
		return nil
	}
	return &backlog[E]{w: b.w, source: b.source, total: b.total, taken: b.taken}
}

func (b *backlog[E]) close() {
	if b != nil && b.reader != nil {
		_ = b.reader.Close() // nothing was written
		b.reader = nil
	}
}

// all reads the part that is left from its source.
func (b *backlog[E]) all() iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		if b == nil {
			return
		}
		again := &backlog[E]{w: b.w, source: b.source}
		defer again.close()
		for n := 0; ; n++ {
			h, err := again.next()
			if err == io.EOF {
				return
			}
			if n < b.taken && err == nil {
				continue
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// next reads one entry, io.EOF after the last.
func (b *backlog[E]) next() (core.Held[E], error) {
	if b.peeked != nil {
		h := *b.peeked
		b.peeked = nil
		return h, nil
	}
	if b.dec == nil {
		if err := b.open(); err != nil {
			return core.Held[E]{}, err
		}
	}
	for {
		if !b.in {
			if err := b.section(); err != nil {
				return core.Held[E]{}, err
			}
		}
		var e statecodec.Entry
		switch err := b.dec.Entry(&e); {
		case err == io.EOF:
			b.in = false
		case err != nil:
			return core.Held[E]{}, err
		default:
			return b.held(&e)
		}
	}
}

func (b *backlog[E]) open() (err error) {
	if b.reader, err = b.source.Open(); err != nil {
		return err
	}
	b.dec, err = statecodec.NewDecoder(b.reader, statecodec.Caps{})
	return err
}

// section goes to the writer's next section of entries.
func (b *backlog[E]) section() error {
	for {
		s, err := b.dec.Next()
		if err != nil {
			return err
		}
		if s.Operator != b.w.name || s.Codec == divertCodec || s.Kind != statecodec.KindBuffer && s.Kind != statecodec.KindDead {
			continue
		}
		codec := b.w.traits.Codec
		if s.Codec != codec.ID() || s.CodecVersion > codec.Version() {
			return fmt.Errorf("entries were written by codec %s version %d, and this program has %s up to version %d: restore with the program that wrote them",
				s.Codec, s.CodecVersion, codec.ID(), codec.Version())
		}
		b.within, b.in = s, true
		return nil
	}
}

func (b *backlog[E]) held(e *statecodec.Entry) (core.Held[E], error) {
	entry, err := b.w.traits.Codec.Decode(b.within.CodecVersion, e.Data)
	if err != nil {
		return core.Held[E]{}, fmt.Errorf("decode entry %d: %w", e.Seq, err)
	}
	h := core.Held[E]{
		ID: ID{Writer: e.Writer, Seq: Seq(e.Seq)}, Entry: entry, Attempts: int(e.Attempts),
		Born: core.Time(e.Born), Unsure: e.Unsure || !b.source.Exact,
	}
	if b.within.Kind == statecodec.KindDead {
		h.Death = &core.Death{Class: e.Class, Err: errors.New(e.Cause), Time: core.Time(e.DeadAt)}
	}
	return h, nil
}

func (b *backlog[E]) divert() (hashes []uint64, err error) {
	again := &backlog[E]{w: b.w, source: b.source}
	defer again.close()
	if err := again.open(); err != nil {
		return nil, err
	}
	for {
		s, err := again.dec.Next()
		if err == io.EOF {
			return hashes, nil
		}
		if err != nil {
			return nil, err
		}
		if s.Operator != b.w.name || s.Codec != divertCodec {
			continue
		}
		blob, err := again.dec.Blob()
		if err != nil {
			return nil, err
		}
		for ; len(blob) >= 8; blob = blob[8:] {
			hashes = append(hashes, binary.LittleEndian.Uint64(blob))
		}
	}
}
