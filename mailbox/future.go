package mailbox

import (
	"context"
	"fmt"
)

// Future is the result of a mail given to [Submit]. It is always resolved in the end: by the mail's return, by its panic
// (a [*PanicError]), or by a [*ClosedError] when the mail was refused or dropped.
type Future[T any] struct {
	mail  mail
	ex    Executor
	done  chan struct{}
	value T
	err   error
}

// Submit hands in f as a mail, as Execute does, and returns its result to come. A panic of f is told to the future only:
// who submits without looking at the result should use Execute.
func Submit[T any](ex Executor, name string, f func() (T, error)) *Future[T] {
	r := &Future[T]{ex: ex, done: make(chan struct{})}
	if f == nil {
		checkMail(name, nil)
	}
	r.mail = mail{name: name, run: func() { r.run(f) }, lost: r.fail}
	if err := ex.base().push(&r.mail); err != nil {
		r.fail(err)
		return r
	}
	ex.kick()
	return r
}

func (r *Future[T]) run(f func() (T, error)) {
	returned := false
	defer func() {
		if !returned { // a panic, or runtime.Goexit
			r.err = panicked(r.mail.name, recover())
		}
		close(r.done)
	}()
	r.value, r.err = f()
	returned = true
}

func (r *Future[T]) fail(err error) {
	r.err = err
	close(r.done)
}

// Done is closed when the result is there.
func (r *Future[T]) Done() <-chan struct{} { return r.done }

// Yield waits for the result from inside: it yields until the result is there, so that the mail can run, as can others
// before it. It may be called where [Executor].Yield may. If a Yield fails, its error is returned with the mail's name,
// and the future can be asked again. (A [*PanicError] with the name of another mail comes that way.)
func (r *Future[T]) Yield(ctx context.Context) (T, error) {
	for !r.resolved() {
		if err := r.ex.Yield(ctx); err != nil {
			return r.not(err)
		}
	}
	return r.value, r.err
}

// Wait waits for the result from outside: it only waits. Inside it would wait for itself until ctx ends; use Yield
// there. If ctx ends first, its error is returned and the future can be asked again.
func (r *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-r.done:
	case <-ctx.Done():
		if !r.resolved() {
			return r.not(ended(ctx, "wait"))
		}
	}
	return r.value, r.err
}

func (r *Future[T]) resolved() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *Future[T]) not(err error) (zero T, _ error) {
	return zero, fmt.Errorf("mailbox: no result of mail %q yet: %w", r.mail.name, err)
}
