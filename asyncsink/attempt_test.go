package asyncsink

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEachAttemptHasADeadlineAndAGoroutineOfItsOwn(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var now, most int
		r.to.answers(func(ctx context.Context, _ *Batch[string]) error {
			deadline, ok := ctx.Deadline()
			if !ok || time.Until(deadline) != 5*time.Second {
				return Outcome{Kind: Fatal, Err: errors.New("no deadline, or another")}
			}
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		c := single()
		c.InFlight.Requests, c.InFlight.Timeout = 3, 5*time.Second
		r.open(c)
		r.write(entries(30, 30)...)
		r.drain()
		require.Equal(t, 3, most)
		require.Len(t, r.to.requests(), 30)
	})
}

func TestTheContextOfAnAttemptEndsWithIt(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		kept := make(chan context.Context, 1)
		r.to.answers(func(ctx context.Context, _ *Batch[string]) error { kept <- ctx; return nil })
		r.open(single())
		r.write("a")
		r.settle()
		require.Error(t, (<-kept).Err(), "and its timer with it")
	})
}

func TestATimeOutSendsTheEntriesAgainAndALateReplyIsNotApplied(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Attempt(0) == 1 {
				time.Sleep(4 * time.Second) // of the two that it may take
				b.Set(0, Outcome{Kind: Fatal, Err: errors.New("too late to matter")})
			}
			return nil
		})
		c := single()
		c.Settlement, c.InFlight.Timeout = true, 2*time.Second
		r.open(c)
		r.write("a")
		r.pass(3 * time.Second)
		s := r.Stats()
		require.EqualValues(t, 1, s.TimedOut)
		require.EqualValues(t, 1, s.Delivered.Entries, "by the second attempt")
		require.Equal(t, Count{Entries: 1, Bytes: 1}, s.PossibleDuplicates)
		require.Equal(t, 1, s.Abandoned, "the first attempt keeps its slot until it returns")
		require.Equal(t, []Range{{First: 1, Last: 1}}, r.AppendSettled(nil))

		r.pass(2 * time.Second)
		s = r.Stats()
		require.EqualValues(t, 1, s.LateReplies)
		require.Zero(t, s.Abandoned)
		require.EqualValues(t, 1, s.Delivered.Entries)
		require.Empty(t, r.AppendSettled(nil))
		r.drain()
	})
}

func TestSubmittersThatIgnoreTheirContextStopTheWriterWhenTheyHoldEverySlot(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		end := make(chan struct{})
		defer close(end)
		r.to.answers(func(context.Context, *Batch[string]) error {
			<-end
			return nil
		})
		c := single()
		c.InFlight.Requests, c.InFlight.Timeout = 2, time.Second
		r.open(c)
		r.write(entries(5, 5)...)
		r.pass(1500 * time.Millisecond)
		require.Len(t, r.to.requests(), 2, "a slot is freed by nothing but a return")
		_, err := r.TryWrite("goes")
		require.NoError(t, err, "they may still come back")

		r.pass(time.Second)
		_, err = r.Write(t.Context(), "refused")
		require.ErrorIs(t, err, ErrAbandoned)
		_, err = r.Flush(t.Context())
		require.ErrorIs(t, err, ErrAbandoned)
		s := r.Stats()
		require.Equal(t, 2, s.Abandoned)
		require.EqualValues(t, 6, s.Held().Entries, "nothing was lost")
		require.Len(t, held(t, r.snap()), 6)
	})
}

func TestABatchIsLeftAloneUntilSubmitReturns(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var before, after []string
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Attempt(0) == 1 && b.At(0) == "a" {
				for _, e := range b.All() {
					before = append(before, e)
				}
				time.Sleep(10 * time.Second)
				for _, e := range b.All() {
					after = append(after, e)
				}
			}
			return nil
		})
		c := Config{}
		c.Batch.Entries, c.InFlight.Timeout = 3, time.Second
		r.open(c)
		r.write("a", "b", "c")
		r.pass(5 * time.Second) // timed out, and sent again
		r.write(entries(300, 3)...)
		r.pass(10 * time.Second)
		require.Equal(t, []string{"a", "b", "c"}, before)
		require.Equal(t, before, after)
		r.drain()
	})
}

func TestSetAfterSubmitHasReturnedIsIgnored(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		kept := make(chan *Batch[string], 1)
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			select {
			case kept <- b: // what a submitter must not do
				return Outcome{Kind: Retry}
			default:
				return nil
			}
		})
		c := Config{}
		c.Batch.Entries = 2
		r.open(c)
		r.write("a", "b")
		r.settle()
		var late sync.WaitGroup
		b := <-kept
		late.Go(func() {
			for range 100 {
				b.Set(1, Outcome{Kind: Fatal})
				b.Issued()
				time.Sleep(time.Millisecond)
			}
		})
		for _, e := range entries(100, 3) {
			r.write(e)
			r.pass(time.Millisecond)
		}
		late.Wait()
		r.drain()
		require.Len(t, r.to.got(), 102)
	})
}

