package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBusyIsAllButIdleAndWaitingForDisks(t *testing.T) {
	require.InDelta(t, 0.01*(100+20+3+5+6+7), busySeconds("cpu  100 20 3 4000 50 5 6 7 8 9"), 1e-9)
	require.Zero(t, busySeconds("intr 1 2 3 4 5 6 7 8 9"))
	require.Zero(t, busySeconds(""))
}

func TestTheMachineIsDescribed(t *testing.T) {
	t.Setenv("GOGC", "150")
	m := ThisMachine()
	require.Equal(t, runtime.NumCPU(), m.Cores)
	require.Equal(t, runtime.Version(), m.Go)
	require.Equal(t, "150", m.Env["GOGC"])
	if runtime.GOOS != "linux" {
		return
	}
	require.NotEmpty(t, m.Kernel)
	require.Greater(t, m.Memory, int64(64<<20))
	require.Positive(t, busy())
}

func TestAFieldIsFoundByItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "info")
	require.NoError(t, os.WriteFile(path, []byte("a\t: 1\nmodel name\t: Quick: 9000 \nmodel name\t: other\n"), 0o600))
	require.Equal(t, "Quick: 9000", field(path, "model name"))
	require.Empty(t, field(path, "none"))
	require.Empty(t, field(path+"x", "a"))
}

func TestTheCommitIsNamedAndChangesAreSeen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.Equal(t, Commit{}, ThisCommit(t.Context()), "no repository")
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	c := ThisCommit(t.Context())
	require.Len(t, c.Hash, 40)
	require.False(t, c.Dirty)
	require.NoError(t, os.WriteFile("new", nil, 0o600))
	require.True(t, ThisCommit(t.Context()).Dirty)
}
