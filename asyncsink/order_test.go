package asyncsink

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// storing is a destination that decides about each entry by itself and keeps
// those it takes, duplicates included.
func (d *destination) storing(outcome func(b *Batch[string], i int) Kind) func(context.Context, *Batch[string]) error {
	return func(_ context.Context, b *Batch[string]) error {
		for i, e := range b.All() {
			kind := outcome(b, i)
			b.Set(i, Outcome{Kind: kind})
			if kind == Ambiguous { // stored, and nobody was told
				d.mu.Lock()
				d.stored = append(d.stored, e)
				d.mu.Unlock()
			}
		}
		return nil
	}
}

// firsts is the first occurrences of a key's entries.
func firsts(stored []string, key string) (first []string) {
	for _, e := range stored {
		if strings.HasPrefix(e, key+":") && !slices.Contains(first, e) {
			first = append(first, e)
		}
	}
	return first
}

func TestFirstOccurrencesOfAKeyStandInOrderOverFailuresAndLives(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(3, 4))
		r.to.answers(r.to.storing(func(*Batch[string], int) Kind {
			mu.Lock()
			defer mu.Unlock()
			return []Kind{Delivered, Delivered, Retry, Throttled, Ambiguous}[random.IntN(5)]
		}))
		c := Config{
			Order: PerKey, Batch: limits.Batch{Entries: 10, Age: time.Millisecond},
			InFlight: limits.InFlight{Controller: limits.Static}, Retry: limits.Retry{Base: 5 * time.Millisecond, Cap: 20 * time.Millisecond},
		}
		all := entries(400, 8)
		for part := range slices.Chunk(all, 100) { // four lives
			r.open(c)
			r.write(part...)
			r.pass(10 * time.Millisecond)
			s := r.snap()
			c.Restore = from(encode(t, s))
			s.Close()
			r.end(r.Writer) // killed, while requests are out
		}
		r.open(c)
		r.drain()
		for k := range 8 {
			key := keyOf(all[k])
			require.Equal(t, firsts(all, key), firsts(r.to.got(), key))
		}
	})
}

func TestOnlyTheEntriesThatFailedGoAgainAndInArrivalOrder(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Number() > 1 {
				return nil
			}
			for _, i := range []int{6, 1, 4} { // in any order
				b.Set(i, Outcome{Kind: Retry})
			}
			return nil
		})
		c := Config{}
		c.Batch.Entries = 8
		r.open(c)
		r.write("a", "b", "c", "d", "e", "f", "g", "h")
		r.drain()
		sent := r.to.requests()
		require.Len(t, sent, 2)
		require.Equal(t, []string{"b", "e", "g"}, sent[1].entries)
		require.EqualValues(t, 3, r.Stats().Retried.Entries)
	})
}

func TestTheOutcomeOfARequestIsForTheEntriesWithoutOneOfTheirOwn(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := Config{}
		c.Batch.Entries = 3
		dead := r.burying(c)
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Number() > 1 {
				return nil
			}
			b.Set(0, Outcome{Kind: Delivered})
			b.Set(2, Outcome{Kind: Rejected, Err: errBad})
			return Outcome{Kind: Throttled}
		})
		r.write("a", "b", "c")
		r.drain()
		require.Equal(t, []string{"b"}, r.to.requests()[1].entries)
		require.Equal(t, []string{"c"}, dead.got())
		s := r.Stats()
		require.EqualValues(t, 2, s.Delivered.Entries)
		require.EqualValues(t, 1, s.Throttled)
	})
}

// The limiter says no while nothing is in flight: only a timer can help (FLINK-38096).
func TestTheWriterWakesForTheNextPermit(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.Rate.Requests = 5
		c.Rate.RequestBurst = 1
		r.open(c)
		r.write(entries(5, 5)...)
		start := time.Now()
		r.pass(time.Second)
		for i, q := range r.to.requests() {
			require.InDelta(t, time.Duration(i)*200*time.Millisecond, q.at.Sub(start), float64(time.Microsecond))
		}
		require.Len(t, r.to.got(), 5)
	})
}

// Entries taken back leave though nothing new is written (FLINK-29827).
func TestRestoredEntriesLeaveWithinTheirTimeInTheBuffer(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("a", "b")
		r.open(Config{Restore: from(state), Batch: limits.Batch{Age: 500 * time.Millisecond}})
		r.pass(500 * time.Millisecond)
		require.Equal(t, []string{"a", "b"}, r.to.got())
	})
}
