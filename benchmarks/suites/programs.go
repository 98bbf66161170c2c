// Package suites holds what is compared: each suite a file, each of our own
// programs, which a run executes in a process of its own, another.
package suites

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"
)

// figures are what a run prints.
type figures map[string]float64

// programs are our own side of the cases. Each reads its arguments as flags, and does its work when they are right.
var programs = map[string]func(flags *flag.FlagSet) func() (figures, error){
	"write":       writeProgram,
	"state-out":   outProgram,
	"state-in":    inProgram,
	"state-pause": pauseProgram,
	"checkpoint":  checkpointProgram,
	"spill":       spillProgram,
	"restore":     restoreProgram,
	"plain-write": plainWriteProgram,
	"plain-read":  plainReadProgram,
}

// Run executes one of our own programs as a run does: args are its name and its
// flags, and its figures go to out as one line of JSON.
func Run(args []string, out io.Writer) error {
	names := strings.Join(slices.Sorted(maps.Keys(programs)), ", ")
	if len(args) == 0 {
		return fmt.Errorf("program: missing: must be one of %s", names)
	}
	program, ok := programs[args[0]]
	if !ok {
		return fmt.Errorf("program: %s: must be one of %s", args[0], names)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is returned
	run := program(flags)
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		flags.PrintDefaults()
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	f, err := run()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return json.NewEncoder(out).Encode(f)
}

// meter is wall and CPU time from one moment on.
type meter struct {
	start time.Time
	cpu   time.Duration
}

func newMeter() meter { return meter{cpu: cpuTime(), start: time.Now()} }

// stop is the wall time and the CPU time of the process, of all its threads.
func (m meter) stop() (wall, cpu time.Duration) {
	return time.Since(m.start), cpuTime() - m.cpu
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the call has no other failure than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
