package checkpoint

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// given is a Write whose creation ends in a certain way and whose context ends.
func given(t *testing.T, m *memory, h *History, f fate, fill func(context.Context, *Draft) error) {
	t.Helper()
	m.setHook(func(op, _ string) fate {
		if op == "create" {
			return f
		}
		return works
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := h.Write(ctx, fill)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	m.setHook(nil)
}

// Not after days, and however many attempts and sweeps there were since.
func TestACreationThatWasGivenUpNeverTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		h := opened(t, m, Options{Retained: 1, Grace: instant})
		c := write(t, h, full)
		for range 3 {
			given(t, m, h, hangsLate, sharing(c))
			_, err := h.Sweep(t.Context())
			require.NoError(t, err)
		}
		close(m.released)
		synctest.Wait()
		require.Equal(t, c.Manifest, newest(t, opened(t, m.clone())).Manifest)
		write(t, h, full)
		require.Len(t, m.names(), 1+2+1, "the records go once there is a newer checkpoint")
	})
}

// A manifest that was read badly is not taken for one that is not there.
func TestAManifestThatIsReadBadlyKeepsItsFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &garbling{memory: newMemory()}
		h := opened(t, s)
		c := write(t, h, full)
		given(t, s.memory, h, stallsLate, sharing(c))
		s.bad = true
		_, err := h.Write(t.Context(), full)
		require.NoError(t, err)
		require.ErrorAs(t, h.PruneError(), new(*DamagedError))
		_, err = h.Find(t.Context(), 3)
		require.ErrorAs(t, err, new(*DamagedError))
		s.bad = false
		h = opened(t, s)
		c, err = h.Find(t.Context(), 3)
		require.NoError(t, err)
		require.NoError(t, c.Verify(t.Context(), nil))
	})
}

// garbling is a store that reads badly.
type garbling struct {
	*memory
	bad bool
}

func (g *garbling) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := g.memory.Open(ctx, name)
	if err == nil && g.bad {
		r = io.NopCloser(bytes.NewReader([]byte("noise")))
	}
	return r, err
}

func TestASlotIsDeletedBeforeTheFilesThatItNames(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	_, second := failedJob(t, m)
	require.NoError(t, h.RestoredFrom(second, Claim))
	deleted := 0
	m.setHook(func(op, name string) fate {
		if job, file, ok := strings.Cut(name, "/0/data/"); ok && op == "delete" {
			deleted++
			for slot, o := range m.objects {
				if strings.HasPrefix(slot, job+"/0/"+slotPrefix) {
					assert.NotContains(t, string(o.data), `"data/`+file+`"`, "%s names %s", slot, name)
				}
			}
		}
		return works
	})
	write(t, h, copying(second))
	for range 3 {
		write(t, h, full)
	}
	require.Equal(t, 2+4+2+2, deleted)
}

func TestWhatIsKeptIsKeptAlsoIfAPersonMovesItAwayAndBack(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	kept := write(t, h, full)
	require.NoError(t, h.Close())
	h = opened(t, m, Options{Retained: 1})
	require.NoError(t, h.RestoredFrom(newest(t, h), NoClaim))
	write(t, h, copying(kept))
	m.rename(kept.Path(), "elsewhere")
	write(t, h, full)
	m.rename("elsewhere", kept.Path())
	for range 3 {
		write(t, h, full)
	}
	require.NoError(t, kept.Verify(t.Context(), nil))
	require.Contains(t, m.names(), kept.Path())
}

// That a process is taken over while it sweeps harms nothing either.
func TestAPausedSweepHarmsNothing(t *testing.T) {
	for n := 1; ; n++ {
		m := newMemory()
		old := opened(t, m, Options{Grace: instant})
		last := write(t, old, full)
		require.NoError(t, m.Put(t.Context(), "orders/0/data/1-77", text("x")))
		var fresh *History
		calls := 0
		m.setHook(func(string, string) fate {
			if calls++; calls == n {
				m.setHook(nil)
				fresh = opened(t, m, Options{Retained: 1, Grace: instant})
				for range 3 {
					last = write(t, fresh, sharing(last))
				}
			}
			return works
		})
		_, err := old.Sweep(t.Context())
		m.setHook(nil)
		if fresh == nil {
			require.NoError(t, err)
			break
		}
		require.Equal(t, last.Manifest, newest(t, opened(t, m.clone())).Manifest)
		_, err = old.Sweep(t.Context())
		requireStale(t, err, "")
	}
}
