package main

import (
	"bufio"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// asCommand in the environment makes the test's binary the command.
const asCommand = "BE_THE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// A real process, with real signals, an exit status and a file that it was started for.
func TestARealProcessStopsOnSIGTERMAndGoesOnAfterwards(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Chdir(t.TempDir())
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}})
	hs := httptest.NewServer(srv)
	t.Cleanup(hs.Close)
	require.NoError(t, os.WriteFile("in.jsonl", []byte(numbered(0, 500)), 0o600))
	require.NoError(t, os.WriteFile("job.yaml", []byte(plainJob), 0o600))
	srv.Inject(kinesistest.MustParseFault("PutRecords hang"))

	start := func(args ...string) (cmd *exec.Cmd, stdout *strings.Builder, stderr *bufio.Reader) {
		cmd = exec.Command(os.Args[0], append([]string{"run", "job.yaml", "--sink.kinesis.endpoint=" + hs.URL, "--state.interval=1ms"}, args...)...)
		cmd.Env = append(os.Environ(), asCommand+"=1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test")
		stdout = &strings.Builder{}
		cmd.Stdout = stdout
		pipe, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, stdout, bufio.NewReader(pipe)
	}

	cmd, stdout, stderr := start("--shutdown.deadline=10h")
	waitFor(t, stderr, " entries=500")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	waitFor(t, stderr, "INFO stopping")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, err := io.Copy(io.Discard, stderr)
	require.NoError(t, err)
	require.ErrorContains(t, cmd.Wait(), "exit status 3")
	require.Equal(t, "spillway: stopped accepted=500 restored=0 delivered=0 dead=0 left=500 possible_duplicates=0\n", stdout.String())

	srv.ClearFaults()
	cmd, stdout, stderr = start()
	waitFor(t, stderr, "INFO restored checkpoint=")
	_, err = io.Copy(io.Discard, stderr)
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	r := ran{0, stdout.String(), ""}
	_, c := r.last(t)
	require.EqualValues(t, 500, c.restored)
	require.EqualValues(t, 500, c.delivered)
}

func TestARealProcessLooksIntoState(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Chdir(t.TempDir())
	newLife(t, local(t), orders, 2).write(0, records(1, 1000)...)
	look := func(args ...string) (stdout string, code int) {
		cmd := exec.Command(os.Args[0], append([]string{"state"}, args...)...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, _ := cmd.Output()
		return string(out), cmd.ProcessState.ExitCode()
	}
	stdout, code := look("inspect", "file:state", "orders", "--limit=2")
	require.Zero(t, code)
	require.Contains(t, stdout, "2 of 1,000 entries shown, where reading ended")
	require.NoError(t, os.Truncate("state/orders/0/data/1-1", 1000))
	stdout, code = look("verify", "file:state")
	require.Equal(t, 4, code)
	require.Contains(t, stdout, "1 checkpoint: 1 damaged\n")
}

// waitFor reads lines until one contains a text.
func waitFor(t *testing.T, r *bufio.Reader, text string) {
	t.Helper()
	var seen strings.Builder
	for {
		line, err := r.ReadString('\n')
		seen.WriteString(line)
		require.NoError(t, err, "%q did not come in %s", text, &seen)
		if strings.Contains(line, text) {
			return
		}
	}
}
