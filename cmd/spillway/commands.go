package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
)

// Exit statuses.
const (
	exitSettled = 0
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 3
	exitState   = 4
)

// command is a word behind spillway.
type command struct {
	name    string
	usage   string // what follows the name
	summary string
	run     func(process) int // its args are those behind the name
	help    func(io.Writer)   // nil: the summary says all
}

// commands are all there are, as help lists them. A function, since help is one of them.
func commands() []command {
	return []command{
		{"run", " FILE.yaml [--FIELD=VALUE ...]", "run the job that a file describes (- is standard input); --help lists all values", runJob, runHelp},
		{"demo", "", "run a job on an embedded Kinesis that throttles, fails and cuts connections, kill it in the middle, and count what arrived", runDemo, nil},
		{"state", " ls|inspect|verify URL [JOB[/INSTANCE]]", "look into the state of jobs, and see whether it is whole; spillway help state says more", state, stateHelp},
		{"version", "", "say which build this is", version, nil},
		{"help", " [COMMAND]", "say this, or more about a command", help, nil},
	}
}

// run runs the command that the arguments name, and returns the exit status.
func run(p process) int {
	if len(p.args) == 0 {
		usage(p.stderr)
		return exitUsage
	}
	name := p.args[0]
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	c, err := find(name)
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	p.args = p.args[1:]
	return c.run(p)
}

func find(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	hint := "spillway help lists all"
	if close := config.Closest(name, names); close != "" {
		hint = "did you mean " + close + "?"
	}
	return command{}, fmt.Errorf("spillway: %q: unknown command: %s", name, hint)
}

func usage(w io.Writer) {
	fmt.Fprintf(w, "spillway writes streams of records to Amazon Kinesis.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  spillway %s%s\n      %s\n", c.name, c.usage, c.summary)
	}
}

func help(p process) int {
	if len(p.args) == 0 {
		usage(p.stdout)
		return exitSettled
	}
	c, err := find(p.args[0])
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	if c.help == nil {
		fmt.Fprintf(p.stdout, "spillway %s%s\n    %s\n", c.name, c.usage, c.summary)
		return exitSettled
	}
	c.help(p.stdout)
	return exitSettled
}

func version(p process) int {
	version, revision := build()
	fmt.Fprintf(p.stdout, "spillway %s%s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitSettled
}

// build is the version of this program, and the revision that it was built from, with a space before it, if that is known.
func build() (version, revision string) {
	version = "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return version, revision
}
