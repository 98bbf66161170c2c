package asyncsink

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestKeepTakesEntriesAboveTheCapsForTheLastSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := SubmitFunc[string](func(ctx context.Context, _ *Batch[string]) error {
			<-ctx.Done()
			return ctx.Err()
		})
		w, err := New(t.Context(), hang, Traits[string]{Size: func(s string) int { return len(s) }},
			Config{Held: limits.Held{Entries: 1}})
		require.NoError(t, err)
		_, err = w.TryWrite("a")
		require.NoError(t, err)
		_, err = w.TryWrite("b")
		require.ErrorIs(t, err, ErrFull)
		seq, err := w.Keep("b")
		require.NoError(t, err)
		require.EqualValues(t, 2, seq)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		left, err := w.Close(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 2, left.Len())
		_, err = w.Keep("c")
		require.ErrorIs(t, err, ErrClosed)
	})
}
