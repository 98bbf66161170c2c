// Package mailbox runs the code of a sink one piece at a time, and hides from it which goroutine does so.
//
// A sink has one state (what it buffers, what is in flight) and many that want to touch it: the one who writes, the
// answers of the destination, timers, a checkpoint. Here each of them is a mail, a function with a name, and an
// [Executor] runs mails one after the other. The state needs no lock, and the code does not change when the thread that
// runs it does.
//
// The idea is Apache Flink's. FLIP-177 (Extend Sink API,
// https://cwiki.apache.org/confluence/display/FLINK/FLIP-177%3A+Extend+Sink+API) gives a sink's context a MailboxExecutor
// (org.apache.flink.api.common.operators.MailboxExecutor) and a ProcessingTimeService, so that the asynchronous sink of
// FLIP-171 can take answers and timers without knowing Flink's threads. [Executor] and [Timers] are these two.
//
// # Words
//
// A mail is handed in ([Executor.Execute], [Submit]), waits, and runs; or it is refused, or dropped, and then somebody
// is told. A turn is code that runs in the executor without being a mail: what lies between [Executor.Enter] and
// [Executor.Leave]. Whoever runs a mail or a turn is inside. To yield is to let other mails run in the middle of
// one's own code, usually to wait for what one of them brings: room in a buffer, an answer.
//
// # Which executor
//
// [Locked] lets in whoever comes, one at a time. A mail runs on the goroutine that hands it in or, if somebody is inside,
// on that one's, before it leaves. Take it when any goroutine may call and none is there to serve: a sink embedded in a
// service. It is Flink's old checkpoint lock, as a monitor: no wait holds the lock.
//
// [Loop] keeps mails until its owner yields, and runs them on the owner's goroutine. Take it when one goroutine
// does the work and must be interrupted only where it says so: the runner of a pipeline, as Flink's task thread; or a
// test that wants to decide when each mail runs.
//
//	                        Loop                           Locked
//	a mail runs on          the owner's goroutine          the caller's, or that of whoever is inside
//	  at the latest         at the owner's next Yield      before whoever is inside leaves
//	Execute returns         before the mail has run        after, if nobody was inside
//	Enter                   notes the name, may be nested  takes the lock, must not be called inside
//	Yield, no mail waiting  waits                          lets go of the lock, waits, takes it again
//	a panic is told to      the Yield that ran the mail    the Yield that ran the mail in place, or
//	                                                       the next Enter, Yield, TryYield or Close
//
// Code that is to run on both keeps to what they share: it yields only inside, it does not Enter inside, it expects that
// a mail may run before Execute returns or after, and it waits only for what comes about in a mail (entering and leaving
// wakes nobody). Code that writes records and waits for room is the same for both:
//
//	if err := ex.Enter("write"); err != nil {
//		return err
//	}
//	defer ex.Leave()
//	for full() {
//		if err := ex.Yield(ctx); err != nil { // "request done" makes room
//			return err
//		}
//	}
//	buffer(entry)
//
// # Results
//
// [Submit] hands in a function with a result and gives a [Future]. From inside ask it by [Future.Yield], which lets the
// mail run; from outside by [Future.Wait], which only waits. The two are apart because Go does not tell a function whether
// its goroutine is inside.
//
// # Time
//
// [Timers] runs functions at given times, once each, as mails. Its [Clock] is the machine's ([SystemClock], which a
// testing/synctest bubble replaces by its own) or one that a test moves by hand ([ManualClock]).
//
// # Panics
//
// A panic in a mail becomes a [*PanicError] with the mail's name, the value and the stack. It is told to the future of a
// submitted mail, else to whoever is inside. The executor goes on working and the lock is free. A panic of a turn's own
// code is not caught by Enter and Leave (it is the caller's, on its own stack), but by [Do].
//
// # Closing
//
// Quiesce, from anywhere, refuses further mails and stops the timers. Close does that, lets the mails that wait run, and
// returns when the last has; when its context ends first, it drops the others. Nothing gets lost silently: a refused mail
// gives its caller a [*ClosedError], a dropped one gives it to its future, and [Left] names all that did not run: dropped
// mails, and timers whose time had not come. Who closes an executor is who made it, not a sink that was given one.
//
// # What a person sees
//
// Running, Pending and String of both executors tell at any time, from any goroutine, what runs and what waits:
//
//	locked: running write > request done; waiting 2: flush, request done; entering 1: write
//
// # Left out
//
// Flink's mails have priorities, so that an operator yields only to those downstream of it, and mails that may be
// deferred. One executor here serves one sink, or one pipeline whose parts may all be let run, so neither is needed.
// There are no periodic timers either: a timer's function may set the next.
package mailbox
