package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ample = time.Minute
	brief = 2 * time.Second // enough for what does not hang, also on a busy machine
)

func TestTheLastLineThatARunPrintsIsItsFigures(t *testing.T) {
	m, err := measure(t.Context(), command("print", `{"records":5,"cost":1.5}`), ample)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"records": 5, "cost": 1.5}, m.figures)
}

func TestAProcessIsMeasuredFromOutside(t *testing.T) {
	m, err := measure(t.Context(), command("print", `{"records":5}`), ample)
	require.NoError(t, err)
	require.Positive(t, m.wall)
	require.Positive(t, m.cpu)
	require.Greater(t, m.peak, int64(1<<20), "a Go program takes more than 1 MiB")
	require.Less(t, m.peak, int64(1<<32))
}

func TestARunThatFailsSaysWhy(t *testing.T) {
	_, err := measure(t.Context(), command("fail", "the disk is full"), ample)
	var failed *RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "the disk is full", failed.Stderr)
	require.ErrorContains(t, err, "exit status 3: the disk is full")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
}

func TestARunThatPrintsNoFiguresHasFailed(t *testing.T) {
	for _, last := range []string{"done", `{"records":"many"}`, `{}`, `[1]`} {
		_, err := measure(t.Context(), command("print", last), ample)
		require.ErrorContains(t, err, "is not a JSON object of figures", last)
	}
	_, err := measure(t.Context(), []string{"true"}, ample)
	require.ErrorContains(t, err, "it printed no figures")
}

func TestACommandThatIsNotThereIsNamed(t *testing.T) {
	_, err := measure(t.Context(), []string{"./no-such-program"}, ample)
	require.ErrorContains(t, err, "no-such-program")
}

func TestARunThatHangsIsEndedAndNobodyElseIs(t *testing.T) {
	dir := t.TempDir()
	other := command("hang", filepath.Join(dir, "other"))
	bystander := exec.Command(other[0], other[1:]...)
	require.NoError(t, bystander.Start())
	t.Cleanup(func() {
		require.NoError(t, bystander.Process.Kill())
		_ = bystander.Wait()
	})

	_, err := measure(t.Context(), command("hang", filepath.Join(dir, "hangs")), brief)
	var late *TimeLimitError
	require.ErrorAs(t, err, &late)
	require.Equal(t, brief, late.Limit)

	who, err := os.ReadFile(filepath.Join(dir, "hangs"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(who))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "it is gone")
	require.NoError(t, bystander.Process.Signal(syscall.Signal(0)), "the other one is not")
}

func TestOnlyTheEndOfLongOutputIsKept(t *testing.T) {
	k := &tail{max: 10}
	for _, s := range []string{"abc", strings.Repeat("x", 50), "0123456", "89"} {
		n, err := k.Write([]byte(s))
		require.NoError(t, err)
		require.Len(t, s, n)
	}
	require.Equal(t, "x012345689", string(k.b))
}
