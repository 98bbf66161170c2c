package spill

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files/crashfs"
)

// Wherever the disk gets full, in the middle of a block, of a segment's first bytes or of its trailer: what was taken is
// there, and what was refused was not.
func TestAFullDiskRefusesWholeEntriesAndGoesOnWhereItStopped(t *testing.T) {
	for space := int64(1); space < 2000; space += 17 {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, Segment: 700, block: 256})
		disk.SetSpace(space)
		want := numbered(1, 200, 40)
		taken, err := put(l, want)
		refused := (*DiskError)(nil)
		require.ErrorAs(t, err, &refused)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, "free some space")
		require.Equal(t, err, l.Append(&want[taken], false), "and again")
		require.Equal(t, err, l.Retry())
		require.Equal(t, err, l.Stats().Err)
		require.Equal(t, taken, l.Stats().Entries)
		shown := l.Cut()
		for _, s := range l.Segments() {
			s.Pin()
		}
		if n := len(l.Segments()); n > 0 && l.Segments()[n-1] == l.current {
			require.ErrorIs(t, l.current.Seal(), syscall.ENOSPC, "part of a block is in its file")
		}

		disk.SetSpace(0)
		require.NoError(t, l.Retry())
		require.NoError(t, l.Stats().Err)
		for _, b := range shown { // still as they were
			_, err := entriesOf(b)
			require.NoError(t, err)
		}
		_, err = put(l, want[taken:])
		require.NoError(t, err)
		require.Equal(t, want, seal(t, l))
		require.Equal(t, want, drain(t, l))
		require.NoError(t, l.Close())
	}
}

// The same with the destination back before the disk is: what is half in a file is fed from memory.
func TestWhatTheDiskRefusedIsFedFromMemory(t *testing.T) {
	for space := int64(1); space < 1500; space += 29 {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, Segment: 700, block: 256})
		disk.SetSpace(space)
		want := numbered(1, 200, 40)
		taken, err := put(l, want)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Equal(t, want[:taken], drain(t, l))
		require.Zero(t, l.Stats().Entries)
		require.Zero(t, l.Stats().Bytes)
		more, err := put(l, want[taken:])
		require.True(t, more > 0 || err == nil)
		disk.SetSpace(0)
		_, err = put(l, want[taken+more:])
		require.NoError(t, err)
		require.Equal(t, want[taken:], drain(t, l))
		require.NoError(t, l.Close())
	}
}

// One operation after the other fails once, in a life that makes them all.
func TestNoFailedOperationLosesAnEntry(t *testing.T) {
	for n := 1; ; n++ {
		disk := crashfs.New("/var")
		disk.FailAt(n, syscall.EIO)
		life(t, disk, syscall.EIO)
		if !disk.Failed() {
			require.Greater(t, n, 60)
			break
		}
	}
}

func life(t *testing.T, disk *crashfs.FS, cause error) {
	c := Config{FS: disk, Dir: modelDir, Segment: 16 << 10, block: 256}
	c.Header, c.Section = testHeader, testSection
	l, err := Open(c)
	if err != nil {
		require.ErrorIs(t, err, cause)
		l = open(t, c)
	}
	// again is for what may be tried again.
	again := func(do func() error) {
		if err := do(); err != nil {
			require.ErrorIs(t, err, cause)
			require.NoError(t, do())
		}
	}
	want := numbered(1, 100, 40)
	for i := range want {
		again(func() error { return l.Append(&want[i], false) })
		if i%10 == 9 {
			l.Cut()
		}
	}
	again(l.Retry)
	l.Cut() // what had waited began a segment
	for range 2 {
		m := l.PlanMerge()
		require.NotNil(t, m)
		err := m.Run(context.Background())
		merged := l.EndMerge(m)
		require.Equal(t, err == nil, merged)
		if merged {
			break
		}
		for _, s := range l.Segments() {
			s.broken = false
		}
	}
	for _, s := range l.Segments() {
		if err := s.Seal(); err != nil && !strings.Contains(err.Error(), "close") { // that one says what became of writes
			require.NoError(t, s.Seal())
		}
	}
	var got []uint64
	for b, ok := l.Next(); ok; b, ok = l.Next() {
		again(func() error {
			list, err := entriesOf(b)
			for _, x := range list {
				got = append(got, x.Seq)
			}
			return err
		})
	}
	for i, x := range want {
		require.Equal(t, x.Seq, got[i])
	}
	require.Len(t, got, len(want))
	for _, s := range l.Segments() {
		l.Free(s)
	}
	require.NoError(t, l.Retry())
	require.Zero(t, l.Stats().Disk)
	require.NoError(t, l.Close())
}

