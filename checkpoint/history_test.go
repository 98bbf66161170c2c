package checkpoint

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestTheFirstLifeFindsNothingAndTheNextOneWhatItLeft(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Program: "v1"})
	require.Equal(t, uint64(1), h.Epoch())
	require.Equal(t, orders, h.Job())
	require.Equal(t, "orders/0", h.Path())
	require.Nil(t, newest(t, h))

	write(t, h, full)
	c := write(t, h, full)
	require.Equal(t, uint64(3), c.ID, "slot 1 is the epoch record")
	require.Equal(t, c, newest(t, h))
	require.NoError(t, h.Close())

	h = opened(t, m)
	require.Equal(t, uint64(2), h.Epoch())
	again := newest(t, h)
	require.Equal(t, c.Manifest, again.Manifest)
	require.Equal(t, "v1", again.Program)
	require.Equal(t, c.Path(), again.Path())
	require.Equal(t, File{Name: "data/1-4", Size: 800, CRC32C: c.Files[1].CRC32C, Role: RoleState}, again.State())
	require.Equal(t, again.Epoch+1, h.Epoch(), "no life came between")
}

func TestEpochsAscendOverLivesAndNoTwoAreAlike(t *testing.T) {
	m := newMemory()
	for life := uint64(1); life <= 20; life++ {
		h := opened(t, m)
		require.Equal(t, life, h.Epoch())
		for range life % 4 { // some write, others end at once
			write(t, h, full)
		}
		require.NoError(t, h.Close())
	}
}

// Those who were overtaken at once are told so; the others find out when they write. One is left.
func TestOfEightThatOpenAtTheSameTimeOneIsLeftAndNoTwoHaveAnEpoch(t *testing.T) {
	for range 20 {
		m := newMemory()
		write(t, opened(t, m), full)
		var opening sync.WaitGroup
		var mu sync.Mutex
		lives := map[uint64]*History{}
		for range 8 {
			opening.Go(func() {
				h, err := Open(t.Context(), m, orders, Options{})
				if err != nil {
					require.ErrorAs(t, err, new(*StaleEpochError))
					return
				}
				mu.Lock()
				defer mu.Unlock()
				require.NotContains(t, lives, h.Epoch())
				lives[h.Epoch()] = h
			})
		}
		opening.Wait()
		left := 0
		for epoch, h := range lives {
			_, err := h.Write(t.Context(), full)
			if err == nil {
				left++
				require.Equal(t, uint64(9), epoch, "the last")
				continue
			}
			var stale *StaleEpochError
			require.ErrorAs(t, err, &stale)
			require.Equal(t, StaleEpochError{Epoch: epoch, Newer: 9}, *stale)
		}
		require.Equal(t, 1, left)
	}
}

func TestALockKeepsTheSecondOutUntilTheFirstCloses(t *testing.T) {
	s := newLocked()
	first := opened(t, s)
	_, err := Open(t.Context(), s, orders, Options{})
	require.ErrorAs(t, err, new(*LockedError))
	_, err = Open(t.Context(), s, Job{Name: "orders", Instance: "1"}, Options{})
	require.NoError(t, err, "another instance has a folder of its own")
	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	second := opened(t, s)
	require.Equal(t, uint64(2), second.Epoch())
	require.NoError(t, second.Close())
}

func TestAFailedOpeningHoldsNoLockAndTakesNoEpochThatIsGivenAgain(t *testing.T) {
	for _, f := range []fate{fails, failsLate, keepsHalf, keepsNone} {
		for n := 1; ; n++ {
			s := newLocked()
			h := opened(t, s)
			write(t, h, full)
			require.NoError(t, h.Close())
			calls := 0
			s.setHook(func(op, _ string) fate {
				calls++
				if calls == n && (op == "create" || f < keepsHalf) {
					return f
				}
				return works
			})
			h, err := Open(t.Context(), s, orders, Options{})
			s.setHook(nil)
			if calls < n {
				require.NoError(t, err)
				break
			}
			if err == nil {
				require.NoError(t, h.Close())
				continue
			}
			if f < keepsHalf {
				require.ErrorIs(t, err, errStore)
			}
			h = opened(t, s)
			require.Greater(t, h.Epoch(), uint64(1))
			require.Equal(t, uint64(2), newest(t, h).ID, "%s at call %d", f, n)
			write(t, h, full)
			require.NoError(t, h.Close())
		}
	}
}

