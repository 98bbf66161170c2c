package statecodec

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Above 2 GiB nothing overflows, and neither side's memory grows with the snapshot.
func TestASnapshotAboveTwoGiBIsStreamedInTheMemoryOfABlock(t *testing.T) {
	const entries, size = 2100, 1 << 20
	data := make([]byte, size)
	out, in := io.Pipe()
	defer out.Close()
	write := func() error {
		e, err := NewEncoder(in, Header{Job: "orders"})
		if err != nil {
			return err
		}
		err = e.Begin(Section{Operator: "sink", Kind: KindBuffer})
		for seq := uint64(0); err == nil && seq < entries; seq++ {
			err = e.Entry(&Entry{Seq: seq, Data: data})
		}
		return errors.Join(err, e.Close(), in.Close())
	}
	written := make(chan error, 1)
	got := allocated(func() {
		go func() { written <- write() }()
		d, err := NewDecoder(io.MultiReader(out, strings.NewReader("more")), Caps{})
		require.NoError(t, err)
		_, err = d.Next()
		require.NoError(t, err)
		for seq := range uint64(entries) {
			var e Entry
			require.NoError(t, d.Entry(&e))
			require.Equal(t, seq, e.Seq)
			require.Len(t, e.Data, size)
		}
		_, err = d.Next()
		require.NoError(t, <-written)
		f := fault(t, err) // and what is wrong behind 2 GiB is found at its place
		require.Equal(t, Trailing, f.Fault)
		require.Greater(t, f.Offset, int64(entries*size))
		require.Equal(t, Totals{Sections: 1, Entries: entries}, d.Totals())
	})
	t.Logf("%d MiB through %d KiB", entries*size>>20, got>>10)
	require.Less(t, got, uint64(16*size))
}
