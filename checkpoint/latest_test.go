package checkpoint

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// rewrite changes the bytes of a checkpoint's file.
func rewrite(t *testing.T, d *Dir, id uint64, change func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(d.file(id))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.file(id), change(b), 0o600))
}

func two(t *testing.T) *Dir {
	t.Helper()
	d := open(t, t.TempDir())
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	require.NoError(t, d.Write(2, snapshotOf(orders, 2)))
	return d
}

func TestTheLatestIsReadWholeAndCanBeOpenedOften(t *testing.T) {
	d := two(t)
	c, err := d.Latest()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(d.Path(), "chk-00000000000000000002"), c.Path)
	require.Equal(t, statecodec.Header{Job: "orders", Instance: "0", Checkpoint: 2}, c.Header)
	require.Equal(t, statecodec.Totals{Sections: 1, Entries: some}, c.Totals)
	for range 2 {
		r, err := c.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Len(t, b, int(c.Size))
		require.NoError(t, r.Close())
	}
}

func TestADamagedCheckpointIsNamedAndNothingOlderIsTakenUnasked(t *testing.T) {
	for what, change := range map[string]func(b []byte) []byte{
		"truncated":    func(b []byte) []byte { return b[:len(b)-1] },
		"empty":        func(b []byte) []byte { return nil },
		"a bit":        func(b []byte) []byte { b[len(b)-3]++; return b },
		"longer":       func(b []byte) []byte { return append(b, 0) },
		"another file": func(b []byte) []byte { return []byte("{}") },
		"zeros":        func(b []byte) []byte { clear(b); return b },
	} {
		t.Run(what, func(t *testing.T) {
			d := two(t)
			rewrite(t, d, 2, change)
			_, err := d.Latest()
			var damaged *DamagedError
			require.ErrorAs(t, err, &damaged)
			require.Equal(t, d.file(2), damaged.Path)
			require.Contains(t, damaged.Advice, "move it away to go back to checkpoint 1, at the price of duplicates")
			var format *statecodec.FormatError
			if errors.As(err, &format) {
				require.Equal(t, format.Offset, damaged.Offset)
			} else {
				require.ErrorIs(t, err, statecodec.ErrNotSnapshot)
			}

			require.NoError(t, os.Rename(d.file(2), d.file(2)+".damaged")) // the advice works
			require.Equal(t, uint64(1), latest(t, d))
			rewrite(t, d, 1, change)
			_, err = d.Latest()
			require.ErrorAs(t, err, &damaged)
			require.Contains(t, damaged.Advice, "there is none before it")
		})
	}
}

func TestANewerFormatIsNoDamage(t *testing.T) {
	d := two(t)
	rewrite(t, d, 2, func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[8:], 9) // as drawn in statecodec: version, and the CRC of the bytes before it
		binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], crc32.MakeTable(crc32.Castagnoli)))
		return b
	})
	_, err := d.Latest()
	var newer *statecodec.NewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, uint32(9), newer.Found)
	require.ErrorContains(t, err, d.file(2))
	var damaged *DamagedError
	require.False(t, errors.As(err, &damaged))
}

func TestACheckpointCopiedFromAnotherJobIsRefused(t *testing.T) {
	d := two(t)
	invoices, err := OpenDir(t.TempDir(), Job{Name: "invoices"})
	require.NoError(t, err)
	defer invoices.Close()
	require.NoError(t, invoices.Write(3, snapshotOf(Job{Name: "invoices"}, 3)))
	b, err := os.ReadFile(invoices.file(3))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.file(3), b, 0o600))
	_, err = d.Latest()
	var other *OtherJobError
	require.ErrorAs(t, err, &other)
	require.Equal(t, d.file(3), other.Path)
	require.Equal(t, "invoices", other.Found.Name)
}

func TestAnErrorOfTheDiskIsNoDamage(t *testing.T) {
	d := two(t)
	require.NoError(t, os.Mkdir(d.file(3), 0o700)) // a folder cannot be read
	_, err := d.Latest()
	require.ErrorContains(t, err, "read checkpoint 3")
	var damaged *DamagedError
	require.False(t, errors.As(err, &damaged))
}
