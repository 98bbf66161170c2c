package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const instant = time.Nanosecond // of grace: what is older is swept

// third is a checkpoint that makes use of all: a new state, a file that is shared, one that is copied.
func third(before *Checkpoint) func(context.Context, *Draft) error {
	return func(ctx context.Context, d *Draft) error {
		if err := d.Share(before.Files[0]); err != nil {
			return err
		}
		if _, err := d.CopyFrom(ctx, before, before.Files[1]); err != nil {
			return err
		}
		return state(ctx, d)
	}
}

// requireWhole is what a process finds that opens the state now, also if this one were gone.
func requireWhole(t *testing.T, m *memory, ids ...uint64) {
	t.Helper()
	require.Contains(t, ids, newest(t, opened(t, m.clone())).ID)
}

// At each call of a Write the store fails, stalls until the context ends, hangs, or lies.
func TestWhateverTheStoreDoesInAWriteTheLastCompleteCheckpointIsThereAndTheNextWriteWorks(t *testing.T) {
	seen := map[string]int{}
	for f := fails; f <= keepsNone; f++ {
		for n := 1; ; n++ {
			op := ""
			synctest.Test(t, func(t *testing.T) { op = writeWith(t, f, n) })
			if op == "" {
				break
			}
			seen[op]++
		}
	}
	require.Equal(t, map[string]int{"copy": 8, "put": 8, "list": 16, "create": 8, "delete": 24}, seen)
}

// writeWith lets the n-th call of a Write end in a certain way. It returns which that was; empty: there were fewer.
func writeWith(t *testing.T, f fate, n int) (op string) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1, Grace: instant})
	first := write(t, h, full)
	second := write(t, h, sharing(first))
	calls := 0
	m.setHook(func(o, _ string) fate {
		if calls++; calls == n {
			op = o
			return f
		}
		return works
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := h.Write(ctx, third(second))
	m.setHook(nil)
	what := fmt.Sprintf("%s at call %d, %s", f, n, op)
	made := op == "create" && (f == failsLate || f == stallsLate) || n > 4 // the manifest was there when it went wrong
	switch {
	case op == "":
		require.NoError(t, err)
	case err == nil:
		require.Equal(t, uint64(4), c.ID, what)
		require.True(t, made || op == "list" && f >= keepsHalf, what)
		requireWhole(t, m, 4)
	case made:
		requireWhole(t, m, 4)
	default:
		requireWhole(t, m, 3)
	}
	if f == stalls || f == stallsLate || f == hangs || f == hangsLate {
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded, what)
		}
	} else if err != nil && f < keepsHalf {
		require.ErrorIs(t, err, errStore, what)
	}

	before, err := h.Newest(t.Context())
	require.NoError(t, err, what)
	next := write(t, h, sharing(before)) // of what this process knows
	require.Equal(t, next.Manifest, newest(t, h).Manifest, what)
	close(m.released) // what hangs goes on, if it does after all that
	synctest.Wait()
	requireWhole(t, m, next.ID)
	time.Sleep(2 * instant)
	_, err = h.Sweep(t.Context())
	require.NoError(t, err, what)
	requireWhole(t, m, next.ID)
	requireNoOrphans(t, m)
	list, err := List(t.Context(), m, orders)
	require.NoError(t, err, what)
	require.Len(t, list, 1, what)
	require.Len(t, m.names(), 2+len(next.Files), "%s: its files, its manifest, an epoch record", what)
	return op
}