func TestAPanicOfSubmitStopsTheWriterAndLosesNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			b.Set(0, Outcome{Kind: Delivered})
			b.Set(1, Outcome{Kind: Throttled})
			panic("oops")
		})
		c := Config{}
		c.Batch.Entries = 3
		r.open(c)
		r.write("a", "b", "c")
		r.settle()
		r.pass(0)
		_, err := r.Write(t.Context(), "d")
		var stopped *StoppedError
		require.ErrorAs(t, err, &stopped)
		var panicked *SubmitPanicError
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "oops", panicked.Value)
		require.Equal(t, "*asyncsink.destination", panicked.Submitter)
		require.Contains(t, string(panicked.Stack), "attempt_test.go")

		left, err := r.Close(t.Context())
		require.ErrorAs(t, err, &panicked)
		require.True(t, left.Final())
		defer left.Close()
		got := held(t, left)
		require.Equal(t, []string{"b", "c"}, names(t, left))
		require.False(t, got[0].Unsure, "it was said not to be stored")
		require.True(t, got[1].Unsure, "nobody knows what the submitter had done")
	})
}

func TestASubmitThatEndsItsGoroutineStopsTheWriter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error {
			runtime.Goexit()
			return nil
		})
		r.open(single())
		r.write("a")
		r.settle()
		_, err := r.Write(t.Context(), "b")
		require.ErrorContains(t, err, "submitter *asyncsink.destination ended its goroutine")
		left, err := r.Close(t.Context())
		require.Error(t, err)
		defer left.Close()
		got := held(t, left)
		require.Len(t, got, 1)
		require.True(t, got[0].Unsure)
	})
}

func TestOutcomesMayBeSetByManyGoroutinesAtOnceAndTheLastOfAnEntryCounts(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Attempt(0) > 1 {
				return nil
			}
			var wg sync.WaitGroup
			for i := range b.Len() {
				wg.Go(func() {
					b.Set(i, Outcome{Kind: Fatal, Err: errors.New("taken back")})
					if i%3 == 0 {
						b.Set(i, Outcome{Kind: Throttled})
						return
					}
					b.Set(i, Outcome{Kind: Retry})
					b.Set(i, Outcome{Kind: Delivered})
				})
			}
			wg.Wait()
			return nil
		})
		c := Config{}
		c.Batch.Entries = 99
		r.open(c)
		all := entries(99, 99)
		r.write(all...)
		r.drain()
		require.ElementsMatch(t, all, r.to.got())
		sent := r.to.requests()
		require.Len(t, sent, 2)
		require.Len(t, sent[1].entries, 33)
		require.True(t, slices.IsSortedFunc(sent[1].ids, func(a, b ID) int { return int(a.Seq) - int(b.Seq) }), "in arrival order")
		require.EqualValues(t, 33, r.Stats().Throttled)
	})
}

func TestSetOutsideOfTheBatchIsAPanicOfTheSubmitter(t *testing.T) {
	for _, i := range []int{-1, 1} {
		both(t, func(t *testing.T, r *rig) {
			r.to.answers(func(_ context.Context, b *Batch[string]) error {
				b.Set(i, Outcome{})
				return nil
			})
			r.open(single())
			r.write("a")
			r.settle()
			_, err := r.Flush(t.Context())
			var panicked *SubmitPanicError
			require.ErrorAs(t, err, &panicked)
		})
	}
}

func TestABatchShowsWhatItCarries(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var batches []uint64
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			batches = append(batches, b.Number())
			if b.Len() != 2 || b.Bytes() != 5 || b.At(1) != "bbb" || b.Attempt(1) != len(batches) ||
				b.ID(1) != (ID{Writer: r.id, Seq: 2}) || b.ID(0) == b.ID(1) {
				panic("not what was written")
			}
			if len(batches) < 3 {
				return errors.New("again")
			}
			return nil
		})
		c := Config{}
		c.Batch.Entries = 2
		r.open(c)
		r.write("aa", "bbb")
		r.drain()
		require.Equal(t, []uint64{1, 2, 3}, batches)
	})
}

// The answer comes while nobody is in the writer, and wakes whoever waits for it.
func TestAnAnswerIsBookedWhenItComes(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		r.open(single())
		r.write("a")
		synctest.Wait()
		require.EqualValues(t, 1, r.Stats().Delivered.Entries)
	})
}
