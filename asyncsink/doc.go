// Package asyncsink writes entries to any destination that takes them in batches: a [Writer] buffers, batches, sends,
// retries, holds back and remembers, so that a connector is one method that sends one request.
//
// The idea is that of Apache Flink's Async Sink (FLIP-171,
// https://cwiki.apache.org/confluence/display/FLINK/FLIP-171%3A+Async+Sink): all sinks for streams do the same around
// another request, so do it once. Its promises: nothing that was accepted gets lost, what is held stays below its caps,
// only what failed goes again, order is kept where asked, and a snapshot of all that is held can be taken at any time
// without waiting for the destination.
//
// # A first sink
//
// A destination is a type with one method. It sends the batch once, says what became of it, and returns when it knows or
// when its context ends. It retries nothing, starts nothing that outlives it, and reads no clock:
//
//	type sink struct{ client *Client }
//
//	func (s *sink) Submit(ctx context.Context, b *asyncsink.Batch[string]) error {
//		request := make([]string, 0, b.Len())
//		for _, line := range b.All() {
//			request = append(request, line)
//		}
//		refused, err := s.client.Put(ctx, request)
//		switch {
//		case errors.Is(err, ErrBusy):
//			return asyncsink.Outcome{Kind: asyncsink.Throttled, Err: err}
//		case err != nil:
//			return err // all of it goes again
//		}
//		for _, r := range refused {
//			b.Set(r.Index, asyncsink.Outcome{Kind: asyncsink.Rejected, Err: r.Err})
//		}
//		return nil // the others are delivered
//	}
//
// [Traits] say what a writer must know of entries, [Config] what its user wants:
//
//	w, err := asyncsink.New(ctx, &sink{client}, asyncsink.Traits[string]{
//		Size: func(line string) int { return len(line) + 1 },
//		Max:  limits.Batch{Entries: 100, Bytes: limits.MiB},
//	}, asyncsink.Config{Name: "lines"})
//	...
//	_, err = w.Write(ctx, "hello")
//	...
//	left, err := w.Close(ctx)
//
// A connector that must connect first is an [Opener], one that holds something is a [Closer]. [Env] (FLIP-177,
// https://cwiki.apache.org/confluence/display/FLINK/FLIP-177%3A+Extend+Sink+API) lends it the writer's executor, timers,
// logger and credentials, and lets it tell what the service allows while it runs.
//
// # The life of an entry
//
//	Write ──> buffered ──> in flight ──> delivered ──> settled
//	             ^             │
//	             │  back-off   ├── not stored, or nobody knows
//	             └─────────────┤
//	                           └── given up ──> unwritten ──> dead ──> settled
//
// Write gives an accepted entry its sequence, [Seq]: 1, 2, 3 and so on. The entry is the writer's from then on and must
// never be changed. It is held until it settles: delivered, or acknowledged by the dead-letter output. All that time it
// keeps its place under the caps, through every retry, so that requeues never push the buffer past them.
//
// A batch goes when it is full by entries or bytes, when its oldest entry has waited for the batch's age, at a Flush and
// at the end of the input. A full buffer alone sends nothing: it holds the writers back.
//
// An attempt ends with a [Kind] for each entry. Entries that were set (see [Batch.Set]) have their own, the others that of the
// request: nil is [Delivered], else it is the [Outcome] in the error's chain. Any other error is [Retry] or, once the attempt's
// context has ended, [Ambiguous], since the request may have arrived. A request [Rejected] as a whole is halved until the
// guilty entry stands alone. Delivered entries are not sent again in this life; the failed ones go again in arrival order,
// after a back-off with full jitter.
//
// # Threads
//
// Each attempt has a goroutine of its own and a deadline, [limits.InFlight].Timeout. When it passes, the entries go again and a
// late answer is counted, not applied. An attempt that ignores its context keeps its batch and its slot until it returns;
// when such attempts hold every slot for another time-out, the writer stops with [ErrAbandoned].
//
// Everything that touches the writer's state runs one piece at a time in a [mailbox.Executor].
//
//   - By default ([mailbox.Locked]) any goroutine may call any method. No wait holds the lock: a Write that finds no room
//     parks until it is woken, first come first served, while others snapshot, flush or try. New may be called anywhere.
//   - With a [mailbox.Loop] as Config.Executor one goroutine owns the writer, from New to Close; others may call Stats,
//     Settled and what reads a Snapshot. Answers and timers wait in the loop until the owner lets them in, by a call
//     that waits (Write without room, Flush, Close) or by yielding. An owner that does neither for long must run the loop, or
//     batches do not go when their age has come.
//
// Contexts are looked at when a call waits, not before: Write with a context that has ended still accepts an entry for which there
// is room. Whoever closes an executor of their own closes its writers first; one that is closed under a writer stops it
// with [mailbox.ErrClosed].
//
// # Order
//
// [Unordered] is the default: arrival order is tried and not promised. Under [PerKey] the first occurrences of a key's
// entries stand in the order in which they were written, over partial failures, time-outs and restores; duplicates may
// follow. [Total] is PerKey with one key. What it costs is a matter of the destination's [Relation]: an [Independent] one
// has one entry of a key outstanding at a time, with a [Prefix] one the outstanding ones share a request, and a
// [Pipelined] one orders requests itself, so that they are only submitted one after the other, each once the one
// before it has been issued ([Batch.Issued]) or has returned. Behind a pipelined request that fails nothing is issued, and the
// writer stops.
//
// [OnRejected] says what a given-up entry means for the later ones of its key. An entry of unknown effect is never skipped:
// it is tried on past its limits, or stops the writer ([Config].StopOnAmbiguous).
//
// # Limits
//
// Package limits states every limit with its default. Held bounds what is accepted and not settled in memory, by entries and by
// bytes: at a cap Write waits and TryWrite says [ErrFull], unless [Config].Spill names a folder; then what comes goes to a log on
// disk, up to its own cap, and comes back in order. Batch bounds one request. InFlight bounds what is out, and
// moves a window between a floor and a ceiling by what the destination answers. Rate is what may be sent in a second.
// Retry has the back-off, and limits of attempts and age, which are off by default: without them an entry is tried for ever.
// The service's own limits (Traits.Max, Env.Tune) lower those of a batch, also while the writer runs.
//
// # Errors
//
// An entry above the size limit is refused with [*EntryTooLargeError], and nothing else happens. All else is the writer's: it
// stops, for good, when the destination says [Fatal], a submitter panics, an entry is given up and nothing may take it, or
// the dead-letter output fails. Every call then returns the same [*StoppedError], whose chain holds the reason
// ([*SubmitPanicError], [*GivenUpError], [*DeadLetterError], [ErrAbandoned], [ErrUnanswered], [ErrHandedBack], [*StateError]).
// What was held is still there: take a Snapshot, or Close, which returns it. A configuration's faults come all at once,
// in a [*ConfigError].
//
// # Snapshots and restore
//
// [Writer.Snapshot] costs microseconds whatever is held, and waits for nobody: it shows what is buffered, in flight and
// given up without the output's word. It is read or encoded ([Snapshot.Encode], in the format of package statecodec)
// on one other goroutine, while the writer goes on. Close it, since until then the memory and the files of what it shows are kept.
//
// Encode writes all of it. [Snapshot.Changes] writes what no earlier checkpoint has: a runner takes checkpoints every second by it,
// and a backlog of millions costs a bitmap each time. What it needs of the store of checkpoints is the interface [Files].
//
// A later writer of the same name takes it back through [Config].Restore: entries with their identity ([Batch.ID]), age and
// attempts, as there is room under today's caps, and before new ones; until then Write waits, or spills. Sequences go on where the
// earlier life's ended. What is too large today goes to
// the dead letters. A snapshot taken meanwhile holds the part that was not read yet as well. State that another codec or a
// newer version wrote, or that is damaged, is refused by New with a [*StateError], before anything is sent; damage in the files
// that the state shares is found when they are read, and stops the writer, unless [Restore].Damaged is set.
//
// Delivery is at least once. An entry that is sent again after an attempt of unknown effect, or from a snapshot after
// which something may have been sent, counts as a possible duplicate; [Restore].Exact narrows that down.
//
// # Dead letters
//
// [Config].DeadLetters takes what is given up: rejected, above a limit of attempts or age, too large since a limit was lowered,
// or diverted. Until the output says that it is durable an entry is held, so that an output that hangs holds the writers
// back; one that fails is tried five times, and then the writer stops. Nothing is dropped. Without an output, giving up stops
// the writer.
//
// # Settlement
//
// A source that must know what is done (offsets to commit, requests to acknowledge) sets [Config].Settlement and pulls ranges
// of sequences with [Writer.AppendSettled], woken by [Writer.Settled]: no callback runs in the middle of the writer. Each
// sequence comes once, in order of settling, not of writing.
//
// # The end
//
// [Writer.Flush] sends what is held and waits for it; writing goes on. [Writer.EndOfInput] says that nothing more comes, so that what
// is held goes at once, as FLIP-147
// (https://cwiki.apache.org/confluence/display/FLINK/FLIP-147%3A+Support+Checkpoints+After+Tasks+Finished) has it: drain,
// take a final checkpoint, close. [Writer.Close] drains until its context ends, then cancels the attempts, sends nothing
// more, and returns what is left as a final snapshot. [Writer.Keep] takes an entry above the caps for that snapshot. Give it a context with a deadline: without one it waits for a
// destination that is down for as long as that is down.
//
// # Stats
//
// [Writer.Stats] is a copy of counters and gauges that any goroutine may ask for at any time. Its ledger balances, by entries
// and by bytes, at every moment:
//
//	Accepted + Restored = Delivered + Dead + Unwritten + Buffered + InFlight + Spilled
//
// Where exact figures are needed, [Writer.Held] counts what is held and [Writer.Err] is the sticky error.
package asyncsink
