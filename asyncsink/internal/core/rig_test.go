package core

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rig drives a core against a destination that is a function, on a clock that
// jumps from event to event.
type rig[E any] struct {
	t       testing.TB
	core    *Core[E]
	now     Time
	wakeAt  Time
	replies heap[reply[E]]
	// answer is the destination's: when, and what.
	answer func(b *Batch[E]) (after time.Duration, whole Outcome, fails []Failure)
}

type reply[E any] struct {
	at    Time
	b     *Batch[E]
	whole Outcome
	fails []Failure
}

func newRig[E any](t testing.TB, c Config[E], answer func(*Batch[E]) (time.Duration, Outcome, []Failure)) *rig[E] {
	require.NoError(t, c.Limits.Validate())
	return &rig[E]{
		t: t, core: New(c), now: second, answer: answer, wakeAt: Never,
		replies: heap[reply[E]]{key: func(r reply[E]) int64 { return int64(r.at) }},
	}
}

func (r *rig[E]) pump() {
	for {
		switch a := r.core.Next(r.now); a.Kind {
		case Send:
			after, whole, fails := r.answer(a.Batch)
			r.replies.push(reply[E]{r.now.Add(after), a.Batch, whole, fails})
		case Bury:
			r.core.Buried()
		case Wait:
			r.wakeAt = a.Until
			return
		}
	}
}

// step goes to the next event; false: there is none.
func (r *rig[E]) step() bool {
	next, reply := r.wakeAt, r.replies.len() > 0
	if reply {
		next = min(next, r.replies.min().at)
	}
	if next == Never {
		return false
	}
	r.now = max(r.now, next)
	if reply && r.replies.min().at <= r.now {
		x := r.replies.pop()
		r.core.Done(r.now, x.b, x.whole, x.fails)
	}
	r.pump()
	return true
}

// until lets time pass.
func (r *rig[E]) until(end Time) {
	for r.now < end && r.step() {
	}
	r.now = max(r.now, end)
}

// offer waits for room as a blocked Write does.
func (r *rig[E]) offer(e E) {
	for {
		_, err := r.core.Offer(r.now, e)
		if err == nil {
			break
		}
		require.ErrorIs(r.t, err, ErrFull)
		require.True(r.t, r.step(), "full, and nothing will happen")
	}
	if r.core.Noticeable() {
		r.pump()
	}
}

// drain ends the input and goes on until nothing is held.
func (r *rig[E]) drain() {
	r.core.EndOfInput()
	r.pump()
	for r.core.Ledger.Held().Entries > 0 {
		require.True(r.t, r.step(), "held, and nothing will happen")
	}
	require.NoError(r.t, r.core.Ledger.check())
}

// heapInUse is what is reachable now, in bytes.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one only made free
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
