package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
	"github.com/spillway-go/spillway/statecodec"
)

func TestASegmentIsSealedOnceAndThenHasASizeAndAChecksum(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, block: 256})
	_, err := put(l, numbered(1, 50, 40))
	require.NoError(t, err)
	s := l.Segments()[0]
	require.EqualError(t, s.Seal(), "spill: the segment is still written to: Cut ends it")
	l.Cut()
	require.Zero(t, s.Size())
	require.Zero(t, s.CRC32C())
	require.NoError(t, s.Seal())
	ops := disk.Ops()
	require.NoError(t, s.Seal())
	require.Equal(t, ops, disk.Ops())
	require.NotZero(t, s.Size())
	require.Equal(t, modelDir+"/000000000001.segment", s.Path())
	require.NoError(t, l.Close())
}

func TestASegmentThatIsLargeEnoughIsSealedAtOnce(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, block: 256, Segment: 1 << 10})
	_, err := put(l, numbered(1, 50, 40))
	require.NoError(t, err)
	list := l.Segments()
	require.Greater(t, len(list), 2)
	for _, s := range list[:len(list)-1] {
		require.GreaterOrEqual(t, s.Size(), int64(1<<10))
	}
	require.NoError(t, l.Close())
}

func TestAPinnedFileStaysUntilTheLastUnpin(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, block: 256})
	want := numbered(1, 50, 40)
	_, err := put(l, want)
	require.NoError(t, err)
	l.Cut()
	s := l.Segments()[0]
	s.Pin()
	s.Pin()
	drain(t, l)
	require.Empty(t, l.Segments())
	require.NoError(t, s.Seal(), "a snapshot still may")
	require.Len(t, decode(t, content(t, disk, s.Path())), s.Entries())
	space := l.Stats().Disk
	require.EqualValues(t, s.Size(), space)

	require.NoError(t, l.Close())
	s.Unpin()
	_, err = disk.Lock(modelDir + "/LOCK")
	require.ErrorAs(t, err, new(*files.LockedError), "another log would wipe it")
	s.Unpin()
	_, err = disk.Open(s.Path())
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, open(t, Config{FS: disk, Dir: modelDir}).Close())
	require.NoError(t, s.Seal(), "it was")
}

func TestARemovedSegmentCannotBeSealed(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, block: 256})
	_, err := put(l, numbered(1, 50, 40))
	require.NoError(t, err)
	l.Cut()
	s := l.Segments()[0]
	drain(t, l)
	require.ErrorIs(t, s.Seal(), fs.ErrClosed)
	require.NoError(t, l.Close())
}

func TestADamagedBlockIsNamedAndTheOthersAreRead(t *testing.T) {
	l := open(t, Config{Dir: t.TempDir() + "/spill", block: 256})
	_, err := put(l, numbered(1, 30, 40))
	require.NoError(t, err)
	var list []Block
	for len(list) < 5 {
		b, ok := l.Next()
		require.True(t, ok)
		list = append(list, b)
	}
	path := list[0].Segment.Path()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	hurt := list[2]
	var r statecodec.BlockReader
	for at := hurt.at; at < hurt.at+int64(hurt.Bytes+statecodec.HeadBytes); at++ {
		bad := append([]byte{}, whole...)
		bad[at] ^= 0x40
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		damage := (*DamagedError)(nil)
		require.ErrorAs(t, hurt.Read(&r), &damage)
		require.Equal(t, path, damage.Path)
		where := (*statecodec.FormatError)(nil)
		require.ErrorAs(t, damage, &where)
		require.Equal(t, hurt.at, where.Offset)
		require.ErrorContains(t, damage, "go on from the last checkpoint")
		require.NoError(t, list[3].Read(&r))
	}
	for n := range hurt.at + int64(hurt.Bytes) {
		if n%16 == 0 {
			require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
			require.ErrorAs(t, hurt.Read(&r), new(*DamagedError))
		}
	}
	other := append([]byte{}, whole[:hurt.at]...) // a block that is right in itself, of other entries
	w := statecodec.NewBlockWriter(testSection, 0)
	require.NoError(t, w.Add(&statecodec.Entry{Data: make([]byte, hurt.Bytes-4)}))
	require.NoError(t, os.WriteFile(path, append(other, w.Seal()...), 0o600))
	require.ErrorContains(t, hurt.Read(&r), "a block of other entries")

	require.NoError(t, os.Remove(path))
	err = hurt.Read(&r)
	require.ErrorAs(t, err, new(*DiskError))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, l.Close(), "that it is gone is no error")
}

func TestACloseThatFailedIsASyncThatFailed(t *testing.T) {
	for _, policy := range []Policy{OnCheckpoint, Steady} {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, Sync: policy, block: 256})
		_, err := put(l, numbered(1, 50, 40))
		require.NoError(t, err)
		disk.FailOn(func(o crashfs.Op) error {
			if o.Name == "close" {
				return syscall.EDQUOT
			}
			return nil
		})
		l.Cut()
		require.ErrorIs(t, l.Segments()[0].Seal(), syscall.EDQUOT)
		disk.FailOn(nil)
		require.ErrorIs(t, l.Segments()[0].Seal(), syscall.EDQUOT)
		m := l.PlanMerge()
		require.NotNil(t, m)
		require.NoError(t, m.Run(context.Background()))
		require.True(t, l.EndMerge(m))
		seal(t, l)
		require.NoError(t, l.Close())
	}
}

func TestErrorsSayWhatWhereAndWhatToDo(t *testing.T) {
	err := diskError("write", "/a/b", &fs.PathError{Op: "write", Path: "/a/b", Err: syscall.ENOSPC})
	require.EqualError(t, err, "spill: write /a/b: no space left on device: free some space, or put the state on a larger disk")
	require.EqualError(t, diskError("write", "/a/b", errors.New("odd")), "spill: write /a/b: odd")
	require.ErrorIs(t, fmt.Errorf("x: %w", err), syscall.ENOSPC)
}

type halfFile struct{ files.File }

func (halfFile) Write(b []byte) (int, error) { return len(b) / 2, nil }

type halfFS struct{ *crashfs.FS }

func (f halfFS) Create(path string) (files.File, error) {
	w, err := f.FS.Create(path)
	return halfFile{w}, err
}

func TestAWriteThatIsShortWithoutSayingSoIsAnError(t *testing.T) {
	l := open(t, Config{FS: halfFS{crashfs.New("/var")}, Dir: modelDir, block: 256})
	_, err := put(l, numbered(1, 50, 40))
	require.ErrorContains(t, err, "short write")
	require.NoError(t, l.Close())
}
