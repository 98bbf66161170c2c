package asyncsink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spillway-go/spillway/asyncsink/internal/spill"
	"github.com/spillway-go/spillway/statecodec"
)

// Restore is what an earlier life of a writer of the same name left behind. The
// entries are taken back one by one as there is room, before new ones.
type Restore struct {
	// Checkpoint is the id of the checkpoint, handed to the connector.
	Checkpoint uint64
	// Open gives the state, the bytes that an Encoder wrote, from their start. It is called
	// again until all entries are taken back, so the bytes must stay until then.
	Open func() (io.ReadCloser, error)
	// Name is what a [Files] may be asked to share those bytes by. Empty: they are no file of a checkpoint.
	Name string
	// File opens a file that the state shares, by its name. State that [Snapshot.Encode] wrote shares none.
	File func(name string) (io.ReadCloser, error)
	// Exact: nothing was sent after the snapshot was taken, in any life, so that only
	// entries marked as unsure count as possible duplicates. Otherwise all do.
	Exact bool
	// Damaged, when set, tells the writer to go on without what can't be read. It is called for each piece of damage,
	// on another goroutine, and keeps its bytes for a person to look at. Left out, damage stops the writer.
	Damaged func(Damage)
}

// Damage is a piece of a file that could not be read.
type Damage struct {
	File string // its name; empty: the state's own
	statecodec.Damage
}

// StateError says that what is to be restored, or was spilled, can't be read back.
type StateError struct {
	Writer string
	Err    error
}

func (e *StateError) Error() string { return "writer " + e.Writer + ": state: " + e.Err.Error() }

// Unwrap is the cause.
func (e *StateError) Unwrap() error { return e.Err }

// restore reads the state, which also checks it, and begins to take its entries back.
func (w *Writer[E]) restore() error {
	if w.config.Restore == nil {
		return nil
	}
	s := state[E]{w: w}
	if err := s.read(); err != nil {
		return &StateError{w.name, err}
	}
	if err := w.enter("restore"); err != nil { // the connector may tune already
		return err
	}
	defer w.leave()
	q := &w.queue
	for _, p := range s.parts {
		q.left += int64(p.restored.Held.Count())
	}
	w.found = q.left
	q.restored, w.parts = s.parts, append(index(nil), s.parts...)
	w.core.Divert(s.divert)
	w.core.Resume(max(s.next, w.parts.end()+1) - 1)
	w.core.Feed(q.left > 0)
	w.tick() // Open may have taken long
	if q.left > 0 {
		q.readNow() // so that the first of them are on their way when New returns
		if err := w.core.Err(); errors.As(err, new(*StateError)) {
			return err
		}
	}
	w.pump()
	return nil
}

// state is what a snapshot says of a writer.
type state[E any] struct {
	w      *Writer[E]
	dec    *statecodec.Decoder
	parts  []*part
	next   Seq
	divert []uint64
	own    []*part // that lie in the state itself
	spoilt bool    // it is damaged
	inline int64   // entries in them
}

func (s *state[E]) read() error {
	file, err := s.w.config.Restore.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	if s.dec, err = statecodec.NewDecoder(file, statecodec.Caps{}); err != nil {
		return err
	}
	if report := s.w.config.Restore.Damaged; report != nil {
		s.dec.Salvage(func(d statecodec.Damage) {
			s.spoilt = true
			report(Damage{Damage: d})
		})
	}
	for number := 0; ; number++ {
		x, err := s.dec.Next()
		if err == io.EOF {
			return s.check()
		}
		if err != nil {
			return err
		}
		if x.Operator != s.w.name {
			continue
		}
		switch {
		case x.Codec == writerCodec:
			err = s.readWriter()
		case x.Kind == statecodec.KindHeld:
			err = s.readHeld(x)
		case x.Kind == statecodec.KindBuffer:
			err = s.readEntries(x, number)
		default:
			err = fmt.Errorf("section %v: this program knows none of that kind", x)
		}
		if err != nil {
			return err
		}
	}
}

// check: parts ascend and share nothing.
func (s *state[E]) check() error {
	for _, p := range s.own {
		p.inFile = s.inline
		p.spoilt.Store(s.spoilt)
	}
	for i := 1; i < len(s.parts); i++ {
		if a, b := s.parts[i-1], s.parts[i]; a.last >= b.first {
			return fmt.Errorf("%w: entries %d to %d and %d to %d overlap", errMalformed, a.first, a.last, b.first, b.last)
		}
	}
	return nil
}

var errMalformed = errors.New("the state makes no sense")

