package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// TimeLimitError says that a run was ended because it took too long.
type TimeLimitError struct{ Limit time.Duration }

func (e *TimeLimitError) Error() string {
	return fmt.Sprintf("not done after %v: ended; raise -limit if it needs longer", e.Limit)
}

// RunError says that a run failed by itself.
type RunError struct {
	Command []string
	Stderr  string // its end
	Err     error
}

func (e *RunError) Error() string {
	said := ""
	if e.Stderr != "" {
		said = ": " + e.Stderr
	}
	return fmt.Sprintf("%s: %v%s", e.Command[0], e.Err, said)
}

// Unwrap is the cause.
func (e *RunError) Unwrap() error { return e.Err }

// measured is what is seen of a process.
type measured struct {
	wall, cpu time.Duration
	peak      int64 // bytes of memory
	figures   map[string]float64
}

// outputGrace is how long a process that has ended may keep its output open, by a child of its own.
const outputGrace = 2 * time.Second

// measure runs a command to its end, or ends it, by its process id, when the limit
// has passed or ctx has ended. What was measured until then is returned with the error.
func measure(ctx context.Context, command []string, limit time.Duration) (measured, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, &TimeLimitError{limit})
	defer cancel()
	cmd := exec.CommandContext(limited, command[0], command[1:]...)
	cmd.WaitDelay = outputGrace
	stdout, stderr := &tail{max: 64 << 10}, &tail{max: 4 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	start := time.Now()
	err := cmd.Run()
	m := measured{wall: time.Since(start)}
	if s := cmd.ProcessState; s != nil {
		m.cpu, m.peak = s.UserTime()+s.SystemTime(), peakMemory(s)
	}
	if cause := context.Cause(limited); cause != nil && err != nil {
		return m, cause
	}
	if err == nil {
		m.figures, err = parseFigures(stdout.b)
	}
	if err != nil {
		return m, &RunError{Command: command, Stderr: strings.TrimSpace(string(stderr.b)), Err: err}
	}
	return m, nil
}

// peakMemory is the most that was resident at once. On Linux it is not less than
// what the harness itself took when it started the process.
func peakMemory(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// parseFigures reads the last line.
func parseFigures(out []byte) (map[string]float64, error) {
	out = bytes.TrimSpace(out)
	line := out[bytes.LastIndexByte(out, '\n')+1:]
	if len(line) == 0 {
		return nil, errors.New("it printed no figures")
	}
	var figures map[string]float64
	if err := json.Unmarshal(line, &figures); err != nil || len(figures) == 0 {
		return nil, fmt.Errorf("its last line %.80q is not a JSON object of figures", line)
	}
	return figures, nil
}

// tail keeps the last bytes of what is written to it.
type tail struct {
	b   []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - t.max; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}
