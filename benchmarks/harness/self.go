package harness

import (
	"context"
	"os"
	"runtime"
)

// Self runs the running binary again, with Args before the contender's.
type Self struct {
	Args []string
	path string
}

// Prepare finds the binary.
func (s *Self) Prepare(context.Context) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	s.path = path
	return "this commit, " + runtime.Version(), nil
}

// Command is the binary with its arguments.
func (s *Self) Command(args []string) []string {
	return append(append([]string{s.path}, s.Args...), args...)
}
