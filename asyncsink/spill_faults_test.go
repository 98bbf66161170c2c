package asyncsink

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files/crashfs"
)

// With the race detector.
func TestMergesMayEndWhileTheWriterCloses(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		for range 40 {
			r.to.answers(hang)
			c := single()
			c.Held.Entries = 3
			c.Spill = Spill{Dir: t.TempDir(), Bytes: 64 << 20}
			r.open(c)
			for i := range 180 {
				r.write(big(i, 3))
				if i%20 == 19 {
					r.snap().Close()
				}
			}
			left, _ := r.Close(r.within(0))
			left.Close()
		}
	})
}

func TestAReadMayEndWhileTheWriterCloses(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		long := entries(2000, 50)
		for i := range long {
			long[i] += strings.Repeat("x", 1000)
		}
		state := r.earlier(long...)
		r.to.answers(hang)
		for range 60 {
			c := single()
			c.Held.Entries = 10
			c.Restore = from(state)
			r.open(c)
			left, _ := r.Close(r.within(0))
			left.Close()
		}
	})
}

// onFullDisk spills onto a disk that has room for half a block, until n entries are held.
func onFullDisk(t *testing.T, r *rig, n int) (*crashfs.FS, *shelf) {
	disk := crashfs.New("/var")
	disk.SetSpace(100 << 10)
	c := single()
	c.Held.Entries, c.disk = 3, disk
	c.Spill = Spill{Dir: "/var/spill", Bytes: 64 << 20}
	r.open(c)
	for i := 0; r.Held() < n; i++ {
		r.write(big(i, 3))
	}
	files := newShelf(t)
	files.disk = disk
	return disk, files
}

func TestCheckpointsGoOnWhileTheDiskIsFullAndWhenItHasSpaceAgain(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		disk, files := onFullDisk(t, r, 20)
		require.Len(t, files.stored(r.Writer, files.save(r)), 20)
		disk.SetSpace(0)
		r.pass(time.Minute)
		require.Len(t, files.stored(r.Writer, files.save(r)), 20)
	})
}

func TestTheLastSnapshotIsWholeAlthoughTheDiskIsFull(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		_, files := onFullDisk(t, r, 20)
		left, _ := r.Close(r.within(time.Second))
		defer left.Close()
		restore, _, _ := files.write(left)
		require.Len(t, files.stored(r.Writer, restore), 20)
	})
}

// A file that the disk can't complete, and all of which is in memory, is written again elsewhere.
func TestAFedFileThatTheDiskCannotCompleteHoldsNoCheckpointUp(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		disk := crashfs.New("/var")
		c := single()
		c.Held.Entries, c.InFlight.Timeout, c.disk = 30, time.Hour, disk
		c.Spill = Spill{Dir: "/var/spill", Bytes: 64 << 20}
		r.open(c)
		files := newShelf(t)
		files.disk = disk
		for i := range 60 {
			r.write(big(i, 3))
		}
		disk.FailOn(func(op crashfs.Op) error {
			if op.Name == "write" || op.Name == "close" {
				return syscall.ENOSPC
			}
			return nil
		})
		for range 32 {
			open <- struct{}{}
			r.settle()
		}
		require.Zero(t, r.Stats().Spilled.Entries)
		require.Len(t, files.stored(r.Writer, files.save(r)), 28)
		disk.FailOn(nil)
		close(open)
	})
}
