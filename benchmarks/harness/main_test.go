package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestMain is also each process that these tests start: what it does stands behind "act".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "act" {
		act(os.Args[2:])
		return
	}
	// Else each process that the race detector watches waits for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func act(args []string) {
	switch args[0] {
	case "print":
		fmt.Println("some text\nbefore it")
		fmt.Println(args[1])
	case "fail":
		fmt.Fprintln(os.Stderr, args[1])
		os.Exit(3)
	case "hang": // and say who, in a file
		if err := os.WriteFile(args[1], []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
		for {
			time.Sleep(time.Hour)
		}
	}
}

// actor is a program of such processes.
type actor struct {
	Self
	prepared int
	missing  string
}

func (a *actor) Prepare(ctx context.Context) (string, error) {
	a.prepared++
	if a.missing != "" {
		return "", errors.New(a.missing)
	}
	a.Args = []string{"act"}
	return a.Self.Prepare(ctx)
}

func command(args ...string) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return slices.Concat([]string{path, "act"}, args)
}
