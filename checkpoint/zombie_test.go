package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// takeover is what a new process does while the old one is paused.
type takeover struct {
	name   string
	writes int // so many that retention deletes the slot that the old one wants
}

var takeovers = []takeover{{"opens", 0}, {"publishes", 1}, {"publishes and deletes the slot that is wanted", 3}}

// A process is paused before a call of its Write, or after the store has done it, and another takes the state over. The
// manifest that it created before it was paused, if it did, is what the new one begins with.
func TestAPausedProcessThatWakesCannotPublish(t *testing.T) {
	pauses := 0
	for _, by := range takeovers {
		for _, after := range []bool{false, true} {
			for _, lost := range []bool{false, true} { // the answer to its creation
				for n := 1; pauseAt(t, by, n, after, lost); n++ {
					pauses++
				}
			}
		}
	}
	require.Equal(t, 3*2*(8+10), pauses)
}

func pauseAt(t *testing.T, by takeover, n int, after, lost bool) (paused bool) {
	m := newMemory()
	old := opened(t, m, Options{Retained: 1})
	first := write(t, old, full)
	second := write(t, old, sharing(first))

	var fresh *History
	var begun, last *Checkpoint
	calls, at, lose := 0, "", lost
	interfere := func(op string) {
		m.setHook(nil)
		at = op
		fresh = opened(t, m, Options{Retained: 1, Grace: instant})
		begun = newest(t, fresh)
		last = begun
		for range by.writes {
			last = write(t, fresh, sharing(last))
		}
	}
	m.setHook(func(op, _ string) fate {
		if calls++; calls == n {
			if !after {
				interfere(op)
			} else {
				m.done = func(op, _ string) {
					m.done = nil
					interfere(op)
				}
			}
		}
		if lose && op == "create" {
			lose = false
			return failsLate
		}
		return works
	})
	c, err := old.Write(t.Context(), third(second))
	m.setHook(nil)
	if at == "" {
		require.NoError(t, err)
		return false
	}
	what := fmt.Sprintf("%s at call %d, %s (after: %t, lost: %t)", by.name, n, at, after, lost)
	created := begun.ID == second.ID+1
	if c != nil {
		require.True(t, created, what)
		require.Contains(t, []string{"list", "open", "delete"}, at, "%s: it was the newest then", what)
	} else if !errors.Is(err, errStore) { // with it, it learns at the next call what became of it
		requireStale(t, err, what)
	} else {
		require.True(t, lost, what)
	}
	if !created {
		require.Equal(t, second.Manifest, begun.Manifest, what)
		if by.writes == 0 { // else it cannot know that its slot was never its own
			require.NotContains(t, strings.Join(m.names(), " "), "data/1-4", what)
			require.NotContains(t, strings.Join(m.names(), " "), "data/1-5", what)
		}
	}
	_, err = old.Write(t.Context(), full)
	requireStale(t, err, what)
	_, err = old.Sweep(t.Context())
	requireStale(t, err, what)

	require.Equal(t, last.Manifest, newest(t, fresh).Manifest, what)
	last = write(t, fresh, sharing(last)) // what it began with is there still
	_, err = fresh.Sweep(t.Context())
	require.NoError(t, err, what)
	again := opened(t, m, Options{Retained: 1, Grace: instant})
	require.Equal(t, last.Manifest, newest(t, again).Manifest, what)
	write(t, again, sharing(last))
	_, err = again.Sweep(t.Context())
	require.NoError(t, err, what)
	requireNoOrphans(t, m)
	return true
}

func requireStale(t *testing.T, err error, what string) {
	t.Helper()
	var stale *StaleEpochError
	require.ErrorAs(t, err, &stale, what)
	require.Equal(t, StaleEpochError{Epoch: 1, Newer: 2}, *stale, what)
	require.EqualError(t, err, "checkpoint: another process has taken the state over: it has epoch 2, this one has 1: "+
		"stop one of them, or give it an instance of its own", what)
}

// What such a process leaves below the newer one's counts for nothing, also when nobody was there to see it come.
func TestWhatAStaleProcessLeavesIsVoidAndDeleted(t *testing.T) {
	m := newMemory()
	old := opened(t, m)
	write(t, old, full)
	var fresh *History
	m.setHook(func(op, _ string) fate {
		if op == "create" {
			m.setHook(nil)
			write(t, opened(t, m, Options{Retained: 9}), full) // it opens at slot 3, which the old one is about to take
			fresh = opened(t, m, Options{Retained: 9})
			write(t, fresh, full)
			require.NotContains(t, m.names(), "orders/0/chk-00000000000000000003", "there is a newer epoch record")
		}
		return works
	})
	_, err := old.Write(t.Context(), full)
	require.Equal(t, &StaleEpochError{Epoch: 1, Newer: 3}, err)
	require.Contains(t, m.names(), "orders/0/chk-00000000000000000003", "the old one's")
	list, err := List(t.Context(), m, orders)
	require.NoError(t, err)
	require.Len(t, list, 4, "who was not there cannot know")

	write(t, fresh, full)
	require.NotContains(t, m.names(), "orders/0/chk-00000000000000000003")
	_, err = fresh.Find(t.Context(), 3)
	require.ErrorAs(t, err, new(*NotFoundError))
	requireNoOrphans(t, m)
}

// Above the newer one's record it is void for everyone.
func TestASlotOfAnOlderEpochAboveANewerOneCountsForNothing(t *testing.T) {
	m := newMemory()
	old := opened(t, m, Options{Retained: 3})
	write(t, old, full)
	fresh := opened(t, m, Options{Retained: 3}) // at slot 3
	record := m.objects["orders/0/chk-00000000000000000003"].data
	m.delete("orders/0/chk-00000000000000000003") // somebody meddles
	write(t, old, full)
	write(t, old, full)
	require.NoError(t, m.Create(context.Background(), "orders/0/chk-00000000000000000003x", nil)) // not a slot
	m.change("orders/0/chk-00000000000000000003", func([]byte) []byte { return record })

	require.Equal(t, uint64(2), newest(t, opened(t, m.clone())).ID)
	list, err := List(t.Context(), m, orders)
	require.NoError(t, err)
	require.Len(t, list, 1)

	later := m.clone() // for which it could not be deleted
	later.setHook(func(op, name string) fate {
		if op == "delete" && strings.HasSuffix(name, "4") {
			return fails
		}
		return works
	})
	h := opened(t, later, Options{Retained: 9})
	_, err = h.Write(t.Context(), full)
	require.NoError(t, err)
	require.ErrorIs(t, h.PruneError(), errStore)
	list, err = List(t.Context(), later, orders)
	require.NoError(t, err)
	require.Len(t, list, 2, "the record that makes it void is still there")

	_, err = fresh.Write(t.Context(), full)
	require.ErrorContains(t, err, "chk-00000000000000000004 is taken by what a stale process left")
	c := write(t, fresh, full)
	require.Equal(t, uint64(5), c.ID)
	require.NotContains(t, m.names(), "orders/0/chk-00000000000000000004")
	require.Equal(t, c.Manifest, newest(t, opened(t, m)).Manifest)
}
