package asyncsink

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/mailbox"
)

// On a loop a checkpoint is a mail. It must find each entry with its sequence
// noted, or not accepted: else the entry is in the checkpoint and read again too.
func TestNoMailRunsBetweenAcceptanceAndReturn(t *testing.T) {
	loop := &mailbox.Loop{}
	null := SubmitFunc[[]byte](func(context.Context, *Batch[[]byte]) error { return nil })
	w, err := New(t.Context(), null, Traits[[]byte]{Size: func(e []byte) int { return len(e) }},
		Config{Executor: loop})
	require.NoError(t, err)
	noted, looked := Seq(0), 0
	for range 20_000 {
		require.NoError(t, loop.Execute("look", func() {
			looked++
			require.Equal(t, noted, w.core.Last())
		}))
		noted, err = w.Write(t.Context(), []byte("entry"))
		require.NoError(t, err)
	}
	require.NotZero(t, looked)
	_, err = w.Close(t.Context())
	require.NoError(t, err)
}
