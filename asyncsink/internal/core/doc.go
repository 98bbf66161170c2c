// Package core is the algorithm of the asynchronous sink's writer: it decides
// which entries go in which request and when, what an answer means for them, and
// what a snapshot shows. It is pure: no goroutine, clock, channel, lock, I/O or
// global randomness of its own (a test reads the source for them). The shell in
// package asyncsink owns those; it tells the core what happened and at what time,
// does what the core wants, and asks again.
//
// # One turn
//
//	event ──▶ Core ──▶ Next(now) ──▶ Send | Bury | Room | Again | Wait
//	  ▲                                 │
//	  └────────────── the shell ◀───────┘
//
// After every event the shell calls [Core.Next] until it says [Wait]; after
// [Core.Offer] only when [Core.Noticeable] says so, so that most entries cost an
// append. Each call is given the present time, which never goes back. A Core is
// not safe for concurrent use.
//
// # Events in
//
//   - [Core.Offer]: an entry. Refused with [ErrFull], [ErrEnded], [TooLarge] or
//     the error that stopped the core; then it was not accepted.
//   - [Core.Done]: the answer to a request; late ones, after the time-out, are
//     counted and free the slot. There is no event for a time-out: Next finds
//     those itself, and Wait names the time of the next one.
//   - [Core.Restore], [Core.Feed], [Core.Divert]: entries of an earlier life come
//     back, before new ones, in answer to Room.
//   - [Core.Snapshot], [Core.Release]: what is held, now; and nobody reads that
//     any more.
//   - [Core.Flush], [Core.EndOfInput]: send without waiting for full batches.
//   - [Core.Tune]: other limits.
//   - [Core.Buried]: the dead-letter output has the last lot.
//   - [Core.Stop]: send no more, for this reason. [Core.Abandon]: treat what is in
//     flight as timed out, and [Core.Keep]: hold this as well, for the last snapshot.
//
// # Actions out
//
//   - [Send]: a [Batch], which is the shell's until it calls Done.
//   - [Bury]: a lot for the dead-letter output; the next follows Buried.
//   - [Room]: that much of what waits may be restored.
//   - [Again]: there is more to do; a step examines a bounded number of entries, so
//     that the shell can serve others in between.
//   - [Wait]: until the time named ([Never]: none), or the next event.
//
// # The life of an entry
//
//	Offer, Restore
//	      │
//	      ▼                     gate closed
//	  frontier ──────────────────────────────────▶ parked in its lane
//	      │ in the order of arrival                      │ gate opens
//	      ▼                                              ▼
//	  open batch ◀── back-off over ── retries          passed
//	      │      ◀───────────────────────│───────────────┘
//	      │ full, or due;                │
//	      │ slot, window, limiter        │ Retry, Throttled, Ambiguous,
//	      ▼                              │ CredentialExpired
//	  in flight ── Done, time-out ───────┤
//	      │                              │ Rejected, or past a limit
//	      │ Delivered                    ▼
//	      │                          given up
//	      ▼                              │ Bury, Buried
//	   settled ◀─────────────────────────┘
//
// An entry is held, and keeps its place in the order of arrival, from acceptance
// until it is settled. A batch is filled with failed entries first, then with
// those whose gate has opened, then from the frontier. It is sent when it is full
// by entries or bytes, when its oldest entry has been ready for the batch's age,
// or at a flush or the end of input: a full buffer sends no partial batch, which
// would end in requests of a few entries.
//
// A request that was refused as a whole is halved until the guilty entry stands
// alone; the parts go before all other batches, one after another.
//
// # Where things are
//
//   - types.go: time, sequences, outcomes, what is kept of an order.
//   - core.go: Config, Core, acceptance, and the events of one line.
//   - next.go: Next; which batch goes when.
//   - fill.go: the open batch: when it is complete or due, and what goes into it.
//   - answer.go: Done and time-outs: what an answer means for each entry.
//   - bisect.go: halving a request, and cutting up what a lowered limit made too large.
//   - log.go: the arrival log: all that is held, in chunks in a slab.
//   - snapshot.go: a view of the log that stays as it is.
//   - batch.go: a request: its entries, and the list of those in flight.
//   - lane.go: a key's queue and gate; index.go: a key's lane by its hash.
//   - retry.go: back-offs, and the way back in arrival order.
//   - window.go: how many entries may be in flight.
//   - limiter.go: rates.
//   - heap.go, latency.go, ledger.go, names.go: what their names say.
//
// # What always holds
//
//   - The [Ledger] balances, by entries and by bytes; each entry settles once.
//   - Held never exceeds its caps when an entry is accepted, requeues included.
//     (Keep alone passes them, when nothing is sent any more.)
//   - An entry that was acknowledged as stored is never sent again in this life.
//   - Under an order the first occurrences of a key's entries reach the destination
//     in the order of arrival: an Independent destination is given one of them at a
//     time, a Prefix one those of a single request; a Pipelined one keeps the order
//     itself and stops the core if it hands any back. An entry whose last attempt
//     may have stored it is not skipped: it is tried on, or stops the core.
//   - Whoever waits knows until when. Only a core that holds nothing but a lot at
//     the dead-letter output, or that has stopped, waits for an event alone.
//   - A snapshot shows what was unsettled at its moment, in order of arrival:
//     buffered, in flight, and given up but not acknowledged by the dead-letter
//     output. What it reads is neither changed nor cleared until Release.
//   - A settled slot holds no payload, once no snapshot reads it. One entry that
//     never settles holds back its own chunk.
//
// # What it costs
//
// An entry is appended, examined once at the frontier, copied into its batch and
// settled as part of a run: O(1), and nothing is allocated once warm, whatever is
// held. With a back-off it costs a share of a heap operation for its answer (one
// timer for the failures of a class), with a gate a map access. A snapshot copies
// the slab's headers, 16 bytes for each 128 entries; the state beside a chunk
// is copied when it is first changed afterwards. BenchmarkHeld, BenchmarkKeys and
// BenchmarkSnapshotPause measure all this.
//
// # How it is tested
//
// The scripts in testdata are conversations with the core and read best as an
// introduction. TestSimulation drives it through thousands of seeded schedules
// with faults, crashes and restores, checks all of the above after every step, and
// is itself proven by seeded bugs (-bugs). Each part has a table test.
package core
