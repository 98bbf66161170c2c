package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var full = flag.Bool("full", false, "run the long edition of each proof")

// spillway is the command, built once for all tests.
var spillway string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := build(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

func build(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "spillway-integration-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	spillway = filepath.Join(dir, "spillway")
	cmd := exec.Command("go", "build", "-o", spillway, "./cmd/spillway")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// missing skips a test that lacks something, with the reason; under CI=true
// that is a failure, not a skip.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
