package pipeline

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

// spoil flips a bit behind some bytes in a file of the newest checkpoint.
func spoil(t *testing.T, dir string, f checkpoint.File, behind string) {
	t.Helper()
	path := filepath.Join(dir, "test", "0", f.Name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(data, []byte(behind))
	require.Positive(t, at, "not in %s", f.Name)
	data[at+len(behind)] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// Without positions a source would begin anew: at its start, or at its end.
func TestDamagedPositionsAreNotSkipped(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 30)
		all := checkpoints(t, dir)
		spoil(t, dir, all[len(all)-1].State(), "\x05lines")
		var dst store
		j := job(&lines{total: 40}, &dst, dir)
		j.State.SkipDamaged = true
		log := logged(&j)
		r, err := New(j)
		require.NoError(t, err)
		result := r.Run(context.Background())
		require.Error(t, result.Err, "%+v\n%s", result, log)
	})
}

// What is held of an older file may be unknown; the file itself is whole, and must stay.
func TestWhatADamagedSectionMeansIsKept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 1000)
		all := checkpoints(t, dir)
		c := all[len(all)-1]
		require.Len(t, c.Files, 2)
		spoil(t, dir, c.State(), "\x04sink\x06strin")

		var dst store
		j := job(&lines{total: 1100}, &dst, dir)
		j.State.SkipDamaged, j.State.Retained = true, 1
		log := logged(&j)
		r, err := New(j)
		require.NoError(t, err)
		result := r.Run(context.Background())
		require.NoError(t, result.Err)
		t.Logf("%+v\n%s", result, log)
		j = job(&lines{total: 1200}, &dst, dir) // this process retains what it began with, the next one does not
		j.State.Retained = 1
		require.NoError(t, run(t, j, nil).Err)
		for i := range 1000 {
			if dst.copies()[strconv.Itoa(i)] == 0 {
				for _, f := range c.Files {
					_, err := os.Stat(filepath.Join(dir, "test", "0", f.Name))
					require.NoError(t, err, "record %d was not delivered, and its bytes are gone", i)
				}
			}
		}
	})
}

// A result adds up, also when entries were damaged.
func TestAResultCountsWhatWasDamaged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 2000)
		all := checkpoints(t, dir)
		for _, f := range all[len(all)-1].Files {
			if f.Role == checkpoint.RoleLog {
				spoil(t, dir, f, "\x03999")
			}
		}
		dst := store{trip: time.Millisecond}
		j := job(&lines{total: 2100}, &dst, dir)
		j.State.SkipDamaged = true
		result := run(t, j, nil) // checks the sum
		require.NoError(t, result.Err)
	})
}
