package asyncsink

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/statecodec"
)

// Snapshot is everything that was held at one moment: buffered, in flight, and
// given up without the dead-letter output's word. Taking one waits for no answer
// and copies no entry; it is written beside the writer, on any one goroutine.
// Until Close the memory of what it shows is kept.
type Snapshot[E any] struct {
	w      *Writer[E]
	core   *core.Snapshot[E]
	rest   *backlog[E] // restored entries that were not taken back yet
	final  bool
	closed bool
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
	return &Snapshot[E]{w: w, core: w.core.Snapshot(), rest: w.backlog.rest(), final: final}
}

// Len is how many entries it shows.
func (s *Snapshot[E]) Len() int { return int(s.core.Held.Entries) + s.rest.len() }

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

// All yields the entries in arrival order; what an earlier life left and is not taken back yet comes last. An
// error ends it: a checkpoint of that earlier life could not be read.
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
		for h, err := range s.rest.all() {
			if !yield(h, err) {
				return
			}
		}
	}
}

// Encode writes the snapshot as sections of the writer's name: the diverted
// keys, the given-up entries, the others.
func (s *Snapshot[E]) Encode(enc *statecodec.Encoder) error {
	if s.w.traits.Codec == nil {
		return fmt.Errorf("writer %s: encode: the traits have no codec", s.w.name)
	}
	if err := s.encodeDivert(enc); err != nil {
		return err
	}
	if s.anyDead() { // else there is no such section
		if err := s.encode(enc, statecodec.KindDead); err != nil {
			return err
		}
	}
	return s.encode(enc, statecodec.KindBuffer)
}

// anyDead looks at the entries, since the ledger counts as unwritten only what
// an output is to take.
func (s *Snapshot[E]) anyDead() bool {
	for h, err := range s.all() {
		if err != nil || h.Death != nil {
			return true
		}
	}
	return false
}

func (s *Snapshot[E]) encodeDivert(enc *statecodec.Encoder) error {
	if len(s.core.Divert) == 0 {
		return nil
	}
	blob := make([]byte, 0, 8*len(s.core.Divert))
	for _, hash := range s.core.Divert {
		blob = binary.LittleEndian.AppendUint64(blob, hash)
	}
	err := enc.Begin(statecodec.Section{Operator: s.w.name, Kind: statecodec.KindBuffer, Codec: divertCodec})
	if err != nil {
		return err
	}
	return enc.Blob(blob)
}

// divertCodec marks the section of the keys whose entries go to the dead letters.
const divertCodec = "spillway.divert"

func (s *Snapshot[E]) encode(enc *statecodec.Encoder, kind statecodec.Kind) error {
	t, groups := s.w.traits, uint32(0)
	if t.Key != nil {
		groups = statecodec.DefaultKeyGroups
	}
	err := enc.Begin(statecodec.Section{
		Operator: s.w.name, Kind: kind, Codec: t.Codec.ID(), CodecVersion: t.Codec.Version(), KeyGroups: groups,
	})
	if err != nil {
		return err
	}
	var out statecodec.Entry
	var data []byte
	for h, err := range s.all() {
		if err != nil {
			return err
		}
		if (h.Death != nil) != (kind == statecodec.KindDead) {
			continue
		}
		if data, err = t.Codec.AppendEncode(data[:0], h.Entry); err != nil {
			return fmt.Errorf("writer %s: encode entry %d: %w", s.w.name, h.ID.Seq, err)
		}
		out = statecodec.Entry{
			Writer: h.ID.Writer, Seq: uint64(h.ID.Seq), Attempts: uint16(min(h.Attempts, 1<<16-1)),
			Born: int64(h.Born), Unsure: h.Unsure, Data: data,
		}
		if groups > 0 {
			out.KeyGroup = statecodec.KeyGroup(statecodec.KeyHash(t.Key(h.Entry)), groups)
		}
		if h.Death != nil {
			out.Class, out.Cause, out.DeadAt = h.Death.Class, h.Death.Err.Error(), int64(h.Death.Time)
		}
		if err := enc.Entry(&out); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the memory that the snapshot keeps. Closing twice is harmless.
func (s *Snapshot[E]) Close() {
	if s.closed {
		return
	}
	s.closed = true
	w := s.w
	// Refused only when the writer is closed, and its memory goes with it.
	_ = w.ex.Execute("snapshot closed", func() {
		w.core.Release(s.core)
		w.pump()
	})
}