func TestOpeningRemovesTheSegmentsOfAnEarlierLifeAndNothingElse(t *testing.T) {
	disk := crashfs.New(modelDir, modelDir+"/000000000009.segment")
	others := []string{"1.segment", "000000000001.segments", "00000000000a.segment", "000000000001.tmp", "0000000000001.segment"}
	for _, name := range append(others, "000000000001.segment", "999999999999.segment") {
		f, err := disk.Create(modelDir + "/" + name)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	l := open(t, Config{FS: disk, Dir: modelDir})
	list, err := disk.List(modelDir)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, i := range list {
		names[i.Name] = true
	}
	want := map[string]bool{"LOCK": true, "000000000009.segment": true}
	for _, name := range others {
		want[name] = true
	}
	require.Equal(t, want, names)
	require.NoError(t, l.Close())
}

func TestTwoLogsDoNotShareAFolder(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir})
	_, err := Open(Config{FS: disk, Dir: modelDir, Header: testHeader, Section: testSection})
	require.ErrorContains(t, err, "is locked by process")
	require.ErrorContains(t, err, "another folder")
	require.NoError(t, l.Close())
	require.NoError(t, open(t, Config{FS: disk, Dir: modelDir}).Close())
}

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	for _, op := range []string{"mkdir", "lock", "list", "remove"} {
		disk := crashfs.New(modelDir)
		f, err := disk.Create(modelDir + "/000000000001.segment")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		disk.FailOn(func(o crashfs.Op) error {
			if o.Name == op {
				return syscall.EACCES
			}
			return nil
		})
		_, err = Open(Config{FS: disk, Dir: modelDir, Header: testHeader, Section: testSection})
		refused := (*DiskError)(nil)
		require.ErrorAs(t, err, &refused, op)
		require.Equal(t, op, refused.Op)
		require.Contains(t, refused.Path, modelDir)
		require.Equal(t, fmt.Sprintf("spill: %s %s: permission denied: let the user of this process read and write the state folder, or use another one",
			op, refused.Path), err.Error())
		disk.FailOn(nil)
		require.NoError(t, open(t, Config{FS: disk, Dir: modelDir}).Close(), "nothing stays locked")
	}
}

func TestFilesThatCannotBeRemovedTakeSpaceAndAreTriedAgain(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, Bytes: 8 << 10, block: 256})
	want := numbered(1, 400, 40)
	taken, err := put(l, want)
	require.ErrorIs(t, err, ErrFull)
	disk.FailOn(func(o crashfs.Op) error {
		if o.Name == "remove" {
			return syscall.EACCES
		}
		return nil
	})
	full := l.Stats().Disk
	drain(t, l)
	require.Equal(t, full, l.Stats().Disk)
	require.ErrorContains(t, l.Stats().Stuck, "files more")
	require.ErrorIs(t, l.Stats().Stuck, syscall.EACCES)
	require.Zero(t, l.Stats().Segments)
	more, err := put(l, want[taken:])
	require.ErrorIs(t, err, ErrFull)
	require.ErrorIs(t, l.Close(), syscall.EACCES)
	require.NoError(t, l.Close(), "once")

	disk.FailOn(nil)
	l = open(t, Config{FS: disk, Dir: modelDir, Bytes: 8 << 10, block: 256})
	_, err = put(l, want[taken+more:])
	require.ErrorIs(t, err, ErrFull)
	disk.FailOn(func(o crashfs.Op) error {
		if strings.HasSuffix(o.Path, "1.segment") && o.Name == "remove" {
			return syscall.EACCES
		}
		return nil
	})
	drain(t, l)
	require.Error(t, l.Stats().Stuck)
	disk.FailOn(nil)
	require.NoError(t, l.Retry())
	require.NoError(t, l.Stats().Stuck)
	require.Zero(t, l.Stats().Disk)
	require.NoError(t, l.Close())
}
