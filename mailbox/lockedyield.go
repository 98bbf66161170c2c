package mailbox

import (
	"context"
	"slices"
	"strings"
)

// parked is a turn that has let go of the lock in a Yield.
type parked struct{ name string }

// Yield implements [Executor]. If a mail waits, it runs that mail in place, without letting go of the lock. Otherwise
// it lets go, waits until a mail has run on another goroutine, and takes the lock again. It has the lock again whatever
// it returns, so that Leave is due as before.
//
// Each mail wakes every goroutine that yields, in no particular order: any of them may be the one that can go on. Where
// thousands may wait, wait on a channel of your own outside, and let a mail wake the right one.
//
// A panic of a mail that another goroutine ran meanwhile is told here too, to one of those that yield.
func (x *Locked) Yield(ctx context.Context) error {
	if err := ended(ctx, "yield"); err != nil {
		return err
	}
	x.lock()
	defer x.unlock()
	if !x.turn.held() {
		return ErrOutside
	}
	for before := x.ran; ; {
		if err := x.faults.take(); err != nil {
			return err
		}
		switch {
		case x.ran != before:
			return nil
		case ctx.Err() != nil:
			return ended(ctx, "yield")
		case x.first != nil:
			return x.runInPlace(x.pop())
		case x.closed:
			return ErrClosed
		}
		x.park(ctx)
	}
}

// park leaves the turn, waits until something has moved or ctx ends, and takes the turn again. It is called locked, when
// no mail waits; so none is missed, since whoever runs one from now on finds moved.
func (x *Locked) park(ctx context.Context) {
	if x.moved == nil {
		x.moved = make(chan struct{})
	}
	moved, trace := x.moved, x.trace
	x.trace = nil
	p := &parked{name: strings.Join(append([]string{x.name}, trace...), " > ")}
	name := x.name
	x.parked = append(x.parked, p)
	x.passOn()
	x.unlock()
	select {
	case <-moved:
	case <-ctx.Done():
	}
	x.lock()
	x.acquire(p.name)
	i := slices.Index(x.parked, p)
	x.parked = slices.Delete(x.parked, i, i+1)
	x.name, x.trace = name, trace
}

// TryYield implements [Executor]. It does not let go of the lock: what others hand in meanwhile waits here, and this
// runs it.
func (x *Locked) TryYield() (ran bool, err error) {
	x.lock()
	defer x.unlock()
	if !x.turn.held() {
		return false, ErrOutside
	}
	if err := x.faults.take(); err != nil {
		return false, err
	}
	switch {
	case x.first != nil:
		return true, x.runInPlace(x.pop())
	case x.closed:
		return false, ErrClosed
	}
	return false, nil
}

// runInPlace runs a mail inside a turn that yields. It is called locked; the mail is not.
func (x *Locked) runInPlace(m *mail) error {
	depth := len(x.trace)
	x.trace = append(x.trace, m.name)
	x.unlock()
	defer func() { // also if the mail calls runtime.Goexit
		x.lock()
		x.trace = x.trace[:depth]
		x.ran++
		x.stir()
	}()
	return m.call()
}

// stir lets those look again who yield. It is called locked.
func (x *Locked) stir() {
	if x.moved != nil {
		close(x.moved)
		x.moved = nil
	}
}

// yielding names the turns that have let go of the lock. mu is held.
func (x *Locked) yielding() (names []string) {
	for _, p := range x.parked {
		names = append(names, p.name)
	}
	return names
}
