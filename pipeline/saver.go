package pipeline

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
	"github.com/spillway-go/spillway/stream"
)

// saver takes checkpoints: at an interval, and a last one. Nil: there is no state.
type saver[E any] struct {
	dir      *checkpoint.Dir
	job      checkpoint.Job
	interval time.Duration
	id       uint64 // of the newest
	release  func() // of the checkpoint that is being taken back
	begun    time.Time
	saving   bool
	saved    footprint // when the newest was taken
}

// footprint tells whether anything has happened between two moments.
type footprint struct{ read, broken, restored, delivered, dead, rejected int64 }

func openState[E any](r *Runner[E]) (*saver[E], error) {
	job := checkpoint.Job{Name: r.job.Name, Instance: r.job.Instance}
	dir, err := checkpoint.OpenDir(r.job.State.Dir, job)
	if err != nil {
		return nil, err
	}
	return &saver[E]{dir: dir, job: job, interval: r.job.State.Interval}, nil
}

const (
	sourceOperator = "source"
	positionsCodec = "spillway.positions"
)

// restore reads the newest checkpoint: the positions, and what the writer is to take back.
func (s *saver[E]) restore(writer string, p *positions, log func(id uint64, entries int)) (*asyncsink.Restore, int, error) {
	c, err := s.dir.Latest()
	if err != nil || c == nil {
		return nil, 0, err
	}
	s.id = c.ID
	s.release = s.dir.Retain(c.ID)
	file, err := c.Open()
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	entries, err := readCheckpoint(file, writer, p)
	if errors.As(err, new(*UnknownOperatorError)) {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, &checkpoint.DamagedError{Path: c.Path, Err: err,
			Advice: "move it away to go back to the checkpoint before it, at the price of duplicates"}
	}
	log(c.ID, entries)
	return &asyncsink.Restore{
		Checkpoint: c.ID,
		Open:       c.Open,
		// The last life closed its writer before it took this one, and no life came between.
		Exact: c.Header.Final && c.Header.Epoch+1 == s.dir.Epoch(),
	}, entries, nil
}

func readCheckpoint(file io.Reader, writer string, p *positions) (entries int, err error) {
	dec, err := statecodec.NewDecoder(file, statecodec.Caps{})
	if err != nil {
		return 0, err
	}
	for {
		section, err := dec.Next()
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return 0, err
		}
		switch {
		case section.Kind == statecodec.KindSource && section.Codec == positionsCodec:
			if err := readPositions(dec, p); err != nil {
				return 0, err
			}
		case section.Kind == statecodec.KindSource && section.Operator != sourceOperator,
			section.Kind != statecodec.KindSource && section.Operator != writer:
			return 0, &UnknownOperatorError{section.Operator, writer}
		case section.Kind == statecodec.KindBuffer || section.Kind == statecodec.KindDead:
			var e statecodec.Entry
			for err = dec.Entry(&e); err == nil; err = dec.Entry(&e) {
				entries++
			}
			if err != io.EOF {
				return 0, err
			}
		}
	}
}

func readPositions(dec *statecodec.Decoder, p *positions) error {
	for {
		blob, err := dec.Blob()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		n, k := binary.Uvarint(blob)
		if k <= 0 || n > uint64(len(blob)-k) {
			return errors.New("a position of the source is malformed")
		}
		p.set(string(blob[k:k+int(n)]), blob[k+int(n):])
	}
}

func encodePositions(enc *statecodec.Encoder, splits []stream.Split) error {
	err := enc.Begin(statecodec.Section{Operator: sourceOperator, Kind: statecodec.KindSource, Codec: positionsCodec})
	for _, s := range splits {
		if err != nil {
			return err
		}
		blob := binary.AppendUvarint(nil, uint64(len(s.ID)))
		err = enc.Blob(append(append(blob, s.ID...), s.Position...))
	}
	return err
}

// start plans the first checkpoint.
func (s *saver[E]) start(r *Runner[E]) error {
	if s == nil {
		return nil
	}
	s.saved = s.look(r)
	return s.plan(r)
}

func (s *saver[E]) plan(r *Runner[E]) error {
	wait := s.interval
	if !s.begun.IsZero() {
		wait = max(0, s.interval-time.Since(s.begun))
	}
	_, err := r.timers.After(wait, "checkpoint", func() {
		s.begun = time.Now()
		if r.letters == nil {
			s.take(r)
			return
		}
		r.letters.whenDurable(func() { s.take(r) })
	})
	return err
}

func (s *saver[E]) look(r *Runner[E]) footprint {
	w := r.writer.Stats()
	return footprint{
		r.read.Load(), r.broken.Load(), w.Restored.Entries, w.Delivered.Entries, w.Dead.Entries, w.Rejected,
	}
}

// take reads position and writer in one moment, and writes them beside the loop.
func (s *saver[E]) take(r *Runner[E]) {
	now := s.look(r)
	if now == s.saved || r.letters.failed() != nil {
		_ = s.plan(r) // refused only when the run is over
		return
	}
	snap, err := r.writer.Snapshot()
	if err != nil {
		return // closed: the last checkpoint is finish's
	}
	s.id++
	s.saving = true
	id, splits := s.id, r.positions.clone().splits
	go func() {
		err := s.write(id, splits, snap)
		snap.Close()
		r.execute("checkpoint written", func() {
			s.saving = false
			if err != nil {
				r.log.Error("checkpoint failed: the one before it stays the newest", "id", id, "error", err)
			} else {
				s.saved = now
				r.log.Info("checkpoint", "id", id, "entries", snap.Len())
				if s.release != nil && r.writer.Stats().Restored.Entries >= r.restored {
					s.release()
					s.release = nil
				}
			}
			_ = s.plan(r)
		})
	}()
}

func (s *saver[E]) write(id uint64, splits []stream.Split, snap *asyncsink.Snapshot[E]) error {
	return s.dir.Write(id, func(out io.Writer) error {
		enc, err := statecodec.NewEncoder(out, statecodec.Header{
			Job: s.job.Name, Instance: s.job.Instance, Checkpoint: id, Epoch: s.dir.Epoch(),
			Time: time.Now().UnixNano(), Final: snap == nil || snap.Final(),
		})
		if err != nil {
			return err
		}
		if err := encodePositions(enc, splits); err != nil {
			return err
		}
		if snap != nil {
			if err := snap.Encode(enc); err != nil {
				return err
			}
		}
		return enc.Close()
	})
}

// last writes the final checkpoint: left is nil when everything is settled.
func (s *saver[E]) last(r *Runner[E], left *asyncsink.Snapshot[E]) (entries int, err error) {
	for s.saving {
		if err := r.loop.Yield(background); err != nil {
			return 0, err
		}
	}
	s.id++
	if left != nil {
		entries = left.Len()
	}
	if err := s.write(s.id, r.positions.splits, left); err != nil {
		return 0, err
	}
	r.log.Info("checkpoint", "id", s.id, "entries", entries)
	return entries, nil
}

func (s *saver[E]) close() error {
	if s == nil {
		return nil
	}
	return s.dir.Close()
}
