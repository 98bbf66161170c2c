package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Flush sends everything that was accepted before the call, without waiting for
// full batches, and returns when all of it has settled. When ctx ends first, left
// is how many entries are still held and err is the context's; nothing is lost,
// and they go on being sent.
func (w *Writer[E]) Flush(ctx context.Context) (left int, err error) {
	if err := w.enter("flush"); err != nil {
		return 0, err
	}
	defer w.leave()
	w.tick()
	last := w.core.Last()
	w.core.Flush()
	w.flushes++ // what is taken back meanwhile goes at once too
	defer func() { w.flushes-- }()
	w.pump()
	err = w.await(ctx, func() bool {
		return w.queue.left == 0 && w.core.LowWater() > max(last, w.queue.fedUpTo) || w.core.Err() != nil || w.closed
	})
	if err == nil && w.closed {
		err = ErrClosed
	}
	return w.left(), errors.Join(w.sticky(), err)
}

func (w *Writer[E]) sticky() error {
	err := w.core.Err()
	if errors.Is(err, ErrAbandoned) {
		err = fmt.Errorf("%w: %T", err, w.submit)
	}
	if err != nil {
		return &StoppedError{w.name, err}
	}
	return nil
}

func (w *Writer[E]) left() int {
	return int(w.core.Ledger.Held().Entries) + w.queue.len()
}

// Held is how many entries are accepted and not settled, those of an earlier
// life that wait to be taken back included. Unlike Stats it is exact.
func (w *Writer[E]) Held() int {
	if w.enter("held") != nil {
		return 0
	}
	defer w.leave()
	return w.left()
}

// Err is the sticky error, a [*StoppedError], or nil while the writer works.
func (w *Writer[E]) Err() error {
	if err := w.enter("err"); err != nil {
		return err
	}
	defer w.leave()
	return w.sticky()
}

// EndOfInput says that nothing more will be written: what is held goes without
// waiting for full batches, and Write returns [ErrClosed] (FLIP-147: drain, take
// a final checkpoint, then Close).
func (w *Writer[E]) EndOfInput() error {
	if err := w.enter("end of input"); err != nil {
		return err
	}
	defer w.leave()
	w.end()
	return w.sticky()
}

func (w *Writer[E]) end() {
	w.tick()
	w.ended = true
	w.core.EndOfInput()
	w.pump()
}

// closeGrace is how long Close waits for submitters to come back once their
// contexts have been cancelled.
const closeGrace = time.Second

// Close ends the input, waits until everything has settled or ctx ends, stops
// all attempts and timers, and closes the submitter. What is left is returned as
// a snapshot, nil if nothing is; the error then says how much and why, or is the
// writer's sticky error. When ctx ends, attempts are cancelled, nothing more is sent,
// and submitters have another second to come back. A second call returns [ErrClosed],
// also while the first still waits.
func (w *Writer[E]) Close(ctx context.Context) (*Snapshot[E], error) {
	if err := w.enter("close"); err != nil {
		return nil, err
	}
	if w.closing {
		w.leave()
		return nil, ErrClosed
	}
	w.closing = true
	w.end()
	err := w.await(ctx, func() bool {
		return w.left() == 0 && w.running == 0 || w.core.Err() != nil && w.running == 0
	})
	if w.running > 0 {
		w.cutShort()
		grace, cancel := context.WithTimeout(context.Background(), closeGrace)
		_ = w.await(grace, func() bool { return w.running == 0 })
		cancel()
	}
	w.tick()
	w.core.Abandon(w.now)
	w.cancel(ErrClosed)
	w.stopMerge() // nobody but the writer has the log any more
	var left *Snapshot[E]
	switch n := w.left(); {
	case n > 0:
		left = w.snapshot(true)
		if err != nil {
			err = fmt.Errorf("writer %s: %d entries are left: %w", w.name, n, err)
		}
	case w.running > 0:
		err = fmt.Errorf("writer %s: attempts that have not returned: %d: %w", w.name, w.running, err)
	default: // the last answers came as the attempts were cancelled
		err = nil
	}
	err = errors.Join(w.sticky(), err)
	w.publish()
	w.closed = true
	w.queue.close()
	w.stir()
	w.leave()
	w.shut()
	if left == nil {
		w.closeLog()
	}
	return left, errors.Join(err, w.closeSubmitter(ctx))
}

func (w *Writer[E]) closeSubmitter(ctx context.Context) error {
	if c, ok := w.submit.(Closer); ok {
		return c.Close(ctx)
	}
	return nil
}

// cutShort cancels the attempts of a writer that goes down. Nothing more is sent,
// and no entry is given up because an attempt of it was cut.
func (w *Writer[E]) cutShort() {
	w.quiet = true
	set := w.core.Limits
	set.Retry.Attempts, set.Retry.Age = 0, 0
	w.core.Tune(w.now, set)
	w.cancel(ErrClosed)
}

// shut ends what would go on without the writer.
func (w *Writer[E]) shut() {
	w.cancel(ErrClosed)
	w.timers.Close()
	if w.mine != nil {
		w.mine.Quiesce()
	}
}

// AppendSettled appends the ranges of sequences that have settled (delivered, or
// acknowledged by the dead-letter output) since the last call: in the order in
// which they settled, each sequence once. It needs [Config].Settlement.
func (w *Writer[E]) AppendSettled(dst []Range) []Range {
	if w.enter("settled") != nil {
		return dst
	}
	defer w.leave()
	return w.core.AppendSettled(dst)
}

// Settled has a value when AppendSettled has something new. It needs [Config].Settlement.
func (w *Writer[E]) Settled() <-chan struct{} { return w.settled }