func TestAnAmbiguousCreationIsResolvedBothWays(t *testing.T) {
	for _, f := range []fate{stalls, stallsLate, hangs, hangsLate} {
		for _, by := range []string{"write", "sweep"} {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				h := opened(t, m, Options{Grace: instant})
				before := write(t, h, full)
				m.setHook(func(op, _ string) fate {
					if op == "create" {
						return f
					}
					return works
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := h.Write(ctx, sharing(before))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				m.setHook(nil)
				require.Contains(t, m.names(), "orders/0/data/1-3", "nobody knows whether a manifest names it")

				if by == "sweep" {
					_, err := h.Sweep(t.Context())
					require.NoError(t, err)
					if f == stallsLate {
						require.Equal(t, uint64(3), newest(t, h).ID, "complete after all")
					} else {
						require.Equal(t, uint64(2), newest(t, h).ID, "it never will be")
						require.NotContains(t, m.names(), "orders/0/data/1-3")
					}
				}
				c := write(t, h, sharing(before))
				require.Equal(t, uint64(4), c.ID, "the number is used up either way")
				close(m.released)
				synctest.Wait()
				_, err = h.Find(t.Context(), 3)
				if f == stallsLate {
					require.NoError(t, err)
				} else {
					require.ErrorAs(t, err, new(*NotFoundError))
				}
				require.Equal(t, c.Manifest, newest(t, opened(t, m)).Manifest)
			})
		}
	}
}

// A store that is away for long must not be filled with what failed.
func TestWritesThatFailAgainAndAgainLeaveNoMoreThanOneAttempt(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	write(t, h, full)
	m.setHook(func(op, _ string) fate {
		if op == "create" {
			return fails
		}
		return works
	})
	for range 5 {
		_, err := h.Write(t.Context(), full)
		require.ErrorIs(t, err, errStore)
		require.Len(t, m.names(), 2+2+2)
	}
	m.setHook(nil)
	write(t, h, full)
	require.Equal(t, []string{"chk-00000000000000000002", "chk-00000000000000000003", "chk-00000000000000000004",
		"data/1-1", "data/1-2", "data/1-5", "data/1-6"}, job(m.names()))
}

func job(names []string) []string {
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], "orders/0/")
	}
	return names
}

func TestAFailedFillLeavesNothing(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	write(t, h, full)
	before := m.names()
	gone := errors.New("the snapshot is gone")

	_, err := h.Write(t.Context(), func(ctx context.Context, d *Draft) error {
		return errors.Join(full(ctx, d), gone)
	})
	require.ErrorIs(t, err, gone)
	require.EqualError(t, err, "checkpoint: write checkpoint 3: the snapshot is gone")
	require.Equal(t, before, m.names())

	require.PanicsWithValue(t, "in fill", func() {
		_, _ = h.Write(t.Context(), func(ctx context.Context, d *Draft) error {
			require.NoError(t, full(ctx, d))
			panic("in fill")
		})
	})
	require.Equal(t, before, m.names())

	ctx, cancel := context.WithCancel(t.Context())
	_, err = h.Write(ctx, func(ctx context.Context, d *Draft) error {
		require.NoError(t, full(ctx, d))
		cancel()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, m.names())
	require.Equal(t, uint64(3), write(t, h, full).ID, "the number was not used")
}

func TestAStoreThatEndsItsGoroutineIsNotWaitedFor(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	for _, call := range []string{"put", "list", "create"} {
		m.setHook(func(op, _ string) fate {
			if op == call {
				runtime.Goexit()
			}
			return works
		})
		_, err := h.Write(t.Context(), full)
		require.ErrorIs(t, err, errNoAnswer)
		m.setHook(nil)
		write(t, h, full)
	}
}

func TestOpeningEndsWithItsContextAlsoIfTheStoreHangs(t *testing.T) {
	for _, call := range []string{"list", "open", "create"} {
		synctest.Test(t, func(t *testing.T) {
			m := two(t)
			m.released = make(chan struct{}) // of this bubble
			m.setHook(func(op, _ string) fate {
				if op == call {
					return hangsLate
				}
				return works
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := Open(ctx, m, orders, Options{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			m.setHook(nil)
			h := opened(t, m)
			require.Equal(t, uint64(3), newest(t, h).ID)
			close(m.released)
			synctest.Wait()
			write(t, h, full)
		})
	}
}
