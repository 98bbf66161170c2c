package pipeline

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/stream"
)

// Runner runs one job once.
type Runner[E any] struct {
	job    Job[E]
	log    *slog.Logger
	loop   mailbox.Loop
	timers *mailbox.Timers
	writer *asyncsink.Writer[E]
	public atomic.Pointer[asyncsink.Writer[E]] // for Stats
	read   atomic.Int64
	broken atomic.Int64 // durably in the dead letters

	state      *saver[E]     // nil: no state
	letters    *letters      // nil: no dead letters
	marks      *stream.Marks // nil: checkpoints hold what is held
	ranges     []asyncsink.Range
	first      asyncsink.Seq // that this life gave; 0: none yet
	oldSettled int64         // entries of an earlier life that are settled

	reading context.Context // ends when reading is to end
	endRead context.CancelFunc
	hard    context.Context // ends when everything is to end
	endHard context.CancelFunc
	saving  context.Context // ends when not even what is left is to be saved
	endSave context.CancelFunc
	stops   atomic.Int32

	lot       []stream.Record // handed over by the reader, not yet written
	free      chan struct{}   // lets the reader read the next lot
	readErr   error
	restored  int64
	positions positions // behind the last record taken
}

// New checks a job, all faults at once.
func New[E any](j Job[E]) (*Runner[E], error) {
	if err := j.validate(); err != nil {
		return nil, err
	}
	if j.Deadline == 0 {
		j.Deadline = 30 * time.Second
	}
	j.State = j.State.withDefaults()
	r := &Runner[E]{job: j, log: j.Logger, free: make(chan struct{}, 1)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.reading, r.endRead = context.WithCancel(context.Background())
	r.hard, r.endHard = context.WithCancel(context.Background())
	r.saving, r.endSave = context.WithCancel(context.Background())
	return r, nil
}

// Stop ends reading, drains until the deadline and saves the rest; called
// again, it saves and ends at once; a third time, it no longer waits for a store that
// does not take what is left. Any goroutine may call it.
func (r *Runner[E]) Stop() {
	n := r.stops.Add(1) // before what it ends is seen to have ended
	r.endRead()
	switch {
	case n > 2:
		r.endSave()
		fallthrough
	case n > 1:
		r.endHard()
	}
	_ = r.loop.Execute("stop", func() {}) // wakes the loop; refused when the run is over
}

// Stats returns the job's counters. Any goroutine may call it at any time.
func (r *Runner[E]) Stats() Stats {
	s := Stats{Read: r.read.Load(), Broken: r.broken.Load()}
	if w := r.public.Load(); w != nil {
		s.Stats = w.Stats()
	}
	return s
}

// Run runs the job to its end, which is that of its source, of a Stop, of ctx
// (as two Stops) or of what can still work. It is called once.
func (r *Runner[E]) Run(ctx context.Context) Result {
	defer context.AfterFunc(ctx, func() { r.Stop(); r.Stop() })()
	defer r.endSave()
	defer r.endHard()
	defer r.endRead()
	r.timers = mailbox.NewTimers(&r.loop, nil)
	if err := r.open(); err != nil {
		if r.stops.Load() > 0 && errors.Is(err, context.Canceled) {
			return Result{Outcome: Stopped, Restored: r.restored, Left: r.restored, Err: r.shut(nil)}
		}
		return Result{Outcome: Failed, Err: r.state.explain(r.shut(err))}
	}
	readerDone := make(chan struct{})
	go func() {
		defer close(readerDone)
		r.readLots()
	}()
	err := r.work()
	r.endRead()
	<-readerDone
	result := r.finish(errors.Join(err, r.keepTheRest()))
	result.Err = r.state.explain(r.shut(result.Err))
	if result.Err != nil {
		result.Outcome = Failed
	}
	return result
}

func (r *Runner[E]) shut(err error) error {
	return errors.Join(err, r.job.Source.Close(), r.state.close())
}

// open takes the state, what it holds, the source and the writer, in that order.
func (r *Runner[E]) open() error {
	c := r.job.Writer
	c.Executor, c.Logger = &r.loop, r.log
	if c.Name == "" {
		c.Name = "sink"
	}
	restored := 0
	if r.job.State.Store != nil {
		s, err := openState(r, c.Name)
		if err != nil {
			return err
		}
		r.state = s
		c.Restore, restored, err = s.restore(r.reading, &r.positions, r.log)
		if err != nil {
			return err
		}
		r.restored = int64(restored)
	}
	r.spillInto(&c.Spill)
	if !r.job.Source.Replayable() {
		r.log.Warn("the source cannot be replayed: a record is safe once a checkpoint that holds it is complete, and what was read after the last one is lost in a crash")
	}
	if r.job.DeadLetters != nil {
		r.letters = newLetters(r.job.DeadLetters, r.log)
		c.DeadLetters, c.Settlement = r.letters, true
	}
	if r.job.State.Recover == Replay {
		r.marks, c.Settlement = &stream.Marks{}, true
	}
	if err := r.assign(); err != nil {
		return err
	}
	w, err := r.job.Open(r.reading, c)
	if err != nil {
		return err
	}
	r.writer = w
	r.public.Store(w)
	return r.state.start(r)
}

// assign gives the source its splits, each from where the last checkpoint was.
func (r *Runner[E]) assign() error {
	splits, err := r.job.Source.Discover(r.reading)
	if err != nil {
		return err
	}
	if r.job.Source.Replayable() {
		if unknown := r.positions.apply(splits); len(unknown) > 0 {
			return &UnknownSplitError{unknown}
		}
	}
	if r.marks != nil {
		r.marks.Assign(splits...)
	}
	return r.job.Source.Assign(splits)
}

// spillInto gives a spill log without a folder one beside the checkpoints, if they are in a folder.
func (r *Runner[E]) spillInto(s *asyncsink.Spill) {
	local, ok := r.job.State.Store.(interface{ Path(name string) string })
	if s.Dir != "" || s.Bytes == 0 || !ok {
		return
	}
	s.Dir = local.Path(path.Join(r.job.Name, r.state.job.Instance, "spill"))
}

// keepTheRest takes what a source that can't be read again has given already, or
// holds in its buffers, above the caps on what is held: it is saved with the rest.
func (r *Runner[E]) keepTheRest() error {
	for ran := true; ran; ran, _ = r.loop.TryYield() { // the reader's last lot may wait there
	}
	if r.job.Source.Replayable() {
		return nil
	}
	lot := make([]stream.Record, lotLen)
	for asked := false; ; asked = true {
		for i := range r.lot {
			err := r.keep(&r.lot[i])
			if errors.As(err, new(*BrokenRecordError)) { // without dead letters there is no place for it
				r.log.Error("a record that cannot be read again is dropped", "error", err)
			} else if err != nil {
				return err
			}
		}
		if r.readErr != nil && (asked || !errors.Is(r.readErr, context.Canceled)) {
			return nil
		}
		n, err := r.job.Source.Read(r.reading, lot)
		r.lot, r.readErr = lot[:n], err
	}
}

func (r *Runner[E]) keep(rec *stream.Record) error {
	e, err := r.job.Convert(*rec)
	if err != nil {
		err = r.reject(rec, "broken", err)
	} else {
		err = r.taken(rec, func() (asyncsink.Seq, error) { return r.writer.Keep(e) })
	}
	if err == nil {
		r.positions.set(rec.Split, rec.Position)
		r.read.Add(1)
	}
	return err
}

const lotLen = 512

// readLots is the reader's goroutine: it hands over one lot at a time, since
// records are valid until the next Read only.
func (r *Runner[E]) readLots() {
	lot := make([]stream.Record, lotLen)
	for {
		n, err := r.job.Source.Read(r.reading, lot)
		if r.loop.Execute("records read", func() { r.handOver(lot[:n], err) }) != nil || err != nil {
			return
		}
		select {
		case <-r.free:
		case <-r.reading.Done():
			return
		}
	}
}

func (r *Runner[E]) handOver(lot []stream.Record, err error) {
	r.lot, r.readErr = lot, err
	if len(lot) == 0 {
		r.free <- struct{}{}
	}
}

// work takes records until there are no more, and then waits until all is settled.
func (r *Runner[E]) work() error {
	ended := false
	for {
		switch {
		case r.reading.Err() != nil:
			return r.unreadError()
		case r.writer.Err() != nil:
			return r.writer.Err()
		case r.letters.failed() != nil:
			return r.letters.failed()
		case r.state.broken() != nil:
			return r.state.broken()
		case len(r.lot) > 0:
			if err := r.write(); err != nil {
				return err
			}
			continue
		case r.readErr != nil && r.readErr != io.EOF:
			return r.unreadError()
		case r.readErr == io.EOF && !ended:
			ended = true
			if err := r.writer.EndOfInput(); err != nil {
				return err
			}
		}
		if err := r.settle(); err != nil {
			return err
		}
		if ended && r.idle() {
			return nil
		}
		if err := r.loop.Yield(r.reading); err != nil && r.reading.Err() == nil {
			return err
		}
	}
}

// unreadError is the source's error, unless it only says that reading was ended.
func (r *Runner[E]) unreadError() error {
	if r.readErr == io.EOF || r.reading.Err() != nil && errors.Is(r.readErr, context.Canceled) {
		return nil
	}
	return r.readErr
}

// idle: everything that was read is settled.
func (r *Runner[E]) idle() bool { return r.writer.Held() == 0 && r.letters.len() == 0 }

// write takes the records of a lot, one after the other.
func (r *Runner[E]) write() error {
	for len(r.lot) > 0 {
		if err := r.letters.hold(r); err != nil {
			if r.reading.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // as below
			}
			return err
		}
		rec := &r.lot[0]
		e, err := r.job.Convert(*rec)
		if err != nil {
			err = r.reject(rec, "broken", err)
		} else {
			err = r.taken(rec, func() (asyncsink.Seq, error) { return r.writer.Write(r.reading, e) })
		}
		switch {
		case r.reading.Err() != nil && errors.Is(err, context.Canceled):
			return nil // not taken; work sees that reading has ended
		case err != nil:
			return err
		}
		r.positions.set(rec.Split, rec.Position)
		r.read.Add(1)
		r.lot = r.lot[1:]
	}
	r.free <- struct{}{}
	return r.settle()
}

