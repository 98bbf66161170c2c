// Command spillway writes streams of records to Amazon Kinesis: at least once, in bounded memory, with state that survives
// crashes.
//
//	spillway run FILE.yaml [--FIELD=VALUE ...]
//	spillway demo
//	spillway state ls|inspect|verify URL [JOB[/INSTANCE]]
//	spillway version
//	spillway help [COMMAND]
//
// Package [github.com/spillway-go/spillway/cmd/spillway/internal/config] says how values are given, and spillway run --help lists
// them. What follows is what scripts may rely on.
//
// # Output
//
// The last line of standard output of run is, always,
//
//	spillway: done|stopped|failed accepted=N restored=N delivered=N dead=N left=N possible_duplicates=N
//
// and accepted + restored = delivered + dead + left. With --output json it is one JSON object: the same names, spillway (and
// outcome, the same) for the first word, and error, which is empty when nothing failed. Nothing else goes there.
//
// The log goes to standard error: a line an event, or with --log-format json an object a line. Two of them are fixed:
//
//	15:04:05 INFO restored checkpoint=7 entries=120 position=1048627:8192:5f2a9c01d3b4e687
//	15:04:05 INFO checkpoint id=8 entries=118
//
// Faults of the configuration are lines of their own, whatever the log's format: FILE:LINE: FIELD: VALUE: BOUND.
//
// The tools of spillway state write tables for people, or with --output json an object a line, whose type says what it is:
// checkpoint (ls), manifest, entry and counts (inspect), verdict (verify). What they could not do goes to standard error.
//
// # Exit status
//
// Of run:
//
//	0  all is settled: delivered, or in the dead letters
//	1  failed
//	2  usage or configuration
//	3  stopped by a signal; what is left is saved, and the next run goes on with it
//	4  the state was refused: it is locked, taken over by another process, damaged, newer, of another job, not of this source,
//	   or not there under the name that was given; or its store ignores the condition that tells two processes apart
//
// Of the tools of state:
//
//	0  all is well
//	1  something could not be read, or is not there
//	2  usage
//	4  something is damaged, newer, or of another job
//
// # Signals
//
// SIGINT or SIGTERM: reading ends, what is held is delivered until shutdown.deadline, and the rest is saved. A second one: it is
// saved at once. A third one: the process ends without saving; the last checkpoint stays as it was.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/kinesis"
)

// process is what a command has of the world, so that tests can give it another one.
type process struct {
	args           []string // behind the name of the command
	env            []string // NAME=VALUE
	stdin          io.Reader
	stdout, stderr io.Writer
	listen         func() <-chan os.Signal                      // from then on signals do not end the process
	untilSignal    func() (context.Context, context.CancelFunc) // that a signal ends; a second one ends the process
	width          func() int                                   // of the terminal that stderr is, in characters; nil: it is none
	connect        func(context.Context, kinesis.Config, *slog.Logger) (kinesis.API, error)
	store          func(ctx context.Context, url string) (checkpoint.Store, error)
}

func main() {
	os.Exit(run(process{
		args: os.Args[1:], env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		listen: listen, untilSignal: untilSignal, width: terminal(os.Stderr), connect: connect,
		store: config.OpenStore,
	}))
}

func listen() <-chan os.Signal {
	// A reader of our output that has gone, such as the tee of a pipeline that Ctrl-C ended first, must not end a
	// job in the middle of its saving.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return signals
}

func untilSignal() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// terminal returns the way to ask for the width of a terminal that can redraw a line; nil: the file is none.
func terminal(f *os.File) func() int {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}
