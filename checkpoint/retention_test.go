package checkpoint

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func ids(t *testing.T, s Store) (ids []uint64) {
	t.Helper()
	list, err := List(t.Context(), s, orders)
	require.NoError(t, err)
	for _, c := range list {
		require.NoError(t, c.Verify(t.Context(), nil))
		ids = append(ids, c.ID)
	}
	return ids
}

func TestTheNewestAreKeptAndTheirFilesAndNoMore(t *testing.T) {
	for _, retained := range []int{0, 1, 2, 5} {
		m := newMemory()
		for range 3 { // lives
			h := opened(t, m, Options{Retained: retained})
			for range 4 {
				write(t, h, full)
				requireNoOrphans(t, m)
			}
			require.NoError(t, h.Close())
		}
		if retained == 0 {
			retained = 2
		}
		all := []uint64{2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15}
		require.Equal(t, all[len(all)-retained:], ids(t, m))
		require.Len(t, m.names(), retained*3+1, "one epoch record")
	}
}

func TestASharedFileLivesAsLongAsAManifestNamesIt(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	first := write(t, h, full)
	last := first
	for range 5 {
		last = write(t, h, sharing(last))
		require.Contains(t, fileNames(last), first.Files[0].Name)
	}
	last = write(t, h, full)
	require.Equal(t, fileNames(last), data(m))
}

func data(m *memory) (names []string) {
	for _, n := range job(m.names()) {
		if strings.HasPrefix(n, dataPrefix) {
			names = append(names, n)
		}
	}
	return names
}

func TestWhatIsRetainedStaysUntilAllHaveReleasedIt(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	c := write(t, h, full)
	one, two := h.Retain(c.ID), h.Retain(c.ID)
	write(t, h, full)
	one()
	one() // no more than once
	write(t, h, full)
	require.Equal(t, []uint64{2, 4}, ids(t, m))
	two()
	write(t, h, full)
	require.Equal(t, []uint64{5}, ids(t, m))
	require.Empty(t, h.retained)
	requireNoOrphans(t, m)
}

func TestWhatIsBeingDeletedIsNotFound(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	c := write(t, h, full)
	var found error
	m.setHook(func(op, name string) fate {
		if op == "delete" && name == c.Name() {
			defer h.Retain(c.ID)() // too late
			_, found = h.Find(context.Background(), c.ID)
		}
		return works
	})
	write(t, h, full)
	require.Equal(t, &NotFoundError{ID: 2, Have: []uint64{3}}, found)
}

func TestWhatCannotBeDeletedIsToldAndTriedAgain(t *testing.T) {
	for _, which := range []string{"chk-", "data/"} {
		m := newMemory()
		h := opened(t, m, Options{Retained: 1})
		write(t, h, full)
		m.setHook(func(op, name string) fate {
			if op == "delete" && strings.Contains(name, which) {
				return fails
			}
			return works
		})
		_, err := h.Write(t.Context(), full)
		require.NoError(t, err, "it is complete")
		require.ErrorIs(t, h.PruneError(), errStore)
		require.ErrorContains(t, h.PruneError(), "checkpoint: delete ")
		m.setHook(nil)
		write(t, h, full)
		require.Equal(t, []uint64{4}, ids(t, m))
		requireNoOrphans(t, m)
	}
}

func TestASweepRemovesWhatNoManifestNamesOnceItIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		old := opened(t, m)
		c := write(t, old, full)
		put := func(name string) {
			require.NoError(t, m.Put(t.Context(), "orders/0/"+name, text("x")))
		}
		for _, name := range []string{"data/1-77", "data/2-77", "data/3-1", "data/notes", "data/01-1", "data/1-1/x", "spill/1", "chk-7"} {
			put(name)
		}
		before := len(m.names())
		h := opened(t, m)
		sweep := func() int {
			n, err := h.Sweep(t.Context())
			require.NoError(t, err)
			return n
		}
		time.Sleep(59 * time.Minute)
		require.Zero(t, sweep(), "a process may be about to name it")
		time.Sleep(time.Minute)
		require.Equal(t, 2, sweep(), "not those of a newer epoch, and not what is not ours")
		require.Len(t, m.names(), before+1-2-1, "and the old epoch record")
		require.NotContains(t, data(m), "data/1-77")
		require.NotContains(t, data(m), "data/2-77")
		require.Zero(t, sweep())
		require.Equal(t, c.Manifest, newest(t, h).Manifest)
	})
}

func TestUnderALockASweepNeedsNoGrace(t *testing.T) {
	s := newLocked()
	h := opened(t, s, Options{Grace: time.Hour})
	write(t, h, full)
	require.NoError(t, s.Put(t.Context(), "orders/0/data/1-77", text("x")))
	n, err := h.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	requireNoOrphans(t, s.memory)
}

func TestASweepThatFailsSaysWhatItCouldNotRemove(t *testing.T) {
	s := newLocked()
	h := opened(t, s)
	write(t, h, full)
	require.NoError(t, s.Put(t.Context(), "orders/0/data/1-77", text("x")))
	for _, f := range []string{"list", "delete"} {
		s.setHook(func(op, _ string) fate {
			if op == f {
				return fails
			}
			return works
		})
		n, err := h.Sweep(t.Context())
		require.Zero(t, n)
		require.ErrorIs(t, err, errStore)
	}
	require.ErrorContains(t, err1(h.Sweep(t.Context())), "delete orders/0/data/1-77")
	s.setHook(nil)
	n, err := h.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func err1[T any](_ T, err error) error { return err }

// A reader that has a checkpoint sees it whole for as long as it retains it, whatever is written meanwhile.
func TestReadersAndAWriterAtTheSameTime(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	write(t, h, full)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			if _, err := h.Write(context.Background(), full); err != nil {
				t.Error(err)
			}
		}
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		c, err := h.Newest(t.Context())
		if err != nil {
			require.ErrorAs(t, err, new(*DamagedError), "subsumed between two looks")
			continue
		}
		release := h.Retain(c.ID)
		if again, err := h.Find(t.Context(), c.ID); err == nil { // it was not gone before
			require.NoError(t, again.Verify(t.Context(), nil))
		}
		release()
		_ = h.PruneError()
	}
}
