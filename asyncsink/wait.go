package asyncsink

import (
	"context"
	"time"
)

// waiters is the writes that wait for room, in order. On a lock each has a
// channel of its own, so that an answer wakes as many as it made room for.
type waiters struct {
	first, last *waiter
	n           int
}

type waiter struct {
	wake chan struct{}
	next *waiter
}

func (q *waiters) push(w *waiter) {
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.n++
}

// remove takes a waiter out, wherever it stands. Only an ended context and
// the first of the queue ask for it, so the walk is short or rare.
func (q *waiters) remove(w *waiter) {
	for at, before := q.first, (*waiter)(nil); at != nil; at, before = at.next, at {
		if at != w {
			continue
		}
		if before == nil {
			q.first = w.next
		} else {
			before.next = w.next
		}
		if q.last == w {
			q.last = before
		}
		q.n--
		return
	}
}

// wakeFirst lets the first one look for room. It wakes the next when it has found some.
func (q *waiters) wakeFirst() {
	if q.first != nil {
		select {
		case q.first.wake <- struct{}{}:
		default: // it was woken and has not looked yet
		}
	}
}

// writeWhenRoom waits until the entry is taken. It is called inside.
func (w *Writer[E]) writeWhenRoom(ctx context.Context, e E) (Seq, error) {
	since := w.clock.read()
	defer func() { w.blocked += time.Duration(w.clock.read() - since) }()
	if w.owned {
		for {
			if err := w.yielded(w.ex.Yield(ctx)); err != nil {
				return 0, w.full(err)
			}
			if seq, err := w.offer(e); err != ErrFull {
				return seq, err
			}
		}
	}
	me := &waiter{wake: make(chan struct{}, 1)}
	w.waiting.push(me)
	defer func() {
		w.waiting.remove(me)
		w.waiting.wakeFirst()
	}()
	for {
		w.publish()
		if err := w.outside(ctx, me.wake); err != nil {
			return 0, w.full(err)
		}
		if w.waiting.first != me {
			continue
		}
		if seq, err := w.offer(e); err != ErrFull {
			return seq, err
		}
	}
}

// outside lets go of the lock until wake has something or ctx ends, and takes
// it again, whatever it returns.
func (w *Writer[E]) outside(ctx context.Context, wake <-chan struct{}) error {
	w.leave()
	var err error
	select {
	case <-wake:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	for {
		eerr := w.ex.Enter("write")
		if eerr == nil {
			return err
		}
		w.stopLater(eerr)
	}
}

// await returns when done says so, after looking at each change of what is held, or with the
// context's error. It is called inside.
func (w *Writer[E]) await(ctx context.Context, done func() bool) error {
	for !done() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if w.owned {
			if err := w.yielded(w.ex.Yield(ctx)); err != nil {
				return err
			}
			continue
		}
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		if err := w.outside(ctx, w.changed); err != nil && !done() {
			return err
		}
	}
	return nil
}

// stir tells those that wait that something has changed.
func (w *Writer[E]) stir() {
	if w.core.HasRoom(1) || w.config.Spill.Dir != "" || w.core.Err() != nil || w.ended || w.closed {
		w.waiting.wakeFirst()
	}
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
	if w.config.Settlement && w.core.Settled() {
		select {
		case w.settled <- struct{}{}:
		default:
		}
	}
}
