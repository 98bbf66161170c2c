package asyncsink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestStatsBalanceWheneverAndWhereverTheyAreRead(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			time.Sleep(time.Millisecond)
			for i := range b.Len() {
				b.Set(i, Outcome{Kind: []Kind{Delivered, Retry, Rejected, Ambiguous}[(i+b.Attempt(i))%4]})
			}
			return nil
		})
		r.open(Config{
			DeadLetters: &deadLetters{}, Held: limits.Held{Entries: 200}, InFlight: limits.InFlight{Controller: limits.Static},
			Batch: limits.Batch{Entries: 20, Age: 10 * time.Millisecond}, Retry: limits.Retry{Base: time.Millisecond},
		})
		end := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				for {
					s := r.Stats()
					if s.Accepted.Entries+s.Restored.Entries != s.Delivered.Entries+s.Dead.Entries+s.Held().Entries ||
						s.Accepted.Bytes != s.Delivered.Bytes+s.Dead.Bytes+s.Held().Bytes || s.Held().Entries > 200 {
						t.Errorf("does not balance: %+v", s)
					}
					select {
					case <-end:
						return
					case <-time.After(500 * time.Microsecond):
					}
				}
			})
		}
		r.write(entries(3000, 50)...)
		r.drain()
		close(end)
		readers.Wait()
		s := r.Stats()
		require.EqualValues(t, 3000, s.Delivered.Entries+s.Dead.Entries)
		require.Positive(t, s.Retried.Entries)
		require.Positive(t, s.PossibleDuplicates.Entries)
		require.Equal(t, s.Dead.Entries, s.Rejected)
	})
}

func TestStatsAreAtMost256WritesBehind(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Batch: limits.Batch{Entries: 100_000, Age: time.Hour}})
		for i, e := range entries(2000, 3) {
			r.write(e)
			require.LessOrEqual(t, int64(i+1)-r.Stats().Accepted.Entries, int64(256))
		}
	})
}

func TestStatsShowAgeLatencyWindowAndRequests(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.InFlight.Entries, c.InFlight.Requests = 7, 7
		r.open(c)
		require.Zero(t, r.Stats().OldestAge)
		r.write("a")
		r.pass(time.Second)
		r.write("b")
		r.pass(2 * time.Second)
		s := r.Stats()
		require.Equal(t, 3*time.Second, s.OldestAge)
		require.Equal(t, 2, s.RequestsInFlight)
		require.EqualValues(t, 2, s.Requests)
		require.EqualValues(t, 7, s.Window)
		open <- struct{}{}
		open <- struct{}{}
		r.settle()
		s = r.Stats()
		require.Zero(t, s.OldestAge)
		require.Zero(t, s.RequestsInFlight)
		require.InEpsilon(t, 3*time.Second, s.Latency.Quantile(1), 0.2)
		require.InEpsilon(t, 2*time.Second, s.Latency.Quantile(0.5), 0.2)
	})
}

func TestRefusalsForLoadAreCounted(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		n := 0
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			switch n++; n {
			case 1:
				return Outcome{Kind: Throttled}
			case 2:
				b.Set(1, Outcome{Kind: Throttled})
			case 3:
				return nil
			}
			return nil
		})
		c := Config{}
		c.Batch.Entries = 2
		r.open(c)
		r.write("a", "b")
		r.drain()
		s := r.Stats()
		require.EqualValues(t, 1, s.ThrottledRequests)
		require.EqualValues(t, 3, s.Throttled)
		require.EqualValues(t, 3, s.Retried.Entries)
		require.Zero(t, s.PossibleDuplicates)
	})
}

func TestARequestRejectedAsAWholeIsHalvedUntilTheGuiltyEntryStandsAlone(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := Config{}
		c.Batch.Entries = 8
		dead := r.burying(c)
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			for _, e := range b.All() {
				if e == "bad" {
					return Outcome{Kind: Rejected, Err: errBad}
				}
			}
			return nil
		})
		r.write("a", "b", "c", "bad", "d", "e", "f", "g")
		r.drain()
		require.Equal(t, []string{"bad"}, dead.got())
		require.ElementsMatch(t, []string{"a", "b", "c", "d", "e", "f", "g"}, r.to.got())
		require.EqualValues(t, 3, r.Stats().Bisected)
	})
}

func TestHeldIsExactAndErrIsSticky(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(10, 10)...)
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Restore, c.Held.Entries = from(state), 4
		r.open(c)
		require.Equal(t, 10, r.Held(), "what was not taken back yet included")
		require.NoError(t, r.Err())
		open <- struct{}{}
		r.settle()
		require.Equal(t, 9, r.Held())
		gone := errors.New("gone")
		r.to.answers(fail(Outcome{Kind: Fatal, Err: gone}))
		close(open)
		r.settle()
		for range 2 {
			var stopped *StoppedError
			require.ErrorAs(t, r.Err(), &stopped)
			require.ErrorIs(t, r.Err(), gone)
		}
	})
}

func TestStatsAreUpToDateWhileAWriteWaits(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Held.Entries, c.InFlight.Requests = 5, 1
		r.open(c)
		r.write(entries(5, 5)...)
		waits := r.blocked(t.Context(), "waits")
		require.EqualValues(t, 5, r.Stats().Accepted.Entries)
		close(open)
		require.NoError(t, <-waits)
	})
}
