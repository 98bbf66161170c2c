package checkpoint

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// hold starts another process that holds the state, and returns once it does.
func hold(t *testing.T, root string) (other *exec.Cmd, said string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	other = exec.Command(exe)
	other.Env = append(os.Environ(), "CHECKPOINT_TEST_HOLD="+root)
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
	said, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return other, said
}

func TestASecondProcessIsKeptOutUntilTheFirstIsGoneHoweverItWent(t *testing.T) {
	root := t.TempDir()
	other, said := hold(t, root)
	require.Equal(t, "epoch 1\n", said)

	_, err := OpenDir(root, orders)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, LockedError{Path: filepath.Join(root, "orders", "0"), PID: other.Process.Pid}, *locked)
	require.ErrorContains(t, err, "stop it, or give this process an instance of its own")

	second, err := OpenDir(root, Job{Name: "orders", Instance: "1"})
	require.NoError(t, err, "another instance has a folder of its own")
	require.Equal(t, uint64(1), second.Epoch())
	require.NoError(t, second.Close())

	require.NoError(t, other.Process.Kill())
	_, _ = other.Process.Wait()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	require.Equal(t, uint64(2), d.Epoch())
	defer d.Close()

	_, said = hold(t, root)
	require.Contains(t, said, "is in use by process")
}

func TestAFolderIsOpenedOnceInAProcess(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	_, err = OpenDir(root, orders)
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, os.Getpid(), locked.PID)
	require.NoError(t, d.Close())
	d, err = OpenDir(root, orders)
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

func TestAFailedOpeningHoldsNoLock(t *testing.T) {
	root := t.TempDir()
	d, err := OpenDir(root, orders)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	epoch := filepath.Join(d.Path(), epochFile)
	require.NoError(t, os.WriteFile(epoch, []byte("?"), 0o600))
	_, err = OpenDir(root, orders)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(epoch, []byte("7\n"), 0o600))
	d, err = OpenDir(root, orders)
	require.NoError(t, err)
	require.Equal(t, uint64(8), d.Epoch())
	require.NoError(t, d.Close())
}

func TestWhoHoldsTheLockMayNotHaveSaidSoYet(t *testing.T) {
	require.ErrorContains(t, &LockedError{Path: "/state"}, "/state is in use by another process: stop it")
}
