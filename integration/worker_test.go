package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// worker is one life of a `spillway run` process.
type worker struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan error
}

func startWorker(t *testing.T, args ...string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(spillway, args...), ended: make(chan error, 1)}
	w.cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
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
