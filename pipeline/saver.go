package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
	"github.com/spillway-go/spillway/stream"
)

// saver takes checkpoints: at an interval, and a last one. Nil: there is no state.
type saver[E any] struct {
	State
	history *checkpoint.History
	job     checkpoint.Job
	writer  string // its name in the state
	begun   time.Time
	saving  bool
	saved   footprint // when the newest was taken
	failed  int       // checkpoints in a row
	err     error     // why no more can be taken
	swept   time.Time

	from    *checkpoint.Checkpoint // that this life began with; nil: none
	release func()                 // of it, while it is being taken back
	reads   context.Context        // that its files are read under
	opened  func() bool            // from now on a stop does not end that
	foreign bool                   // its files are not ours, and no checkpoint has copies of them yet
	own     files                  // that the newest checkpoint of this life names, by the names that the writer knows
	before  files                  // that the one before it does: a snapshot that Close took meanwhile may know those only
	hold    func()                 // keeps the newest until the next one is booked

	mu     sync.Mutex             // guards what follows, which the writer's readers look at
	copies files                  // of its files, by their names there
	newest *checkpoint.Checkpoint // that names the copies
}

// files are data files by the names that the writer knows them by.
type files map[string]checkpoint.File

// footprint tells whether anything has happened between two moments.
type footprint struct{ read, broken, restored, delivered, dead, rejected int64 }

// CheckpointError says that so many checkpoints in a row have failed that the job ends.
type CheckpointError struct {
	Failed int
	Err    error // why the last one did
}

func (e *CheckpointError) Error() string {
	return fmt.Sprintf("%d checkpoints in a row have failed, above the limit of state.tolerate: %v", e.Failed, e.Err)
}

// Unwrap is why the last one failed.
func (e *CheckpointError) Unwrap() error { return e.Err }

func openState[E any](r *Runner[E], writer string) (*saver[E], error) {
	s := r.job.State
	job := checkpoint.Job{Name: r.job.Name, Instance: r.job.Instance}
	h, err := checkpoint.Open(r.reading, s.Store, job, checkpoint.Options{Retained: s.Retained, Program: s.Program, Logger: r.log})
	if err != nil {
		return nil, err
	}
	return &saver[E]{opened: func() bool { return true }, State: s, history: h, job: h.Job(), writer: writer, own: files{}}, nil
}

// start plans the first checkpoint.
func (s *saver[E]) start(r *Runner[E]) error {
	if s == nil {
		return nil
	}
	s.opened()
	s.saved = s.look(r)
	return s.plan(r)
}

