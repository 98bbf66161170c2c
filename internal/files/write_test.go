package files_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
)

func TestTemporaryNamesAreKnownAndEachIsAnother(t *testing.T) {
	a, b := files.Temp("/d/a"), files.Temp("/d/a")
	require.NotEqual(t, a, b)
	require.Equal(t, "/d", path.Dir(a))
	require.True(t, files.IsTemp(path.Base(a)), a)
	for _, name := range []string{"", "a", "a.tmp", "notes.of-today.tmp", ".01234567.tmp", "a.0123456g.tmp", "a.01234567.tmp.gz"} {
		require.False(t, files.IsTemp(name), name)
	}
}

func TestWhatWasWrittenIsOnTheDiskOnceItsFolderIsSynced(t *testing.T) {
	disk := crashfs.New("/d")
	long := strings.Repeat("text", 50_000)
	require.NoError(t, files.Write(disk, "/d/a", write(long)))
	require.NoError(t, disk.Sync("/d"))
	list, err := disk.Crashed(nil).List("/d")
	require.NoError(t, err)
	require.Equal(t, int64(len(long)), list[0].Size)
}

func TestAWriteThatFailsLeavesNothing(t *testing.T) {
	for n := 1; ; n++ {
		disk := crashfs.New("/d")
		disk.FailAt(n, syscall.ENOSPC)
		err := files.Write(disk, "/d/a", write("text"))
		if !disk.Failed() {
			require.NoError(t, err)
			require.Equal(t, 5, n, "create, write, sync, close")
			break
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
		list, err := disk.List("/d")
		require.NoError(t, err)
		require.Empty(t, list, disk.Trace())
		require.LessOrEqual(t, strings.Count(strings.Join(disk.Trace(), "\n"), " sync "), 1, "it is never tried again")
	}
}

func TestAWriteThatIsGivenUpLeavesNothing(t *testing.T) {
	disk := crashfs.New("/d")
	mine := errors.New("mine")
	require.ErrorIs(t, files.Write(disk, "/d/a", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("x", 1<<17))
		return errors.Join(err, mine)
	}), mine)
	require.PanicsWithValue(t, "mine", func() {
		_ = files.Write(disk, "/d/a", func(io.Writer) error { panic("mine") })
	})
	list, err := disk.List("/d")
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestFoldersAreMadeAndOutliveACrashOnceTheyAreSynced(t *testing.T) {
	disk := crashfs.New("/var")
	for range 2 {
		require.NoError(t, files.MkdirAll(disk, "/var/lib/state/orders"))
	}
	_, err := disk.Crashed(nil).List("/var/lib")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, files.SyncAbove(disk, "/var/lib/state", "/var/lib/state/orders"))
	_, err = disk.Crashed(nil).List("/var/lib/state/orders")
	require.NoError(t, err)

	disk.FailOn(func(o crashfs.Op) error {
		if o.Path == "/srv" {
			return syscall.EACCES
		}
		return nil
	})
	require.ErrorIs(t, files.MkdirAll(disk, "/srv/state"), syscall.EACCES)
}

// Above the root there may be folders that are not ours to read, and file systems that know no sync.
func TestOnlyFoldersOfOthersMayRefuseToBeSynced(t *testing.T) {
	for err, ok := range map[error]bool{syscall.EACCES: true, syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false} {
		for at, above := range map[string]bool{"/": true, "/var": true, "/var/lib": true, "/var/lib/state": false, "/var/lib/state/orders": false} {
			disk := crashfs.New("/var/lib/state/orders/0")
			disk.FailOn(func(o crashfs.Op) error {
				if o.Path == at {
					return err
				}
				return nil
			})
			got := files.SyncAbove(disk, "/var/lib/state/", "/var/lib/state/orders/0")
			require.True(t, disk.Failed())
			if ok && above {
				require.NoError(t, got, at)
			} else {
				require.ErrorIs(t, got, err, at)
			}
		}
	}
}

func TestAPersonIsToldWhatToDo(t *testing.T) {
	for err, hint := range map[error]string{
		syscall.ENOSPC:        "free some space",
		syscall.EDQUOT:        "free some space",
		syscall.EROFS:         "read-only",
		syscall.ENOTDIR:       "move it away",
		syscall.EISDIR:        "move it away",
		syscall.EEXIST:        "move it away",
		syscall.EMFILE:        "ulimit -n",
		syscall.EACCES:        "let the user of this process",
		errors.ErrUnsupported: "a local file system",
		syscall.EIO:           "the kernel's log",
	} {
		require.Contains(t, files.Hint(fmt.Errorf("write: %w", err)), hint)
	}
	require.Empty(t, files.Hint(io.EOF))
	require.Empty(t, files.Hint(nil))
}
