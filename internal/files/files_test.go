package files_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
)

// TestMain lets the test binary be the other process: it takes the lock that it is told, says so, and holds it until its
// input ends.
func TestMain(m *testing.M) {
	if path := os.Getenv("FILES_TEST_LOCK"); path != "" {
		if _, err := (files.OS{}).Lock(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // no Close: the lock ends with the process
	}
	os.Exit(m.Run())
}

var disk files.OS

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestFilesAndFoldersAreThoseOfTheirUserOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, disk.Mkdir(dir))
	require.NoError(t, files.Write(disk, filepath.Join(dir, "a"), write("text")))
	for path, mode := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, filepath.Join(dir, "a"): 0o600} {
		i, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, i.Mode())
	}
	require.ErrorIs(t, disk.Mkdir(dir), fs.ErrExist)
	require.ErrorIs(t, disk.Mkdir(filepath.Join(dir, "b", "c")), fs.ErrNotExist)
}

func TestListHasFilesAndFoldersByNameAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("b"), []byte("text"), 0o600))
	require.NoError(t, os.Chtimes(at("b"), time.Time{}, time.Unix(100, 0)))
	require.NoError(t, os.Mkdir(at("a"), 0o700))
	require.NoError(t, os.Symlink(at("b"), at("link")))
	socket, err := net.Listen("unix", at("socket"))
	require.NoError(t, err)
	defer socket.Close()

	list, err := disk.List(dir)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.True(t, list[0].Dir)
	require.Equal(t, "a", list[0].Name)
	require.Equal(t, files.Info{Name: "b", Size: 4, Modified: time.Unix(100, 0)}, list[1])

	_, err = disk.List(at("none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = disk.List(at("b"))
	require.Error(t, err)
}

func TestCreateTakesNoNameThatIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := disk.Create(path)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	f, err = disk.Create(path)
	require.ErrorIs(t, err, fs.ErrExist)
	require.Nil(t, f)
}

func TestALinkIsASecondNameAndARenameReplaces(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	require.NoError(t, files.Write(disk, a, write("text")))
	require.NoError(t, disk.Link(a, b))
	require.ErrorIs(t, disk.Link(a, b), fs.ErrExist)
	require.ErrorIs(t, disk.Link(c, a), fs.ErrNotExist)
	require.NoError(t, disk.Remove(a))
	require.ErrorIs(t, disk.Remove(a), fs.ErrNotExist)
	require.NoError(t, files.Write(disk, c, write("other")))
	require.NoError(t, disk.Rename(b, c))

	f, err := disk.Open(c)
	require.NoError(t, err)
	defer f.Close()
	part := make([]byte, 2)
	_, err = f.ReadAt(part, 2)
	require.NoError(t, err)
	require.Equal(t, "xt", string(part))
	whole, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "text", string(whole))

	none, err := disk.Open(a)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Nil(t, none)
}

func TestFilesAndFoldersCanBeSynced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, files.Write(disk, filepath.Join(dir, "a"), write("text")))
	require.NoError(t, disk.Sync(filepath.Join(dir, "a")))
	require.NoError(t, disk.Sync(dir))
	require.ErrorIs(t, disk.Sync(filepath.Join(dir, "none")), fs.ErrNotExist)
}

// hold starts another process that holds a lock, and returns once it does.
func hold(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	other := exec.Command(exe)
	other.Env = append(os.Environ(), "FILES_TEST_LOCK="+path)
	other.Stderr = os.Stderr
	stdin, err := other.StdinPipe() // ends with this process at the latest
	require.NoError(t, err)
	stdout, err := other.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = other.Wait() // killed or not
	})
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", said)
	return other
}

func TestALockKeepsASecondProcessOutUntilTheFirstIsGoneHoweverItWent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	other := hold(t, path)
	_, err := disk.Lock(path)
	var locked *files.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, files.LockedError{Path: path, PID: other.Process.Pid}, *locked)
	require.ErrorContains(t, err, fmt.Sprintf("%s is locked by process %d", path, other.Process.Pid))

	require.NoError(t, other.Process.Kill())
	_, _ = other.Process.Wait()
	lock, err := disk.Lock(path)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestALockIsTakenOnceInAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	lock, err := disk.Lock(path)
	require.NoError(t, err)
	_, err = disk.Lock(path)
	var locked *files.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, os.Getpid(), locked.PID)
	require.NoError(t, lock.Close())
	lock, err = disk.Lock(path)
	require.NoError(t, err)
	require.NoError(t, lock.Close())

	_, err = disk.Lock(filepath.Join(path, "LOCK"))
	require.Error(t, err)
}

func TestWhoHoldsALockMayNotHaveSaidSoYet(t *testing.T) {
	require.EqualError(t, &files.LockedError{Path: "/LOCK"}, "/LOCK is locked by another process")
}
