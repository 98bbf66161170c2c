package mailbox

import (
	"context"
	"errors"
)

// Quiesce begins the closing, from any goroutine or inside: mails are refused from now on, timers are stopped, and a
// Yield that waits returns [ErrClosed]. The mails that wait still run. Quiescing twice is harmless.
func (x *Locked) Quiesce() {
	x.quiesce()
	x.lock()
	defer x.unlock()
	x.stir()
}

// Close quiesces the executor and waits until every accepted mail has run to its end; it must not be called inside
// (there, Quiesce). When ctx ends first, the mails that still wait are dropped: their futures get a [*ClosedError] and
// Left names them; the error then counts and names them, and names what kept the lock. The error joins the panics of
// which nobody has been told. Calling Close again returns the same Left.
//
// Enter and Leave work on a closed Locked.
func (x *Locked) Close(ctx context.Context) (Left, error) {
	x.Quiesce()
	x.lock()
	var stuck error
	if !x.isIdle() {
		if x.idle == nil {
			x.idle = make(chan struct{})
		}
		idle := x.idle
		x.unlock()
		select {
		case <-idle:
		case <-ctx.Done():
		}
		x.lock()
		if names := append(x.runs(), x.yielding()...); len(names) > 0 {
			stuck = ended(ctx, "close: has not ended, "+list(names))
		}
	}
	untold := x.faults.take()
	x.unlock()
	n, left := x.drop()
	return left, errors.Join(untold, stuck, droppedError(ctx, n, left))
}
