package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// other runs one of the tests below in another process, which is told where the state is.
func other(t *testing.T, test, root string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run", "^"+test+"$", "-test.v=false")
	cmd.Env = append(os.Environ(), "CHECKPOINT_TEST_STATE="+root)
	return cmd
}

// stateToldOf is the state that the other process is told of.
func stateToldOf(t *testing.T) string {
	root := os.Getenv("CHECKPOINT_TEST_STATE")
	if root == "" {
		t.Skip("part of another test, in a process of its own")
	}
	return root
}

func localState(t *testing.T, root string) *Local {
	t.Helper()
	s, err := OpenLocal(root)
	require.NoError(t, err)
	return s
}

// hold starts another process that holds the state, and returns once it does.
func hold(t *testing.T, root string) (process *exec.Cmd, said string) {
	t.Helper()
	process = other(t, "TestHold", root)
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe() // ends with this process at the latest
	require.NoError(t, err)
	stdout, err := process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = process.Wait() // killed or not
	})
	said, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return process, said
}

func TestHold(t *testing.T) {
	h, err := Open(context.Background(), localState(t, stateToldOf(t)), orders, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("epoch", h.Epoch())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // no Close: the lock ends with the process
}

func TestASecondProcessIsKeptOutUntilTheFirstIsGoneHoweverItWent(t *testing.T) {
	root := t.TempDir()
	process, said := hold(t, root)
	require.Equal(t, "epoch 1\n", said)

	_, err := Open(t.Context(), localState(t, root), orders, Options{})
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, LockedError{Path: filepath.Join(root, "orders", "0"), PID: process.Process.Pid}, *locked)
	require.ErrorContains(t, err, "stop it, or give this process an instance of its own")

	second, err := Open(t.Context(), localState(t, root), Job{Name: "orders", Instance: "1"}, Options{})
	require.NoError(t, err, "another instance has a folder of its own")
	require.Equal(t, uint64(1), second.Epoch())
	require.NoError(t, second.Close())

	require.NoError(t, process.Process.Kill())
	_, _ = process.Process.Wait()
	h := opened(t, localState(t, root))
	require.Equal(t, uint64(2), h.Epoch())
	defer h.Close()

	_, said = hold(t, root)
	require.Contains(t, said, "is in use by process")
	require.ErrorContains(t, &LockedError{Path: "/state"}, "/state is in use by another process: stop it", "it may not have said so yet")
}

func TestTheStateOfAJobIsAFolderOfItsOwnersOnly(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "b")
	h := opened(t, localState(t, root))
	first := write(t, h, full)
	c := write(t, h, sharing(first))
	require.Equal(t, filepath.Join(root, "orders", "0"), h.Path())
	require.Equal(t, filepath.Join(h.Path(), "chk-00000000000000000003"), c.Path())
	require.NoError(t, h.Close())
	var there []string
	require.NoError(t, filepath.WalkDir(filepath.Dir(root), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if path == filepath.Dir(root) {
			return nil
		}
		if d.IsDir() {
			require.Equal(t, fs.ModeDir|0o700, info.Mode(), path)
			return nil
		}
		require.Equal(t, fs.FileMode(0o600), info.Mode(), path)
		name, err := filepath.Rel(h.Path(), path)
		there = append(there, filepath.ToSlash(name))
		return err
	}))
	require.Equal(t, []string{"LOCK", "chk-00000000000000000001", "chk-00000000000000000002", "chk-00000000000000000003",
		"data/1-1", "data/1-2", "data/1-3"}, there)
}

func TestWhatACrashLeftInTheFolderIsRemovedAndWhatOthersPutThereIsNot(t *testing.T) {
	root := t.TempDir()
	h := opened(t, localState(t, root))
	c := write(t, h, full)
	require.NoError(t, h.Close())
	ours := []string{"chk-00000000000000000007.0123abcd.tmp", "data/1-9.0123abcd.tmp", "data/1-9"}
	theirs := []string{"notes.tmp", "chk-7", "control.sock", "data/notes", "chk-00000000000000000002.damaged"}
	for _, name := range append(ours, theirs...) {
		require.NoError(t, os.WriteFile(filepath.Join(h.Path(), name), []byte("half"), 0o600))
	}
	h = opened(t, localState(t, root))
	n, err := h.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, c.Manifest, newest(t, h).Manifest)
	require.NoError(t, h.Close())
	for _, name := range ours {
		require.NoFileExists(t, filepath.Join(h.Path(), name))
	}
	for _, name := range theirs {
		require.FileExists(t, filepath.Join(h.Path(), name))
	}
}

func TestErrorsOfTheFileSystemSayWhatToDo(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "orders"), nil, 0o600))
	_, err := Open(t.Context(), localState(t, root), orders, Options{})
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorContains(t, err, "move it away, or use another state folder")

	for err, want := range map[error]string{
		syscall.ENOSPC: "free some space", syscall.EROFS: "read-only", syscall.EACCES: "let the user of this process", syscall.EIO: "the disk fails",
	} {
		got := failed("write checkpoint 7", failed("put data/1-1", &fs.PathError{Op: "write", Path: "/x", Err: err}))
		require.ErrorIs(t, got, err)
		require.Regexp(t, "^checkpoint: write checkpoint 7: put data/1-1: write /x: .*: .*"+want, got.Error())
	}
	require.EqualError(t, failed("read", errors.New("no")), "checkpoint: read: no")
}
