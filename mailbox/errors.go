package mailbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// ErrClosed is matched by each error that says that an executor or a [Timers] is closed. Execute, [Submit] and
	// timers give the [*ClosedError], which names the mail; Yield and TryYield give ErrClosed itself, once no mail is
	// left to run.
	ErrClosed = errors.New("mailbox: closed")

	// ErrOutside says that a goroutine yielded that is not inside: on a [Locked] while nobody is, on a [Loop] while its
	// owner waits in Yield. It is a mistake in the program and is found only where finding it costs nothing: such a
	// call from outside while another goroutine is inside breaks the exclusion unseen.
	ErrOutside = errors.New("mailbox: yield from outside: only a running mail, a turn between Enter and Leave, or the owner of the loop may yield")

	// errGoexit is the value of the PanicError of a mail that called runtime.Goexit, as t.FailNow does.
	errGoexit = errors.New("runtime.Goexit")
)

// ClosedError says that a mail was refused, or dropped after it had been accepted, because its executor was closed.
// The mail did not run and never will. It matches [ErrClosed].
type ClosedError struct {
	Mail string // the mail's name
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("mailbox: mail %q will never run: closed", e.Mail)
}

// Is makes errors.Is(err, ErrClosed) true.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// PanicError is what becomes of a panic in a mail. The executor stays usable; whether the state that the mail worked on
// does, its owner must judge.
//
// Who is told: a mail of [Submit] tells its future only. For any other mail it is whoever is inside: on a [Loop] the
// Yield that ran the mail. On a [Locked] the Yield that ran it in place, or else the next one to call Enter, Yield,
// TryYield or Close, once; up to 16 untold panics are kept, more are counted.
//
// It does not unwrap to Value: a mail that panicked with ErrClosed or with a context's error must not look like a
// closed executor or an ended context.
type PanicError struct {
	Mail  string // the mail's name
	Value any    // what it panicked with
	Stack []byte // of the panic, as debug.Stack formats it
}

func (e *PanicError) Error() string {
	if e.Value == any(errGoexit) {
		return fmt.Sprintf("mailbox: mail %q ended its goroutine (runtime.Goexit)", e.Mail)
	}
	return fmt.Sprintf("mailbox: mail %q panicked: %v", e.Mail, e.Value)
}

// call runs f and turns a panic into a *PanicError. If f calls runtime.Goexit, call does not return, but the deferred
// functions of its callers run.
func call(name string, f func()) (err error) {
	returned := false
	defer func() {
		if !returned {
			err = panicked(name, recover())
		}
	}()
	f()
	returned = true
	return nil
}

// panicked must be called by the deferred function that recovered value, so that the stack is that of the panic.
func panicked(name string, value any) *PanicError {
	if value == nil { // panic(nil) has a value since Go 1.21, hence this was no panic
		value = errGoexit
	}
	return &PanicError{Mail: name, Value: value, Stack: debug.Stack()}
}

// ended returns nil while ctx lasts, and then its error together with its cause, as that of doing.
func ended(ctx context.Context, doing string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != err {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("mailbox: %s: %w", doing, err)
}

// droppedError says that the last n mails of left were dropped since ctx ended; nil: none was.
func droppedError(ctx context.Context, n int, left Left) error {
	if n == 0 {
		return nil
	}
	return ended(ctx, "close: mails that never ran, "+list(left.Mails[len(left.Mails)-n:]))
}

const maxFaults = 16

// faults keeps the panics of which nobody has been told.
type faults struct {
	kept []error
	more int
}

func (f *faults) add(err error) {
	if len(f.kept) < maxFaults {
		f.kept = append(f.kept, err)
	} else {
		f.more++
	}
}

type morePanics struct{ count int }

func (e *morePanics) Error() string {
	return fmt.Sprintf("mailbox: and %d more mails panicked", e.count)
}

// take returns what is kept as one error and forgets it; nil: nothing was kept.
func (f *faults) take() error {
	if len(f.kept) == 0 {
		return nil
	}
	kept, more := f.kept, f.more
	*f = faults{}
	if more > 0 {
		kept = append(kept, &morePanics{more})
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}