func (s *saver[E]) plan(r *Runner[E]) error {
	wait := s.Interval
	if !s.begun.IsZero() {
		wait = max(s.MinPause, s.Interval-time.Since(s.begun))
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

// contents is what a checkpoint is made of.
type contents[E any] struct {
	positions []stream.Split
	snap      *asyncsink.Snapshot[E] // nil: nothing is held, or the source gives it again
	entries   int
	final     bool
}

// now is what a checkpoint of this moment holds: position and writer in one.
func (s *saver[E]) now(r *Runner[E], snap *asyncsink.Snapshot[E]) contents[E] {
	c := contents[E]{positions: r.positions.clone().splits, snap: snap, final: snap == nil || snap.Final()}
	if snap != nil && r.replays() {
		snap.Close()
		c.positions, c.snap = r.lowWater(), nil
	}
	if c.snap != nil {
		c.entries = c.snap.Len()
	}
	return c
}

// take reads position and writer in one moment, and writes them beside the loop.
func (s *saver[E]) take(r *Runner[E]) {
	now := s.look(r)
	if now == s.saved || s.err != nil || r.letters.failed() != nil || r.writer.Err() != nil {
		_ = s.plan(r) // refused only when the run is over
		return
	}
	snap, err := r.writer.Snapshot()
	if err != nil {
		return // closed: the last checkpoint is finish's
	}
	c := s.now(r, snap)
	s.saving = true
	go func() {
		ctx, cancel := context.WithTimeout(r.hard, s.Timeout)
		defer cancel()
		w, err := s.write(ctx, c, func(ctx context.Context) error { return r.works(ctx) })
		if c.snap != nil {
			c.snap.Close()
		}
		r.execute("checkpoint written", func() { s.done(r, w, c, now, err) })
		s.sweep(ctx, r)
		r.execute("checkpoint ended", func() {
			s.saving = false
			_ = s.plan(r)
		})
	}()
}

// works asks the loop whether the writer still works: a failure of the sink fails the checkpoint
// that is being taken, not the one after it.
func (r *Runner[E]) works(ctx context.Context) error {
	answer := make(chan error, 1)
	r.execute("checkpoint asks for failures", func() { answer <- r.writer.Err() })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// done books a checkpoint.
func (s *saver[E]) done(r *Runner[E], w *written, c contents[E], look footprint, err error) {
	if err != nil {
		s.failed++
		r.log.Error("checkpoint failed: the one before it stays the newest", "in_a_row", s.failed, "error", err)
		switch {
		case errors.As(err, new(*checkpoint.StaleEpochError)):
			s.err = err
		case s.Tolerate > 0 && s.failed > s.Tolerate:
			s.err = &CheckpointError{s.failed, err}
		}
		return
	}
	s.failed, s.saved = 0, look
	s.took(r, w, c)
	if w := r.writer.Stats(); w.Restored.Entries >= w.Found {
		s.letGo()
	}
}

// letGo is called when the checkpoint that this life began with is read no more.
func (s *saver[E]) letGo() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}

func (s *saver[E]) took(r *Runner[E], w *written, c contents[E]) {
	s.before, s.own = s.own, w.own
	if s.hold != nil {
		s.hold()
	}
	s.hold = s.history.Retain(w.ID)
	if s.foreign {
		s.foreign = false
		s.mu.Lock()
		s.copies, s.newest = w.copies, w.Checkpoint
		s.mu.Unlock()
		s.letGo() // of the originals
	}
	r.log.Info("checkpoint", "id", w.ID, "entries", c.entries)
}

const (
	sweepEvery = 10 * time.Minute
	sweepFor   = 2 * time.Second // then the next checkpoint is more urgent, and the rest comes after it
)

// sweep removes, now and then, what crashes left.
func (s *saver[E]) sweep(ctx context.Context, r *Runner[E]) {
	if !s.swept.IsZero() && time.Since(s.swept) < sweepEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepFor)
	defer cancel()
	n, err := s.history.Sweep(ctx)
	if ctx.Err() == nil {
		s.swept = time.Now()
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("files that no checkpoint names could not be removed", "error", err)
	} else if n > 0 {
		r.log.Info("files that no checkpoint names were removed", "files", n)
	}
}

// wait returns when no checkpoint is being taken.
func (s *saver[E]) wait(r *Runner[E]) error {
	for s.saving {
		if err := r.loop.Yield(background); err != nil {
			return err
		}
	}
	return nil
}

// last writes the final checkpoint: left is nil when everything is settled.
func (s *saver[E]) last(r *Runner[E], left *asyncsink.Snapshot[E]) (entries int, err error) {
	if err := s.wait(r); err != nil {
		return 0, err
	}
	s.letGo() // the writer is closed
	c := s.now(r, left)
	ctx, cancel := context.WithTimeout(r.saving, s.Timeout)
	defer cancel()
	w, err := s.write(ctx, c, func(context.Context) error { return nil })
	if err != nil {
		return 0, err
	}
	s.took(r, w, c)
	s.sweep(ctx, r)
	return c.entries, nil
}

// written is a checkpoint that is complete.
type written struct {
	*checkpoint.Checkpoint
	own    files
	copies files // of the files of another's, by their names there
}

// write makes a checkpoint. Just before it is published it asks whether it still may be.
func (s *saver[E]) write(ctx context.Context, c contents[E], ask func(context.Context) error) (*written, error) {
	out := &written{own: files{}, copies: files{}}
	var changes *asyncsink.Changes[E]
	var state checkpoint.File
	check, err := s.history.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) (err error) {
		if c.snap != nil {
			if changes, err = c.snap.Changes(ctx, &sharing[E]{s, d, out}); err != nil {
				return err
			}
		}
		state, err = d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error { return s.encode(w, d, c, changes) })
		if err != nil {
			return err
		}
		d.Describe(describe(s.writer, c, changes))
		return ask(ctx)
	})
	if err != nil {
		return nil, err
	}
	out.Checkpoint, out.own[state.Name] = check, state
	if changes != nil {
		changes.Saved(state.Name)
	}
	return out, nil
}

