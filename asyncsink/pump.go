package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// pump does what the core wants until it waits. It is called inside, after
// every event, with now read.
func (w *Writer[E]) pump() {
	if w.closed {
		return
	}
	if w.quiet {
		w.publish()
		w.stir()
		return
	}
	for {
		a := w.core.Next(w.now)
		switch a.Kind {
		case core.Send:
			w.send(a.Batch)
		case core.Bury:
			w.bury(a.Dead)
		case core.Room:
			w.queue.feed(a)
		case core.Again:
		case core.Wait:
			w.wakeUpAt(a.Until)
			w.tell()
			w.free()
			w.publish()
			w.stir()
			return
		}
	}
}

// wakeUpAt keeps one timer for the writer. An earlier one that is set already
// may fire in vain, which costs less than setting it anew each time.
func (w *Writer[E]) wakeUpAt(t core.Time) {
	if t == core.Never || w.wake != nil && w.wakeAt <= t {
		return
	}
	if w.wake != nil {
		w.wake.Cancel()
	}
	wake, err := w.timers.At(w.clock.at(t), w.name+" wake-up", w.woken)
	if err != nil { // the executor was closed under the writer: what is held would wait for ever
		w.core.Stop(err)
	}
	w.wake, w.wakeAt = wake, t
}

func (w *Writer[E]) woken() {
	w.wake = nil
	w.tick()
	w.pump()
}

// tell logs the sticky error, once, and ends the wait of requests that were not issued.
func (w *Writer[E]) tell() {
	if err := w.core.Err(); err != nil && !w.told {
		w.told = true
		close(w.stopped)
		w.log.Error("writer stopped", "error", err, "held", w.core.Ledger.Held().Entries)
	}
}

// send starts an attempt on a goroutine of its own.
func (w *Writer[E]) send(b *core.Batch[E]) {
	a := &Batch[E]{core: b, writer: w.id}
	turn, next := w.lastTurn, (chan struct{})(nil)
	if w.traits.Relation == Pipelined {
		next = make(chan struct{})
		w.lastTurn = next
	}
	a.issued = onceClose(next)
	w.running++
	ctx, cancel := context.WithDeadline(w.attempts, w.clock.at(b.Deadline))
	go w.attempt(ctx, cancel, a, turn)
}

func onceClose(c chan struct{}) func() {
	if c == nil {
		return func() {}
	}
	return sync.OnceFunc(func() { close(c) })
}

// attempt runs Submit once and hands its outcome in, whatever becomes of it.
func (w *Writer[E]) attempt(ctx context.Context, cancel context.CancelFunc, a *Batch[E], turn <-chan struct{}) {
	var whole Outcome
	broken, late := fmt.Errorf("submitter %T ended its goroutine", w.submit), false
	defer func() {
		if v := recover(); v != nil {
			broken = &SubmitPanicError{fmt.Sprintf("%T", w.submit), v, debug.Stack()}
		}
		cancel()
		fails := a.end()
		if broken == nil && whole.Kind == Delivered && len(fails) == 0 {
			a.issued() // else once the core has said that what is behind it may go
		}
		w.report("request done", func() { w.done(a, whole, fails, broken, late) })
	}()
	err := w.awaitTurn(ctx, turn)
	if err == nil {
		err = w.submit.Submit(ctx, a)
	}
	whole, broken = outcomeOf(err, ctx), nil
	late = errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// awaitTurn waits until the request before this one was issued, if the
// destination is pipelined. With an error this one must not be.
func (w *Writer[E]) awaitTurn(ctx context.Context, turn <-chan struct{}) error {
	if turn == nil {
		return nil
	}
	select {
	case <-turn:
		return nil
	case <-w.stopped:
	case <-ctx.Done():
	}
	return errNotIssued
}

var errNotIssued = errors.New("the request before it was not issued")

// done books an answer. A submitter that broke down may have sent its request.
func (w *Writer[E]) done(a *Batch[E], whole Outcome, fails []core.Failure, broken error, late bool) {
	w.tick()
	w.running--
	if late && whole.Kind == Ambiguous && a.core.InFlight() { // it came back before the core's own timer
		w.core.Counters.TimedOut++
	}
	if broken != nil {
		w.core.Stop(broken)
		whole = Outcome{Kind: Ambiguous, Err: broken}
	}
	w.core.Done(w.now, a.core, whole.core(), fails)
	if w.core.Err() == nil {
		a.issued()
	}
	w.pump()
	if w.closed {
		w.stir()
	}
}

// report hands an answer in. A lock that was closed under the writer refuses it,
// as does the writer's own once the writer is closed. The books are brought up to
// date all the same, so that nobody waits for an answer that was given; a loop's
// owner is told by the loop.
func (w *Writer[E]) report(name string, mail func()) {
	err := w.ex.Execute(name, mail)
	if err == nil || w.owned || w.enter(name) != nil {
		return
	}
	defer w.leave()
	mail()
	if !w.closed {
		w.stop(err)
	}
}
