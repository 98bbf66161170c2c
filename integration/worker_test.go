package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// worker is one life of a `spillway run` process.
type worker struct {
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan error
}

// output is what a process writes, to be read while it does.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (w *worker) log() string { return w.stderr.String() }

// peak is the most memory that the process has had, in bytes; 0 when it has ended.
func (w *worker) peak(t *testing.T) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0
	}
	var kib int64
	_, err = fmt.Sscanf(rest, "%d kB", &kib)
	require.NoError(t, err)
	return kib << 10
}

func startWorker(t *testing.T, args ...string) *worker {
	t.Helper()
	return startWorkerWith(t, nil, args...)
}

func startWorkerWith(t *testing.T, env []string, args ...string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(spillway, args...), ended: make(chan error, 1)}
	w.cmd.Env = append(append(os.Environ(), env...), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	w.cmd.Stdout, w.cmd.Stderr = &w.stdout, &w.stderr
	require.NoError(t, w.cmd.Start())
	go func() { w.ended <- w.cmd.Wait() }()
	return w
}

// restored reads the log line of that name; ok is false if there is none.
func (w *worker) restored() (checkpoint uint64, entries int, position string, ok bool) {
	_, line, ok := strings.Cut(w.stderr.String(), "restored checkpoint=")
	if !ok {
		return 0, 0, "", false
	}
	_, err := fmt.Sscanf(line, "%d entries=%d position=%s", &checkpoint, &entries, &position)
	return checkpoint, entries, strings.Trim(position, `"`), err == nil
}

// lastLine is the last line of stdout, as a map of its words.
func (w *worker) lastLine() map[string]string {
	lines := strings.Split(strings.TrimSpace(w.stdout.String()), "\n")
	fields := map[string]string{}
	for _, f := range strings.Fields(lines[len(lines)-1]) {
		name, value, _ := strings.Cut(f, "=")
		fields[name] = value
	}
	return fields
}
