package core

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func testConfig(l limits.Set) Config[int] {
	return Config[int]{
		Limits: l.WithDefaults(), DeadLetters: true, Rand: rand.New(rand.NewPCG(5, 5)),
		Size: func(int) int { return 100 },
		Hash: func(n int) uint64 { return uint64(n) },
	}
}

var errThrottled = errors.New("throttled")

// 30,000 entries to one throttled shard: the service holds exactly 30,000.
func TestAThrottledShardHoldsExactlyWhatWasWritten(t *testing.T) {
	const entries, perSecond = 30_000, 1000
	stored, tokens, filled := map[int]int{}, 0.0, Time(0)
	var r *rig[int]
	r = newRig(t, testConfig(limits.Set{}), func(b *Batch[int]) (time.Duration, Outcome, []Failure) {
		tokens = min(perSecond, tokens+r.now.Sub(filled).Seconds()*perSecond)
		filled = r.now
		var fails []Failure
		for i, e := range b.Entries {
			if tokens >= 1 {
				tokens--
				stored[e]++
			} else {
				fails = append(fails, Failure{i, Outcome{Kind: Throttled, Err: errThrottled}})
			}
		}
		return 20 * ms, Outcome{}, fails
	})
	for i := range entries {
		r.offer(i)
	}
	r.drain()
	require.Len(t, stored, entries)
	for e, copies := range stored {
		require.Equal(t, 1, copies, "entry %d", e)
	}
	require.Equal(t, Count{entries, 100 * entries}, r.core.Ledger.Delivered)
	require.Less(t, r.now.Sub(0), 40*time.Second, "of 30 that the shard needs")
}

// An entry that always fails backs off; retrying at once made 5,000 requests in 2.6 s.
func TestAnEntryThatAlwaysFailsBacksOff(t *testing.T) {
	for _, kind := range []Kind{Retry, Throttled, Ambiguous, CredentialExpired} {
		r := newRig(t, testConfig(limits.Set{}), func(*Batch[int]) (time.Duration, Outcome, []Failure) {
			return ms / 2, Outcome{Kind: kind, Err: errThrottled}, nil
		})
		r.offer(1)
		r.until(second.Add(2600 * ms))
		require.Less(t, r.core.Counters.Requests, int64(30), kind)
		require.Greater(t, r.core.Counters.Requests, int64(2), kind)
	}
}

// After a drain, memory goes back to about nothing: log, lanes, retries and
// batches let go of what a backlog has made them grow to.
func TestMemoryGoesBackAfterADrain(t *testing.T) {
	for name, order := range map[string]Order{"unordered": Unordered, "per key": PerKey} {
		t.Run(name, func(t *testing.T) {
			const backlog = 200_000
			down := true
			before := heapInUse()
			c := testConfig(limits.Set{
				Held:     limits.Held{Entries: backlog, Bytes: limits.GiB},
				InFlight: limits.InFlight{Requests: 500},
				Retry:    limits.Retry{Base: time.Hour, Cap: time.Hour},
			})
			c.Order = order
			r := newRig(t, c, func(b *Batch[int]) (time.Duration, Outcome, []Failure) {
				if down {
					return ms, Outcome{Kind: Throttled, Err: errThrottled}, nil
				}
				return ms, Outcome{}, nil
			})
			for i := range backlog {
				r.offer(i)
			}
			r.core.Flush()
			r.until(r.now.Add(time.Minute))
			full := heapInUse() - before
			down = false
			r.drain()
			left := heapInUse() - before
			t.Logf("%d entries held: %d kB; drained: %d kB", backlog, full/1000, left/1000)
			require.Greater(t, full, int64(backlog*16))
			require.Less(t, left, int64(3<<20), "what is pooled does not depend on the backlog")
			runtime.KeepAlive(r)
		})
	}
}

// Hot paths allocate nothing once warm.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for name, order := range map[string]Order{"unordered": Unordered, "per key": PerKey} {
		t.Run(name, func(t *testing.T) {
			c := testConfig(limits.Set{})
			c.Order = order
			r := newRig(t, c, func(b *Batch[int]) (time.Duration, Outcome, []Failure) { return ms, Outcome{}, nil })
			n := 0
			round := func() {
				for range 2000 {
					r.offer(n % 700)
					n++
				}
			}
			for range 50 {
				round()
			}
			require.LessOrEqual(t, testing.AllocsPerRun(50, round), 4.0, "for 2,000 entries")
		})
	}
}

func TestOfferSaysWhyItRefuses(t *testing.T) {
	c := New(testConfig(limits.Set{Held: limits.Held{Entries: 1}, Batch: limits.Batch{EntryBytes: 100}}))
	_, err := c.Offer(0, 1)
	require.NoError(t, err)
	_, err = c.Offer(0, 2)
	require.ErrorIs(t, err, ErrFull)

	c.Tune(0, limits.Set{Batch: limits.Batch{EntryBytes: 99}}.WithDefaults())
	_, err = c.Offer(0, 2)
	var large *TooLarge
	require.ErrorAs(t, err, &large)
	require.Equal(t, TooLarge{Size: 100, Limit: 99}, *large)

	c.EndOfInput()
	_, err = c.Offer(0, 2)
	require.ErrorIs(t, err, ErrEnded)
	c.Stop(errThrottled)
	c.Stop(errors.New("a later reason"))
	_, err = c.Offer(0, 2)
	require.ErrorIs(t, err, errThrottled)
}

func TestOldestBornIsOfTheOldestEntryHeld(t *testing.T) {
	r := newRig(t, testConfig(limits.Set{Batch: limits.Batch{Entries: 1}}), func(b *Batch[int]) (time.Duration, Outcome, []Failure) {
		return time.Duration(10-b.Entries[0]) * ms, Outcome{}, nil // the last is answered first
	})
	_, held := r.core.OldestBorn()
	require.False(t, held)
	r.core.Tune(r.now, limits.Set{Batch: limits.Batch{Entries: 1}, InFlight: limits.InFlight{Controller: limits.Static}}.WithDefaults())
	for i := range 3 {
		r.offer(i)
		r.now = r.now.Add(time.Microsecond)
	}
	for held := int64(3); held > 0; held-- {
		born, ok := r.core.OldestBorn()
		require.True(t, ok)
		require.Equal(t, second, born)
		r.step()
	}
	_, held = r.core.OldestBorn()
	require.False(t, held)
}

// An entry that never settles keeps its own chunk and no more, in either order.
func TestStragglersCostTheirChunksOnly(t *testing.T) {
	for name, order := range map[string]Order{"unordered": Unordered, "per key": PerKey} {
		t.Run(name, func(t *testing.T) {
			const stragglers = 2000
			c := testConfig(limits.Set{Retry: limits.Retry{Base: time.Hour, Cap: time.Hour}})
			c.Order, c.Hash = order, func(e int) uint64 { return uint64(e) }
			r := newRig(t, c, func(b *Batch[int]) (_ time.Duration, _ Outcome, fails []Failure) {
				for i, e := range b.Entries {
					if e%chunkLen == 5 {
						fails = append(fails, Failure{i, Outcome{Kind: Throttled, After: 100 * time.Hour, Err: errThrottled}})
					}
				}
				return ms, Outcome{}, fails
			})
			before := heapInUse()
			for i := range stragglers * chunkLen {
				r.offer(i)
			}
			r.until(r.now.Add(time.Second))
			require.EqualValues(t, stragglers, r.core.Ledger.Held().Entries)
			each := (heapInUse() - before) / stragglers
			t.Logf("%d bytes each", each)
			require.Less(t, each, int64(10<<10))
			runtime.KeepAlive(r)
		})
	}
}
