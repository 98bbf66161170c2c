package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func open(t *testing.T, root string) *Dir {
	t.Helper()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// list is what lies in the folder.
func list(t *testing.T, d *Dir) []string {
	t.Helper()
	names, err := disk{}.list(d.path)
	require.NoError(t, err)
	return names
}

func latest(t *testing.T, d *Dir) uint64 {
	t.Helper()
	c, err := d.Latest()
	require.NoError(t, err)
	require.NotNil(t, c)
	return c.ID
}

func TestTheNewestTwoAreKept(t *testing.T) {
	d := open(t, t.TempDir())
	c, err := d.Latest()
	require.NoError(t, err)
	require.Nil(t, c, "none yet")
	for _, id := range []uint64{1, 2, 42} {
		require.NoError(t, d.Write(id, snapshotOf(orders, id)))
		require.Equal(t, id, latest(t, d))
	}
	require.Equal(t, []string{"EPOCH", "JOB", "LOCK", "chk-00000000000000000002", "chk-00000000000000000042"}, list(t, d))
	require.NoError(t, d.PruneError())
}

func TestWhatIsRetainedStaysUntilAllHaveReleasedIt(t *testing.T) {
	d := open(t, t.TempDir())
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	c, err := d.Latest()
	require.NoError(t, err)
	one, two := d.Retain(1), d.Retain(1)
	write := func(id uint64) { require.NoError(t, d.Write(id, snapshotOf(orders, id))) }
	write(2)
	write(3)
	one()
	one() // no more than once
	write(4)
	r, err := c.Open()
	require.NoError(t, err)
	two()
	write(5)
	require.Equal(t, []string{"EPOCH", "JOB", "LOCK", "chk-00000000000000000004", "chk-00000000000000000005"}, list(t, d))
	require.Empty(t, d.retained)

	b, err := io.ReadAll(r) // open files can be read to their end
	require.NoError(t, err)
	require.Len(t, b, int(c.Size))
	require.NoError(t, r.Close())
	_, err = c.Open()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestFilesAndFoldersAreTheOwnersOnly(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "b")
	d := open(t, root)
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode()
	}
	for _, name := range list(t, d) {
		require.Equal(t, fs.FileMode(0o600), mode(filepath.Join(d.Path(), name)), name)
	}
	for dir := d.Path(); dir != filepath.Dir(filepath.Dir(root)); dir = filepath.Dir(dir) {
		require.Equal(t, fs.ModeDir|0o700, mode(dir), dir)
	}
}

func TestWhatACrashLeftIsRemovedAndWhatOthersPutThereIsNot(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	for _, name := range []string{"chk-00000000000000000007.tmp", "EPOCH.tmp", "JOB.tmp", "notes.tmp", "chk-7", "control.sock"} {
		require.NoError(t, os.WriteFile(filepath.Join(d.Path(), name), []byte("half"), 0o600))
	}
	d = open(t, root)
	require.Equal(t, []string{"EPOCH", "JOB", "LOCK", "chk-7", "control.sock", "notes.tmp"}, list(t, d))
	c, err := d.Latest()
	require.NoError(t, err)
	require.Nil(t, c)
}

func TestAFailedFillLeavesNothing(t *testing.T) {
	d := open(t, t.TempDir())
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	before := list(t, d)
	gone := errors.New("encoder gone")

	require.ErrorIs(t, d.Write(2, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 1<<20))
		return errors.Join(err, gone)
	}), gone)
	require.Equal(t, before, list(t, d))

	require.PanicsWithValue(t, "in fill", func() { _ = d.Write(2, func(io.Writer) error { panic("in fill") }) })
	require.Equal(t, before, list(t, d))
	require.NoError(t, d.Write(2, snapshotOf(orders, 2)), "the same number again")
	require.Equal(t, uint64(2), latest(t, d))
}

func TestWriteRefusesWhatLatestWould(t *testing.T) {
	d := open(t, t.TempDir())
	require.NoError(t, d.Write(5, snapshotOf(orders, 5)))
	for _, id := range []uint64{0, 4, 5} {
		require.ErrorIs(t, d.Write(id, snapshotOf(orders, id)), ErrNotAscending)
	}
	require.ErrorContains(t, d.Write(6, snapshotOf(Job{Name: "invoices"}, 6)), `the header names checkpoint 6 of job "invoices", instance "0"`)
	require.ErrorContains(t, d.Write(6, snapshotOf(Job{Name: "orders", Instance: "1"}, 6)), `of job "orders", instance "1"`)
	require.ErrorContains(t, d.Write(6, snapshotOf(orders, 7)), "the header names checkpoint 7")
	require.ErrorContains(t, d.Write(6, func(io.Writer) error { return nil }), "does not begin as a snapshot")
	require.Equal(t, uint64(5), latest(t, d))
	require.NoError(t, d.Write(6, snapshotOf(Job{Name: "orders"}, 6)), "an instance that is not named is the default one")
}

func TestAClosedDirSaysSo(t *testing.T) {
	d := open(t, t.TempDir())
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Write(1, snapshotOf(orders, 1)), ErrClosed)
	_, err := d.Latest()
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, orders, d.Job())
}

func TestSomethingElseWhereAFolderShouldBe(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "orders"), nil, 0o600))
	for _, root := range []string{root, filepath.Join(root, "orders")} {
		_, err := OpenDir(root, orders)
		require.ErrorIs(t, err, syscall.ENOTDIR)
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		require.ErrorContains(t, err, "something else lies where a folder is needed")
	}
}

func TestErrorsOfTheFileSystemSayWhatToDo(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "free some space", syscall.EDQUOT: "free some space", syscall.EROFS: "read-only",
		syscall.EACCES: "let the user of this process", syscall.ENOTSUP: "local file system", syscall.EIO: "the disk fails",
	} {
		m := newModel()
		m.fail, m.err = func(int) bool { return true }, err
		_, got := openDir(m, root, orders)
		require.ErrorIs(t, got, err)
		require.ErrorContains(t, got, want)
	}
	require.EqualError(t, failed("read", io.ErrNoProgress), "checkpoint: read: "+io.ErrNoProgress.Error())
}
