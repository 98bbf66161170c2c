package asyncsink

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/statecodec"
)

// Seq is an entry's place among all that a writer accepted or took back in its
// life: 1, 2, 3 and so on.
type Seq = core.Seq

// Range is the sequences First to Last, both included.
type Range = core.Range

// Writer holds entries until the destination has them. See the package comment.
//
// By default any goroutine may call its methods. With a [mailbox.Loop] as its
// executor only the loop's owner may, Stats and Settled excepted.
type Writer[E any] struct {
	name   string
	submit RequestSubmitter[E]
	traits Traits[E]
	config Config
	id     [16]byte
	log    *slog.Logger

	ex     mailbox.Executor
	owned  bool // the executor is a Loop: its owner is always inside, so nothing is entered
	mine   *mailbox.Locked
	timers *mailbox.Timers
	clock  clock

	// Touched inside the executor only.
	core     *core.Core[E]
	now      core.Time // read when idle ends, at each mail and every 256 offers
	toLook   int       // offers until the next lookUp
	wake     *mailbox.Timer
	wakeAt   core.Time
	waiting  waiters
	changed  chan struct{} // closed at the next change of what is held; nil: nobody waits for it
	blocked  time.Duration
	queue    queue[E] // what waits on disk
	parts    index    // what lies in files
	frame    *framer[E]
	ended    bool
	closing  bool // Close has begun
	quiet    bool // it has cancelled the attempts: nothing more is sent
	closed   bool
	told     bool // the sticky error was logged
	running  int  // attempts whose submitter has not returned
	lastTurn chan struct{}
	flushes  int // that wait

	snapshots int      // taken so far
	merging   *merging // under way; nil: none
	fed       int64    // entries read from disk since freeSegments looked
	found     int64    // entries that an earlier life left and that could be read
	diskError error    // why the spill log takes nothing
	diskTimer *mailbox.Timer

	tuned     atomic.Pointer[limits.Set] // by the connector, not in force yet
	settled   chan struct{}
	stopped   chan struct{}   // closed by the sticky error
	attempts  context.Context // of all attempts
	cancel    context.CancelCauseFunc
	published published
}

const offersPerTick = 256

// New makes a writer, checks its configuration (all faults at once, in a
// [*ConfigError]) and opens the submitter, if it is an [Opener], under ctx.
func New[E any](ctx context.Context, s RequestSubmitter[E], t Traits[E], c Config) (*Writer[E], error) {
	t = t.withDefaults()
	set := c.limitsSet(t.Max)
	faults := t.check(c)
	if s == nil {
		faults = append(faults, missing("submitter", "set"))
	}
	if err := c.check(set, faults); err != nil {
		return nil, err
	}
	w := &Writer[E]{name: c.name(), submit: s, traits: t, config: c, ex: c.Executor, clock: newClock()}
	if w.log = c.Logger; w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.log = w.log.With("writer", w.name)
	if w.ex == nil {
		w.mine = &mailbox.Locked{}
		w.ex = w.mine
	}
	_, w.owned = w.ex.(*mailbox.Loop)
	w.timers = mailbox.NewTimers(w.ex, nil)
	w.attempts, w.cancel = context.WithCancelCause(context.Background())
	w.settled = make(chan struct{}, 1)
	w.stopped = make(chan struct{})
	if _, err := crand.Read(w.id[:]); err != nil {
		return nil, err
	}
	if c.Seed == 0 {
		c.Seed = binary.LittleEndian.Uint64(w.id[:])
	}
	w.now = w.clock.read()
	w.core = core.New(core.Config[E]{
		Limits: set, Order: c.Order, Relation: t.Relation, OwnsRetries: t.OwnsRetries,
		OnRejected: c.OnRejected, StopAmbiguous: c.StopOnAmbiguous, DeadLetters: c.DeadLetters != nil,
		Settlement: c.Settlement, Writer: w.id, Size: t.Size, Hash: t.hash(),
		Rand: rand.New(rand.NewPCG(c.Seed, 0)),
	})
	w.queue.w, w.frame = w, w.framer()
	if err := w.openLog(); err != nil {
		return nil, err
	}
	if o, ok := s.(Opener); ok {
		if err := o.Open(ctx, w.env()); err != nil {
			w.shut()
			w.closeLog()
			return nil, err
		}
	}
	if err := w.enter("open"); err != nil {
		w.shut()
		w.closeLog()
		return nil, errors.Join(err, w.closeSubmitter(ctx))
	}
	w.retune()
	w.leave()
	if err := w.restore(); err != nil {
		w.queue.close()
		w.shut()
		w.closeLog()
		return nil, errors.Join(err, w.closeSubmitter(ctx))
	}
	return w, nil
}

func (t Traits[E]) withDefaults() Traits[E] {
	if t.Codec == nil {
		t.Codec, _ = any(statecodec.Bytes{}).(statecodec.Codec[E])
	}
	if t.Codec == nil {
		t.Codec, _ = any(statecodec.String{}).(statecodec.Codec[E])
	}
	return t
}

func (t Traits[E]) hash() func(E) uint64 {
	if t.Key == nil {
		return nil
	}
	return func(e E) uint64 { return statecodec.KeyHash(t.Key(e)) }
}

func (w *Writer[E]) env() Env {
	env := Env{
		Name: w.name, Index: w.config.Index, Writers: max(1, w.config.Writers),
		Executor: w.ex, Timers: w.timers, Logger: w.log,
		Tune: w.tune, Count: w.count, Credentials: w.config.Credentials,
	}
	if r := w.config.Restore; r != nil {
		env.Restored, env.Checkpoint = true, r.Checkpoint
	}
	return env
}