func describe[E any](writer string, c contents[E], changes *asyncsink.Changes[E]) checkpoint.Description {
	d := checkpoint.Description{Final: c.final, Entries: uint64(c.entries)}
	d.Operators = []checkpoint.Operator{{Name: sourceOperator, Kind: statecodec.KindSource.String(), Codec: positionsCodec}}
	if changes != nil {
		section := changes.Section()
		d.Operators = append(d.Operators, checkpoint.Operator{
			Name: writer, Kind: section.Kind.String(), Codec: section.Codec, CodecVersion: section.CodecVersion,
			KeyGroups: section.KeyGroups, Entries: uint64(c.entries), Bytes: uint64(c.snap.Bytes()),
		})
		d.Written = uint64(changes.Written())
		if n := section.KeyGroups; n > 0 {
			d.KeyGroups = checkpoint.KeyGroups{First: 0, Last: n - 1, Of: n}
		}
	}
	return d
}

func (s *saver[E]) encode(w io.Writer, d *checkpoint.Draft, c contents[E], changes *asyncsink.Changes[E]) error {
	enc, err := statecodec.NewEncoder(w, statecodec.Header{
		Job: s.job.Name, Instance: s.job.Instance, Checkpoint: d.ID(), Epoch: d.Epoch(),
		Time: time.Now().UnixNano(), Final: c.final,
	})
	if err != nil {
		return err
	}
	if err := encodePositions(enc, c.positions); err != nil {
		return err
	}
	if changes != nil {
		if err := changes.Encode(enc); err != nil {
			return err
		}
	}
	return enc.Close()
}

// sharing gives the writer's files to a draft.
type sharing[E any] struct {
	s   *saver[E]
	d   *checkpoint.Draft
	out *written
}

// Share implements asyncsink.Files.
func (x *sharing[E]) Share(ctx context.Context, f asyncsink.File) (string, error) {
	got, err := x.share(ctx, f)
	if err != nil {
		return "", err
	}
	x.out.own[got.Name] = got
	return got.Name, nil
}

func (x *sharing[E]) share(ctx context.Context, f asyncsink.File) (checkpoint.File, error) {
	if f.Name == "" {
		return x.d.Import(ctx, f.Path, checkpoint.File{Size: f.Size, CRC32C: checkpoint.CRC(f.CRC32C), Entries: uint64(f.Entries)})
	}
	if x.s.foreign { // no checkpoint of ours has been complete, so that this is a file of the one we began with
		got, err := x.d.CopyFrom(ctx, x.s.from, checkpoint.File{Name: f.Name})
		x.out.copies[f.Name] = got
		return got, err
	}
	own, ok := x.s.own[f.Name]
	if !ok {
		own, ok = x.s.before[f.Name]
	}
	if !ok {
		return own, fmt.Errorf("file %s is in no checkpoint of this job", f.Name)
	}
	return own, x.d.Share(own)
}

// broken is why no more checkpoints can be taken.
func (s *saver[E]) broken() error {
	if s == nil {
		return nil
	}
	return s.err
}

func (s *saver[E]) close() error {
	if s == nil {
		return nil
	}
	return s.history.Close()
}
