package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// big is entry number i of some keys, of up to 40 KiB, so that a few of them make a block of the log.
func big(i, keys int) string {
	r := rand.New(rand.NewPCG(uint64(i), 9))
	return fmt.Sprintf("k%d:%d:%s", r.IntN(keys), i, strings.Repeat("x", r.IntN(40<<10)))
}

// Writing, spilling, checkpoints and deliveries in any order, over many lives of which some end in a crash and some in good
// order: everything is delivered, and the first occurrences of each key in the order of writing.
func TestNothingIsLostOverSpillsCheckpointsAndLives(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) { longStory(t, r, seed) })
		})
	}
}

func longStory(t *testing.T, r *rig, seed uint64) {
	const total, keys = 600, 5
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	closed := true // the destination answers nothing
	r.to.answers(r.to.storing(func(*Batch[string], int) Kind {
		mu.Lock()
		defer mu.Unlock()
		if closed {
			return Throttled
		}
		return []Kind{Delivered, Delivered, Delivered, Delivered, Retry, Ambiguous}[random.IntN(6)]
	}))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	files := newShelf(t)
	c := Config{
		Order: PerKey, Batch: limits.Batch{Entries: 4, Age: time.Millisecond}, Held: limits.Held{Entries: 12},
		InFlight: limits.InFlight{Controller: limits.Static}, Retry: limits.Retry{Base: time.Millisecond, Cap: 5 * time.Millisecond},
		Spill: Spill{Dir: t.TempDir() + "/spill", Bytes: 8 << 20},
	}
	next, saved := 0, 0 // entries written, and those of them in the last checkpoint
	for life := 0; next < total || life < 6; life++ {
		r.open(c)
		for range 5 + roll(60) {
			switch k := roll(20); {
			case k < 12:
				for range 1 + roll(20) {
					if next == total {
						break
					}
					_, err := r.TryWrite(big(next, keys))
					if errors.Is(err, ErrFull) {
						break
					}
					require.NoError(t, err)
					next++
				}
			case k < 15:
				r.pass(time.Duration(roll(20)) * time.Millisecond)
			case k < 17:
				mu.Lock()
				closed = !closed
				mu.Unlock()
			default:
				c.Restore, saved = files.save(r), next
			}
		}
		if roll(3) > 0 { // killed
			r.end(r.Writer)
			next = saved
			continue
		}
		left, _ := r.Close(r.within(time.Duration(roll(30)) * time.Millisecond))
		c.Restore, saved = nil, next
		if left != nil {
			c.Restore, _, _ = files.write(left)
			files.keep()
			left.Close()
		}
	}
	mu.Lock()
	closed = false
	mu.Unlock()
	r.open(c)
	for ; next < total; next++ {
		r.write(big(next, keys))
	}
	r.drain()
	for k := range keys {
		key := fmt.Sprintf("k%d", k)
		var want []string
		for i := range total {
			if e := big(i, keys); keyOf(e) == key {
				want = append(want, e[:min(len(e), 12)])
			}
		}
		got := firsts(r.to.got(), key)
		for i := range got {
			got[i] = got[i][:min(len(got[i]), 12)]
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(e string) bool { return slices.Contains(got, e) })
		require.Empty(t, missing, "lost")
		require.True(t, slices.Equal(want, got), "out of order: key %s", key)
	}
}

func TestAFullWriterSpillsAndGivesTheSpaceBack(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Held.Entries, c.InFlight.Requests = 10, 1
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 4 << 20}
		r.open(c)
		n := 0
		for ; ; n++ {
			if _, err := r.TryWrite(big(n, 3)); err != nil {
				require.ErrorIs(t, err, ErrFull)
				require.ErrorContains(t, err, "the log is full")
				break
			}
		}
		s := r.Stats()
		require.EqualValues(t, n, s.Accepted.Entries)
		require.EqualValues(t, n-10, s.Spilled.Entries)
		require.Equal(t, n, r.Held())
		require.Greater(t, n, 100)
		require.Greater(t, s.SpillBytes, int64(3<<20))
		require.LessOrEqual(t, s.SpillBytes, int64(4<<20))
		for range n / 2 { // the outage heals: space comes back before all is delivered
			open <- struct{}{}
			r.settle()
		}
		require.Less(t, r.Stats().SpillBytes, s.SpillBytes*3/4)
		_, err := r.TryWrite("k:more")
		require.NoError(t, err)
		close(open)
		_, err = r.Flush(t.Context())
		require.NoError(t, err)
		require.Zero(t, r.Stats().SpillBytes)
		require.Len(t, r.to.got(), n+1)
		for i, e := range r.to.got()[:n] {
			require.True(t, e == big(i, 3), "entry %d is %.10s", i, e)
		}
	})
}

func TestABlockedWriteGoesOnWhenTheDiskHasSpaceAgain(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Held.Entries, c.InFlight.Requests = 10, 1
		c.Spill, c.InFlight.Timeout = Spill{Dir: t.TempDir(), Bytes: 1 << 20}, time.Hour
		r.open(c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		n := 0
		for ; err == nil; n++ {
			_, err = r.Write(ctx, big(n, 3))
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the log is full", "why it waited")
		close(open)
		_, err = r.Write(t.Context(), "k:more")
		require.NoError(t, err)
		r.drain()
		var brief []string
		for _, e := range r.to.got() {
			brief = append(brief, e[:min(8, len(e))])
		}
		require.EqualValues(t, n, r.Stats().Accepted.Entries, "all but the one whose wait ended, and one more")
		require.Len(t, brief, n)
	})
}
