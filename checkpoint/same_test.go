package checkpoint

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The same bucket may be opened twice, by two URLs: what is kept is kept all the same.
func TestNoClaimHoldsWhateverTheStoreIsCalled(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	c := write(t, h, full)
	require.NoError(t, h.Close())

	again := &struct{ Store }{m}
	h = opened(t, m, Options{Retained: 1})
	theirs, err := At(t.Context(), again, c.Name())
	require.NoError(t, err)
	require.NoError(t, h.RestoredFrom(theirs, NoClaim))
	write(t, h, copying(theirs))
	write(t, h, state)
	require.NoError(t, theirs.Verify(t.Context(), nil))
	require.NoError(t, h.Close())
}

// Under a lock the age of a file says nothing, nor does a clock that was set back.
func TestUnderALockASweepRemovesFilesOfTheFuture(t *testing.T) {
	s, err := OpenLocal(t.TempDir())
	require.NoError(t, err)
	h := opened(t, s)
	write(t, h, full)
	require.NoError(t, s.Put(t.Context(), "orders/0/data/1-99", text("left")))
	require.NoError(t, os.Chtimes(s.Path("orders/0/data/1-99"), time.Time{}, time.Now().Add(time.Hour)))
	removed, err := h.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoError(t, h.Close())
}
