package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary be the command itself, so that the tests run it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("BE_MINIMAL_SINK") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func run(t *testing.T, folder, input string) (stderr string, err error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "BE_MINIMAL_SINK=1")
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stderr = &out
	err = cmd.Run()
	return out.String(), err
}

func TestACompleteSinkIsFortyLines(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(source), "\n"), 40)
}

func TestEveryLineIsStoredOnce(t *testing.T) {
	dir := t.TempDir()
	var input strings.Builder
	want := map[string]bool{}
	for i := range 1200 { // three batches
		line := fmt.Sprintf("line %d", i)
		want[line] = true
		input.WriteString(line + "\n")
	}
	stderr, err := run(t, dir, input.String())
	require.NoError(t, err, stderr)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1200)
	for _, f := range files {
		line, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		require.True(t, want[string(line)], "%q", line)
		delete(want, string(line))
	}
	require.Empty(t, want)
}

// A line that can't be read is no end of input.
func TestALineThatIsTooLongFails(t *testing.T) {
	stderr, err := run(t, t.TempDir(), strings.Repeat("x", 1<<20)+"\nafter\n")
	require.Error(t, err)
	require.Contains(t, stderr, "token too long")
}
