package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/pipeline"
)

const runUsage = `Usage: spillway run FILE.yaml [--FIELD=VALUE ...]

Runs the job that FILE.yaml describes; - is standard input. Every value of it can also be given as a flag, --FIELD=VALUE, and in
the environment, SPILLWAY_FIELD=VALUE with every dot and dash of FIELD an underscore. A flag goes before the environment, and that
before FILE, which may be left out. SIGTERM and SIGINT drain and stop; a second one saves and stops at once.

A job goes on from its newest checkpoint. --restore begins with another one, and --skip-damaged goes on without what can't be read.

Exit status: 0 all settled, 1 failed, 2 usage or configuration, 3 stopped with what is left saved, 4 state refused.

A FILE:

  name: orders
  source: {file: {path: in.jsonl}, key: {json: id}}
  sink: {kinesis: {stream: orders, region: us-east-1, writer: {order: per_key}}}
  state: {url: "file:state"}
  dead_letter: {file: {path: dead.jsonl}}

FIELDs:
`

func runHelp(w io.Writer) {
	fmt.Fprint(w, runUsage)
	config.Help(w)
}

// runJob is the command run.
func runJob(p process) int {
	loaded, err := config.Load(p.args, p.env, p.stdin)
	if loaded.Help {
		runHelp(p.stdout)
		return exitSettled
	}
	if err != nil {
		fmt.Fprintln(p.stderr, err)
		return end(p.stdout, loaded.Settings, pipeline.Result{Outcome: pipeline.Failed, Err: err})
	}
	screen := &screen{w: p.stderr, width: p.width}
	log := newLogger(screen, loaded.Settings)
	for _, w := range loaded.Warnings {
		log.Warn(w)
	}
	result := execute(p, loaded, screen, log)
	report(p.stderr, log, result)
	return end(p.stdout, loaded.Settings, result)
}

// execute runs the job, and closes what it opened.
func execute(p process, loaded *config.Loaded, screen *screen, log *slog.Logger) pipeline.Result {
	signals := p.listen()
	failed := func(err error) pipeline.Result { return pipeline.Result{Outcome: pipeline.Failed, Err: err} }
	letters, closeLetters, err := openLetters(loaded.Job.DeadLetter)
	if err != nil {
		return failed(err)
	}
	src, err := openSource(loaded.Job.Source, p.stdin)
	if err != nil {
		return failed(errors.Join(err, closeLetters()))
	}
	state, err := openState(p, loaded)
	if err != nil {
		return failed(errors.Join(err, src.Close(), closeLetters()))
	}
	runner, err := pipeline.New(newJob(p, loaded, src, state, letters, log))
	if err != nil {
		return failed(errors.Join(err, closeState(state), src.Close(), closeLetters()))
	}
	result, ended := supervise(signals, runner, screen, log)
	if !ended { // it still uses the letters and the state
		return result
	}
	result.Err = whatThereIs(result.Err, state)
	if err := closeState(state); err != nil {
		log.Warn("the store of the state could not be closed", "error", err)
	}
	if err := closeLetters(); err != nil {
		result.Outcome, result.Err = pipeline.Failed, errors.Join(result.Err, err)
	}
	return result
}

// supervise runs a job while it shows progress and heeds signals. Not ended: a third signal has given the job up.
func supervise(signals <-chan os.Signal, r *pipeline.Runner[kinesis.Record], s *screen, log *slog.Logger) (result pipeline.Result, ended bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(ctx, r.Stats, s, log)
	}()
	results := make(chan pipeline.Result, 1)
	go func() { results <- runSafely(r) }()
	result, ended = heed(signals, results, r, log)
	cancel()
	<-watched
	return result, ended
}

// runSafely turns a panic into a failure, so that the last line is printed and the exit status is that of one. The last
// checkpoint stays as it was.
func runSafely(r *pipeline.Runner[kinesis.Record]) (result pipeline.Result) {
	defer func() {
		if v := recover(); v != nil {
			result = pipeline.Result{Outcome: pipeline.Failed, Err: fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
		}
	}()
	return r.Run(context.Background())
}

// report says on standard error what the result means for a person.
func report(stderr io.Writer, log *slog.Logger, result pipeline.Result) {
	var faults config.Faults
	if errors.As(result.Err, &faults) {
		fmt.Fprintln(stderr, faults)
		return
	}
	for _, err := range flatten(result.Err) {
		log.Error(err.Error())
	}
	switch {
	case result.Outcome == pipeline.Stopped && result.Left > 0:
		log.Warn("stopped with entries left: the next run delivers them first", "left", result.Left)
	case result.Outcome == pipeline.Stopped:
		log.Info("stopped: all that was read is settled, and the next run reads on")
	}
}

// flatten takes joined errors apart. One that says something of its own about several others stays whole.
func flatten(err error) (all []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != fmt.Sprint(errors.Join(joined.Unwrap()...)) {
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		all = append(all, flatten(one)...)
	}
	return all
}