func TestAClosedHistorySaysSo(t *testing.T) {
	h := opened(t, newMemory())
	c := write(t, h, full)
	require.NoError(t, h.Close())
	_, err := h.Write(t.Context(), full)
	require.ErrorIs(t, err, ErrClosed)
	_, err = h.Newest(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	_, err = h.Find(t.Context(), 2)
	require.ErrorIs(t, err, ErrClosed)
	_, err = h.Sweep(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, h.RestoredFrom(c, Continue), ErrClosed)
}

func TestACheckpointIsFoundByItsNumberOrTheOthersAreNamed(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 3})
	for range 3 {
		write(t, h, full)
	}
	c, err := h.Find(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, uint64(3), c.ID)
	for _, id := range []uint64{0, 1, 5} { // 1 is the epoch record
		_, err = h.Find(t.Context(), id)
		require.Equal(t, &NotFoundError{ID: id, Have: []uint64{2, 3, 4}}, err)
	}
	require.EqualError(t, err, "checkpoint: there is no checkpoint 5: choose one of 2, 3, 4")
	require.EqualError(t, &NotFoundError{ID: 5}, "checkpoint: there is no checkpoint 5, nor any other")
}

func TestAllFaultsOfTheOptionsAndTheNamesAreToldAtOnce(t *testing.T) {
	_, err := Open(t.Context(), newMemory(), Job{Name: "a/b", Instance: ".."}, Options{Retained: 1001, Grace: -time.Second})
	require.EqualError(t, err, `checkpoint: name: "a/b": must be without "/", "\", ":" and control characters: it names a folder
instance: "..": must be without a dot or space at its start, or a space at its end: it names a folder
retained: 1001: must be 1 to 1000
grace: -1s: must be 0s to 87600h0m0s`)
	require.ErrorAs(t, err, new(*NameError))
	require.ErrorAs(t, err, new(*limits.Fault))
	require.NoError(t, Options{Retained: 1000, Grace: 10 * 365 * 24 * time.Hour}.Validate())
	require.Error(t, Options{Retained: -1}.Validate())
	require.Error(t, Options{Grace: 11 * 365 * 24 * time.Hour}.Validate())
}

// Write with nothing new costs four calls, and those that delete what it subsumes.
func TestWhatAWriteAsksOfTheStore(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	first := write(t, h, full)
	shared := *first
	shared.Files = first.Files[:1]
	for range 3 {
		write(t, h, sharing(&shared))
	}
	begin := len(m.calls)
	c := write(t, h, sharing(&shared))
	require.Equal(t, []string{
		"put data/1-6", "list data/", "create chk-00000000000000000006", "list chk-",
		"delete chk-00000000000000000004", "delete data/1-4",
	}, m.since(begin))
	require.Equal(t, []string{"data/1-1", "data/1-6"}, fileNames(c))
}

func TestAStoreThatSaysThereIsAndListsNothingIsAnErrorAndNoLoop(t *testing.T) {
	m := newMemory()
	m.hook = func(op, _ string) fate {
		if op == "create" {
			return failsLate
		}
		return works
	}
	s := hiding{m}
	_, err := Open(t.Context(), s, orders, Options{})
	require.ErrorIs(t, err, errStore)
	_, err = Open(t.Context(), s, orders, Options{})
	require.ErrorIs(t, err, ErrExists)
	require.ErrorContains(t, err, "does not list it")
}

// hiding lists nothing.
type hiding struct{ *memory }

func (hiding) List(context.Context, string) ([]Info, error) { return nil, nil }
