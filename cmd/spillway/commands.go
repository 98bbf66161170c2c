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
}

// commands are all there are, as help lists them. A function, since help is one of them.
func commands() []command {
	return []command{
		{"run", " FILE.yaml [--FIELD=VALUE ...]", "run the job that a file describes (- is standard input); --help lists all values", runJob},
		{"demo", "", "run a job on an embedded Kinesis that throttles, fails and cuts connections, kill it in the middle, and count what arrived", runDemo},
		{"version", "", "say which build this is", version},
		{"help", "", "say this", help},
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
	var names []string
	for _, c := range commands() {
		if c.name == name {
			p.args = p.args[1:]
			return c.run(p)
		}
		names = append(names, c.name)
	}
	hint := "spillway help lists all"
	if close := config.Closest(name, names); close != "" {
		hint = "did you mean " + close + "?"
	}
	fmt.Fprintf(p.stderr, "spillway: %q: unknown command: %s\n", name, hint)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprintf(w, "spillway writes streams of records to Amazon Kinesis.\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  spillway %s%s\n      %s\n", c.name, c.usage, c.summary)
	}
}

func help(p process) int {
	usage(p.stdout)
	return exitSettled
}

func version(p process) int {
	version, revision := "(devel)", ""
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
	fmt.Fprintf(p.stdout, "spillway %s%s %s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitSettled
}