// tune takes the service's limits over, from any goroutine.
func (w *Writer[E]) tune(most limits.Batch) {
	set := w.config.limitsSet(most)
	if err := set.Validate(); err != nil {
		w.log.Warn("limits of the service were ignored", "error", err)
		return
	}
	w.tuned.Store(&set)
	_ = w.ex.Execute("tune", w.retune) // refused only when the writer is closed
}

// retune puts the newest limits into force. New does so before the first Write.
func (w *Writer[E]) retune() {
	if set := w.tuned.Swap(nil); set != nil {
		w.tick()
		w.core.Tune(w.now, *set)
		w.pump()
	}
}

func (w *Writer[E]) enter(name string) error {
	if w.owned {
		return nil
	}
	for {
		err := w.ex.Enter(name)
		if err == nil {
			return nil
		}
		if errors.Is(err, mailbox.ErrOutside) {
			return err
		}
		// A mail panicked, which only the traits' functions or a connector's own mail can: the
		// books may be wrong, so the writer stops.
		w.stopLater(err)
	}
}

func (w *Writer[E]) leave() {
	if !w.owned {
		w.ex.Leave()
	}
}

// stopLater stops the writer from outside of the executor.
func (w *Writer[E]) stopLater(err error) {
	_ = w.ex.Execute("stop", func() { w.stop(err) })
}

// stop ends all sending, for good.
func (w *Writer[E]) stop(err error) {
	w.core.Stop(err)
	w.pump()
}

func (w *Writer[E]) tick() { w.now = w.clock.read() }

// err is what Write and its siblings return when the writer no longer works.
func (w *Writer[E]) err() error {
	if err := w.sticky(); err != nil {
		return err
	}
	if w.ended || w.closed {
		return ErrClosed
	}
	return nil
}

// Write accepts an entry, waiting for room while a cap is reached, and returns
// its sequence. The entry must not be changed afterwards, ever. On a
// [mailbox.Loop] mails may run before the entry is accepted, and none between
// that and the return. The error is
// [*EntryTooLargeError], the context's, [ErrClosed] or [*StoppedError]; with any
// of them the entry was not accepted.
func (w *Writer[E]) Write(ctx context.Context, e E) (Seq, error) {
	if w.owned { // the same without what a lock needs: this is the hot path of a runner
		if seq, err := w.offer(e); err != ErrFull {
			return seq, err
		}
		return w.writeWhenRoom(ctx, e)
	}
	if err := w.enter("write"); err != nil {
		return 0, err
	}
	defer w.leave()
	if w.waiting.n == 0 { // else behind those that wait already
		if seq, err := w.offer(e); err != ErrFull {
			return seq, err
		}
	}
	return w.writeWhenRoom(ctx, e)
}

// TryWrite is Write without the wait: [ErrFull].
func (w *Writer[E]) TryWrite(e E) (Seq, error) {
	if err := w.enter("write"); err != nil {
		return 0, err
	}
	defer w.leave()
	if w.waiting.n > 0 {
		return 0, w.full(w.refuse())
	}
	seq, err := w.offer(e)
	for err == ErrFull && w.owned { // the answers that make room may wait in the loop
		if ran, yerr := w.ex.TryYield(); !ran || w.yielded(yerr) != nil {
			break
		}
		seq, err = w.offer(e)
	}
	return seq, w.full(err)
}

// full adds to an error of a wait for room why the disk takes nothing, where that is so.
func (w *Writer[E]) full(err error) error {
	if err == nil || w.diskError == nil || w.err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, w.diskError)
}

func (w *Writer[E]) offer(e E) (Seq, error) {
	if w.toLook--; w.toLook < 0 {
		w.lookUp()
	} else if w.core.Opens() {
		w.tick()
	}
	if w.ended || w.closed {
		return 0, w.refuse()
	}
	seq, err := w.core.Offer(w.now, e)
	if err == ErrFull && w.config.Spill.Dir != "" {
		return w.spill(e, false)
	}
	if err != nil {
		return 0, w.refusal(err)
	}
	if w.core.Noticeable() {
		w.pump()
		if w.owned {
			w.toLook = 0
		}
	}
	return seq, nil
}

// refusal is why the core takes nothing: its own error once the writer no longer works.
func (w *Writer[E]) refusal(err error) error {
	if werr := w.err(); werr != nil {
		return werr
	}
	return err
}

// lookUp does, at least every 256 offers, what a record must not pay for. Mails
// run before an entry is accepted, not after: whoever owns the loop must be able
// to note a sequence before a mail, a checkpoint say, sees the entry.
func (w *Writer[E]) lookUp() {
	w.toLook = offersPerTick - 1
	if w.owned {
		w.runMails()
	}
	w.tick()
	w.publish()
}

// refuse is for entries behind others: those of an earlier life, or of blocked writes.
func (w *Writer[E]) refuse() error {
	if err := w.err(); err != nil {
		return err
	}
	return ErrFull
}

// runMails lets the answers that have arrived in a loop be booked.
func (w *Writer[E]) runMails() {
	for {
		if ran, err := w.ex.TryYield(); !ran || w.yielded(err) != nil {
			return
		}
	}
}

// yielded judges the error of a yield: the panic of a mail stops the writer,
// since its books may be wrong; the executor's or the context's end is the caller's affair.
func (w *Writer[E]) yielded(err error) error {
	var p *mailbox.PanicError
	if errors.As(err, &p) {
		w.stop(err)
		return nil
	}
	return err
}
