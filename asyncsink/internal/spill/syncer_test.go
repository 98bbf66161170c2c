package spill

import (
	"context"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
)

// mebibytes appends as many.
func mebibytes(t *testing.T, l *Log, first, n int) {
	t.Helper()
	_, err := put(l, numbered(first, 4*n, 256<<10))
	require.NoError(t, err)
}

func TestSteadySyncsEach8MiBBesideTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, Sync: Steady, Segment: 20 << 20})
		syncs := func() (n int) {
			synctest.Wait()
			for _, line := range disk.Trace() {
				if strings.Contains(line, "sync") {
					n++
				}
			}
			return n
		}
		mebibytes(t, l, 1, 7)
		require.Equal(t, 0, syncs())
		mebibytes(t, l, 100, 2)
		require.Equal(t, 1, syncs())
		mebibytes(t, l, 200, 8)
		require.Equal(t, 2, syncs())
		mebibytes(t, l, 300, 4) // past the segment's end
		require.Equal(t, 3, syncs())
		s := l.Segments()[0]
		require.NotZero(t, s.Size(), "it is sealed, and synced as a whole")
		require.Len(t, l.Segments(), 2)
		l.Cut()
		require.NoError(t, l.Segments()[1].Seal())
		require.Equal(t, 4, syncs())
		require.NoError(t, l.Close())
	})
}

func TestOnCheckpointNeverSyncs(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, Segment: 10 << 20})
	mebibytes(t, l, 1, 21)
	seal(t, l)
	require.Len(t, l.Segments(), 3)
	for _, line := range disk.Trace() {
		require.NotContains(t, line, "sync")
	}
	require.NoError(t, l.Close())
}

// After a sync that failed, the next one would report success for bytes that are lost.
func TestASegmentIsNotSealedAfterASyncThatFailedButCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, Sync: Steady})
		disk.FailOn(func(o crashfs.Op) error {
			if o.Name == "sync" {
				return syscall.EIO
			}
			return nil
		})
		_, err := put(l, numbered(1, 33, 256<<10)) // the first 32 are written, and then there is a sync
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, l.Stats().Err, syscall.EIO)
		disk.FailOn(nil)
		require.Nil(t, l.PlanMerge(), "it is written to")
		mebibytes(t, l, 100, 1)
		require.Len(t, l.Segments(), 2, "another one was begun")
		l.Cut()
		synctest.Wait()
		for range 2 {
			err := l.Segments()[0].Seal()
			require.ErrorAs(t, err, new(*DiskError))
			require.ErrorIs(t, err, syscall.EIO)
			require.Zero(t, l.Segments()[0].Size())
		}

		m := l.PlanMerge()
		require.NoError(t, m.Run(context.Background()))
		require.True(t, l.EndMerge(m))
		require.Nil(t, l.PlanMerge())
		require.Len(t, seal(t, l), 37)
		require.Len(t, drain(t, l), 37)
		require.NoError(t, l.Close())
	})
}

// slowFS has syncs that end when one is let through.
type slowFS struct {
	*crashfs.FS
	begun int
	let   chan struct{}
}

type slowFile struct {
	files.File
	fs *slowFS
}

func (f *slowFS) Create(path string) (files.File, error) {
	w, err := f.FS.Create(path)
	return slowFile{w, f}, err
}

func (w slowFile) Sync() error {
	w.fs.begun++
	<-w.fs.let
	return w.File.Sync()
}

// A disk that is slower than the writer does not hold it up, is not asked twice for the same, and lets files go in the end.
func TestASlowSyncHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowFS{FS: crashfs.New("/var"), let: make(chan struct{})}
		l := open(t, Config{FS: disk, Dir: modelDir, Sync: Steady, Segment: 64 << 20})
		mebibytes(t, l, 1, 26)
		synctest.Wait()
		require.Equal(t, 1, disk.begun)
		l.Cut()
		s := l.Segments()[0]
		drain(t, l)
		require.Empty(t, l.Segments())
		_, err := disk.Open(s.Path())
		require.NoError(t, err, "a sync holds it")
		disk.let <- struct{}{}
		disk.let <- struct{}{}
		synctest.Wait()
		require.Equal(t, 2, disk.begun, "one of the four that were asked for meanwhile, and one of the whole")
		_, err = disk.Open(s.Path())
		require.ErrorIs(t, err, fs.ErrNotExist)

		mebibytes(t, l, 1000, 9)
		synctest.Wait()
		mebibytes(t, l, 2000, 20)
		closed := false
		go func() {
			require.NoError(t, l.Close())
			closed = true
		}()
		synctest.Wait()
		require.False(t, closed)
		disk.let <- struct{}{}
		synctest.Wait()
		require.True(t, closed, "without the syncs that waited")
		list, err := disk.List(modelDir)
		require.NoError(t, err)
		require.Len(t, list, 1)
	})
}