func (s *state[E]) readWriter() error {
	blob, err := s.dec.Blob()
	if err != nil || len(blob) != 8 {
		return fmt.Errorf("%w: the next sequence: %w", errMalformed, err)
	}
	s.next = Seq(binary.LittleEndian.Uint64(blob))
	for {
		blob, err := s.dec.Blob()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for ; len(blob) >= 8; blob = blob[8:] {
			s.divert = append(s.divert, binary.LittleEndian.Uint64(blob))
		}
	}
}

func (s *state[E]) checkCodec(x statecodec.Section) error {
	codec := s.w.traits.Codec
	if x.Codec != codec.ID() || x.CodecVersion > codec.Version() {
		return fmt.Errorf("entries were written by codec %s version %d, and this program has %s up to version %d: restore with the program that wrote them",
			x.Codec, x.CodecVersion, codec.ID(), codec.Version())
	}
	return nil
}

// readEntries notes which entries a section has; what is in them is read when there is room.
func (s *state[E]) readEntries(x statecodec.Section, number int) error {
	if err := s.checkCodec(x); err != nil {
		return err
	}
	var held, unsure statecodec.BitmapBuilder
	name := s.w.config.Restore.Name
	p := &part{file: name, section: number, at: x, spoilt: new(atomic.Bool), restored: &statecodec.Held{Section: x, File: name, Index: number}}
	var e statecodec.Entry
	for {
		switch err := s.dec.Entry(&e); {
		case err == io.EOF:
			p.restored.Held, err = held.Bitmap()
			if err == nil {
				p.restored.Unsure, err = unsure.Bitmap()
			}
			if err == nil && p.last > 0 {
				s.parts = append(s.parts, p)
				s.own = append(s.own, p)
			}
			return err
		case err != nil:
			return err
		}
		if Seq(e.Seq) <= p.last {
			return fmt.Errorf("%w: entry %d after %d", errMalformed, e.Seq, p.last)
		}
		if p.first == 0 {
			p.first = Seq(e.Seq)
		}
		p.last = Seq(e.Seq)
		held.AddWords(e.Seq, 1, 1)
		if e.Unsure {
			unsure.AddWords(e.Seq, 1, 1)
		}
		s.inline++
		if _, err := s.w.held(&e, x.CodecVersion); err != nil {
			return err
		}
	}
}

// readHeld notes what another file holds.
func (s *state[E]) readHeld(x statecodec.Section) error {
	if err := s.checkCodec(x); err != nil {
		return err
	}
	h, err := s.dec.Held()
	if err != nil {
		return err
	}
	s.parts = append(s.parts, &part{
		file: h.File, section: h.Index, inFile: int64(h.InFile), first: Seq(h.Held.First()), last: Seq(h.Held.Last()),
		at: s.w.sectionOf(x), restored: h, spoilt: new(atomic.Bool),
	})
	return nil
}

// exact: only restored entries that are marked as unsure may have been sent.
func (w *Writer[E]) exact() bool { return w.config.Restore != nil && w.config.Restore.Exact }

// readerOfSegment reads what is in a segment of the log behind a sequence.
func (w *Writer[E]) readerOfSegment(s *spill.Segment, after Seq) *statecodec.HeldReader {
	return &statecodec.HeldReader{
		Section: w.section(statecodec.KindBuffer), First: uint64(after) + 1, Last: s.Last(),
		Open: func() (io.ReadCloser, error) {
			if err := s.Seal(); err != nil {
				return nil, err
			}
			return s.Open()
		},
	}
}

// readerOf reads what a part of an earlier life held when it was restored, behind a sequence.
func (w *Writer[E]) readerOf(p part, after Seq) *statecodec.HeldReader {
	x := p.restored
	r := &statecodec.HeldReader{
		Section: x.Section, Index: x.Index, First: max(uint64(p.first), uint64(after)+1), Last: uint64(p.last), Held: x, Unsure: !w.exact(),
	}
	from := w.config.Restore
	own := x.File == from.Name
	r.Open = func() (io.ReadCloser, error) {
		if own {
			return from.Open()
		}
		if from.File == nil {
			return nil, fmt.Errorf("the state shares file %s: Restore.File is needed to open it", x.File)
		}
		return from.File(x.File)
	}
	if from.Damaged != nil {
		r.Salvage = func(d statecodec.Damage) {
			p.spoilt.Store(true)
			if !own { // the state's own damage was reported as it was read first
				from.Damaged(Damage{File: x.File, Damage: d})
			}
		}
	}
	return r
}