// taken notes an entry that the writer has accepted, or sends one that is too large to the dead letters.
func (r *Runner[E]) taken(rec *stream.Record, accept func() (asyncsink.Seq, error)) error {
	seq, err := accept()
	var large *asyncsink.EntryTooLargeError
	if errors.As(err, &large) {
		return r.reject(rec, "too_large", err)
	}
	if err == nil {
		r.letters.add(seq, rec)
		if r.marks != nil {
			r.marks.Add(uint64(seq), rec.Split, rec.Position)
		}
		if r.first == 0 {
			r.first = seq
		}
	}
	return err
}

func (r *Runner[E]) reject(rec *stream.Record, class string, err error) error {
	if r.letters == nil {
		return &BrokenRecordError{rec.Split, append([]byte(nil), rec.Position...), class, err}
	}
	r.letters.reject(r, rec, class, err)
	return nil
}

// settle lets the books of the dead letters and of the low-water marks follow those of the writer.
func (r *Runner[E]) settle() error {
	if r.letters != nil || r.marks != nil {
		r.ranges = r.writer.AppendSettled(r.ranges[:0])
		r.letters.settle(r.ranges)
		for _, x := range r.ranges {
			if r.marks != nil {
				r.marks.Settle(uint64(x.First), uint64(x.Last))
			}
			last := x.Last // a range may reach from an earlier life's into this one's
			if r.first > 0 {
				last = min(last, r.first-1)
			}
			if x.First <= last {
				r.oldSettled += int64(last-x.First) + 1
			}
		}
	}
	return r.letters.failed()
}
