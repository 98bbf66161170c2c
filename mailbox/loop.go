package mailbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Loop is the cooperative executor: mails from any goroutine wait in it until its owner lets them run, on the owner's
// own goroutine, by Yield, TryYield, Run or Close. The owner is the goroutine that calls these; there must be only one
// at a time. It is always inside, so that its code and the mails share state without a lock. Use it where one goroutine
// does the work and must not be interrupted in the middle of it (Flink's task thread; the runner of a pipeline).
//
// A mail may yield: other mails run inside it then, and it goes on when the Yield returns.
//
// The zero value is ready. A Loop must not be copied after first use.
type Loop struct {
	box
	wake    chan struct{} // holds a token when the owner should look again; made by the first wait
	waiting bool          // the owner waits in Yield
}

// Execute implements [Executor]: the mail runs when the owner lets it.
func (l *Loop) Execute(name string, run func()) error {
	checkMail(name, run)
	err := l.push(&mail{name: name, run: run})
	l.kick()
	return err
}

// Yield implements [Executor]: it runs the mail that has waited longest, on the calling goroutine, and waits for one if
// there is none. A panic of that mail is returned as a [*PanicError].
func (l *Loop) Yield(ctx context.Context) error {
	for {
		if err := ended(ctx, "yield"); err != nil {
			return err
		}
		ran, wake, err := l.step(true)
		if ran || err != nil {
			return err
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
		l.mu.Lock()
		l.waiting = false
		l.mu.Unlock()
	}
}

// TryYield implements [Executor].
func (l *Loop) TryYield() (ran bool, err error) {
	ran, _, err = l.step(false)
	return ran, err
}

// step runs one mail if one waits. If none does and wait is set, it notes that the owner is about to wait for wake.
func (l *Loop) step(wait bool) (ran bool, wake <-chan struct{}, err error) {
	l.mu.Lock()
	if l.waiting {
		l.mu.Unlock()
		return false, nil, ErrOutside
	}
	m := l.pop()
	switch {
	case m != nil:
		l.trace = append(l.trace, m.name)
	case l.closed:
		err = ErrClosed
	case wait:
		if l.wake == nil {
			l.wake = make(chan struct{}, 1)
		}
		l.waiting = true
	}
	wake = l.wake
	l.mu.Unlock()
	if m == nil {
		return false, wake, err
	}
	defer l.Leave() // also if the mail calls runtime.Goexit
	return true, nil, m.call()
}

// kick wakes the owner.
func (l *Loop) kick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting {
		select {
		case l.wake <- struct{}{}:
		default: // it has been woken and has not looked yet
		}
	}
}

// Run lets mails run until the loop is closed and the last accepted mail has run; then it returns nil. It returns early
// when ctx ends, and at each [*PanicError]; calling it again goes on with the next mail.
func (l *Loop) Run(ctx context.Context) error {
	for {
		switch err := l.Yield(ctx); err {
		case nil:
		case ErrClosed: // compared, not matched: only Yield's own answer means drained
			return nil
		default:
			return err
		}
	}
}

// Enter implements [Executor]. The owner is inside anyway: it only shows name as what runs (see [Loop.Running]), and
// unlike with a [Locked] a mail may call it. The only error is [ErrOutside], for a goroutine that is not the owner.
func (l *Loop) Enter(name string) error {
	l.mu.Lock()
	waiting := l.waiting
	if !waiting {
		l.trace = append(l.trace, name)
	}
	l.mu.Unlock()
	if waiting {
		return ErrOutside
	}
	return nil
}

// Leave implements [Executor]. No mail runs in it.
func (l *Loop) Leave() {
	l.mu.Lock()
	depth := len(l.trace)
	if depth > 0 {
		l.trace = l.trace[:depth-1]
	}
	l.mu.Unlock()
	if depth == 0 {
		panic("mailbox: Leave without Enter")
	}
}

// Quiesce begins the closing, from any goroutine or inside a mail: mails are refused from now on and timers are
// stopped. The mails that wait still run, by Yield, TryYield, Run or Close; when none is left these return [ErrClosed]
// (Run: nil). Quiescing twice is harmless.
func (l *Loop) Quiesce() {
	l.quiesce()
	l.kick()
}

// Close quiesces the loop, runs the mails that wait and returns when none is left. It is called by the owner, as Yield
// is. When ctx ends first, the mails that still wait are dropped: their futures get a [*ClosedError] and Left names
// them. With a context that has already ended Close runs nothing, and then it may be called from any goroutine: the way
// to resolve all futures when the owner is gone.
//
// The error joins the [*PanicError] of each mail that panicked in Close and, if mails were dropped, one that counts and
// names them. Calling Close again returns the same Left.
func (l *Loop) Close(ctx context.Context) (Left, error) {
	l.Quiesce()
	var errs []error
	for {
		err := l.Yield(ctx)
		if err == nil {
			continue
		}
		if _, ok := err.(*PanicError); ok {
			errs = append(errs, err)
			continue
		}
		if err == ErrOutside { // the owner is there, and drains
			return Left{}, err
		}
		n, left := l.drop()
		return left, errors.Join(append(errs, droppedError(ctx, n, left))...)
	}
}

// Pending names the mails that wait, in the order in which they will run.
func (l *Loop) Pending() []string { return l.pending() }

// Running names the mail or turn that runs; "": none. Where one yields and another runs inside it, both are named,
// the outer one first: "write > request done".
func (l *Loop) Running() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.trace, " > ")
}

// String describes the loop for a person: what runs, what waits, whether it is closed.
func (l *Loop) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.describe("loop", l.trace)
}

func checkMail(name string, run func()) {
	if run == nil {
		panic(fmt.Sprintf("mailbox: mail %q has a nil function", name))
	}
}
