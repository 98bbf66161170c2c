package mailbox

import "context"

// Executor runs mails, one at a time, and hides on which goroutine they run. Code that is given one never locks and
// never asks for a goroutine: state that is touched only inside the executor needs no other protection. [Loop] and
// [Locked] implement it; both are ready to use as zero values.
//
// A goroutine is inside while it runs a mail and between Enter and Leave; the owner of a [Loop] is always inside. At
// most one goroutine is inside at a time. Yield, TryYield and [Future.Yield] may be called inside only; everything
// else may be called from any goroutine.
//
// The interface is sealed by its unexported methods: [Submit] and [Timers] promise that nothing is lost, and that
// takes the executor's help. To observe an executor, embed the interface in a struct of your own.
type Executor interface {
	// Execute hands in a mail. Mails run one after the other in the order in which they were handed in. Execute never
	// waits for another mail: when it returns, the mail may have run ([Locked], nobody inside) or may wait to be run,
	// perhaps on another goroutine. What waits is bounded only by what is handed in (about 80 bytes a mail, and what
	// its closure holds).
	//
	// The name tells a person which mail runs, waits or panicked; use a constant such as "request done", since a name
	// that is formatted costs an allocation each time. A nil mail panics here, where its author is on the stack.
	//
	// The only error is a [*ClosedError]: the mail was refused and will never run. A panic in the mail is told to
	// whoever is inside next: see [PanicError].
	Execute(name string, mail func()) error

	// Yield, called inside, lets one mail run and returns when it has; it waits for one if none waits. A caller that
	// waits for something that a mail brings about loops:
	//
	//	for full() {
	//		if err := ex.Yield(ctx); err != nil {
	//			return err
	//		}
	//	}
	//
	// Any mail may run meanwhile, so look again at everything that was read before the call. The error is the
	// context's (it ended, and is looked at first: nothing ran), a [*PanicError] (a mail panicked; the executor goes
	// on working), [ErrClosed] (closed, and no mail is left that could run) or [ErrOutside].
	Yield(ctx context.Context) error

	// TryYield is Yield without the wait: ran tells whether a mail ran. It has no context, so it runs a mail that waits
	// in any case.
	TryYield() (ran bool, err error)

	// Enter makes the calling goroutine the one inside, waiting for its turn if need be, until it calls Leave. It
	// is the cheap way to run code of one's own inside: no closure, hence no allocation, for each record written. It is
	// no mail: Yields of others do not return because of it, and it works after the executor was closed, so that what
	// was left can be read.
	//
	// A non-nil error means that the turn was not entered (do not call Leave): it tells of mails that panicked while
	// nobody who could be told was inside. Calling again enters.
	//
	// Do not call Enter inside, where [Locked] would wait for itself for ever.
	Enter(name string) error

	// Leave ends the turn that Enter began; on a [Locked] it first runs the mails that wait. Use it with defer when the
	// code between might panic. Leave without Enter panics.
	Leave()

	// base is the state that both executors share; kick makes sure that what was pushed to it is going to run.
	base() *box
	kick()
}

// Do runs f inside, on the calling goroutine, and returns when it has run. It is Enter, f, Leave, for callers that run
// seldom enough to afford a closure. The error is that of Enter (f did not run), or a [*PanicError] that carries name if
// f panicked. Like Enter it must not be called inside.
func Do(ex Executor, name string, f func()) error {
	if err := ex.Enter(name); err != nil {
		return err
	}
	defer ex.Leave()
	return call(name, f)
}

// Bind adapts ex to code that wants a plain func(func()) to run its callbacks, with the name bound: every function
// given to the result is a mail of that name.
//
// A func(func()) cannot return an error, so refused says where it goes: it is called, on the caller's goroutine, with
// the [*ClosedError] of each mail that was not accepted. With a nil refused the error is raised as a panic, since a
// mail must not get lost silently.
func Bind(ex Executor, name string, refused func(error)) func(func()) {
	return func(mail func()) {
		err := ex.Execute(name, mail)
		switch {
		case err == nil:
		case refused == nil:
			panic(err)
		default:
			refused(err)
		}
	}
}
