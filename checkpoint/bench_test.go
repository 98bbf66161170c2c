package checkpoint

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPut is what goes through a draft to a store that forgets it, in the blocks that a statecodec.Encoder writes.
func BenchmarkPut(b *testing.B) {
	block := make([]byte, 256<<10)
	const blocks = 256
	h, err := Open(b.Context(), forgetful{newMemory()}, orders, Options{})
	require.NoError(b, err)
	b.SetBytes(int64(len(block)) * blocks)
	for b.Loop() {
		_, err := h.Write(b.Context(), func(ctx context.Context, d *Draft) error {
			_, err := d.Put(ctx, RoleState, func(w io.Writer) error {
				for range blocks {
					if _, err := w.Write(block); err != nil {
						return err
					}
				}
				return nil
			})
			require.NoError(b, err)
			return io.EOF
		})
		require.ErrorIs(b, err, io.EOF)
	}
}

type forgetful struct{ *memory }

func (f forgetful) Put(_ context.Context, _ string, fill func(io.Writer) error) error {
	return fill(io.Discard)
}

// BenchmarkWrite is a checkpoint of 100 shared files and a small state file, in memory.
func BenchmarkWrite(b *testing.B) {
	h, err := Open(b.Context(), newMemory(), orders, Options{})
	require.NoError(b, err)
	last, err := h.Write(b.Context(), func(ctx context.Context, d *Draft) error {
		for range 100 {
			_, err := d.Put(ctx, RoleLog, text("log"))
			require.NoError(b, err)
		}
		return state(ctx, d)
	})
	require.NoError(b, err)
	logs := &Checkpoint{Manifest: last.Manifest, folder: last.folder}
	logs.Files = last.Files[:100]
	for b.Loop() {
		_, err := h.Write(b.Context(), sharing(logs))
		require.NoError(b, err)
	}
}
