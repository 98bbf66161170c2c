// Command benchmarks compares Spillway with its peers, all in one session on one
// machine, and writes every sample and a table. See README.md.
//
//	go -C benchmarks run .                      all suites, 5 runs of each contender
//	go -C benchmarks run . -suite core -runs 9  one suite, more runs
//	go -C benchmarks run . -quick               a minute, to see that everything runs
//	go -C benchmarks run . one write -h         one of our own programs, to profile or to play with
//
// Exit codes: 0; 1 when a run failed or, without -allow-missing, a peer could not
// be had; 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spillway-go/spillway/benchmarks/harness"
	"github.com/spillway-go/spillway/benchmarks/peers/flink"
	"github.com/spillway-go/spillway/benchmarks/suites"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "one" {
		if err := suites.Run(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "benchmarks:", err)
			os.Exit(exitFailed)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config is the command line.
type config struct {
	suites       string
	runs         int
	quick        bool
	out          string
	seed         uint64
	limit        time.Duration
	allowMissing bool
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	chosen, unknown := choose(c)
	if err = errors.Join(err, unknown); err != nil {
		fmt.Fprintln(stderr, "benchmarks:", err)
		return exitUsage
	}
	runner := &harness.Runner{Runs: c.runs, Seed: c.seed, Limit: c.limit, Quick: c.quick, Log: stderr}
	result := runner.Run(ctx, chosen)
	fmt.Fprint(stdout, result.Markdown())
	jsonPath, markdownPath, err := result.Save(c.out)
	if err != nil {
		fmt.Fprintln(stderr, "benchmarks: the result was not saved:", err)
		return exitFailed
	}
	fmt.Fprintf(stderr, "wrote %s and %s\n", jsonPath, markdownPath)
	return verdict(result, c.allowMissing, stderr)
}

func parse(args []string, stdout io.Writer) (config, error) {
	c := config{}
	f := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong is returned
	f.StringVar(&c.suites, "suite", "core,state", "comma-separated `suites`; SUITE/CASE is one case alone")
	f.IntVar(&c.runs, "runs", 0, "`runs` of each contender; 0: 5 of them, or 1 with -quick")
	f.BoolVar(&c.quick, "quick", false, "small sizes and one run of each, to see that everything runs")
	f.StringVar(&c.out, "out", "results", "`folder` for the result")
	f.Uint64Var(&c.seed, "seed", 0, "of the order in which contenders run; 0: by the time")
	f.DurationVar(&c.limit, "limit", 5*time.Minute, "after which a run is ended and counts as failed")
	f.BoolVar(&c.allowMissing, "allow-missing", false, "exit with 0 although a peer could not be had")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(stdout)
		f.PrintDefaults()
		return c, err
	} else if err != nil {
		return c, err
	}
	switch {
	case c.runs == 0 && c.quick:
		c.runs = 1
	case c.runs == 0:
		c.runs = 5
	}
	if c.seed == 0 {
		c.seed = uint64(time.Now().Unix())
	}
	var faults []error
	if f.NArg() > 0 {
		faults = append(faults, fmt.Errorf("%s: not a flag", f.Arg(0)))
	}
	if c.runs < 1 || c.runs > 1000 {
		faults = append(faults, fmt.Errorf("-runs: %d: must be 0 to 1,000", c.runs))
	}
	if c.limit < time.Second {
		faults = append(faults, fmt.Errorf("-limit: %v: must be at least 1s", c.limit))
	}
	return c, errors.Join(faults...)
}

// choose is the suites that are asked for, with the cases that are.
func choose(c config) ([]harness.Suite, error) {
	ours, peer := &harness.Self{Args: []string{"one"}}, &flink.Flink{}
	all := []harness.Suite{suites.Core(ours, peer, c.quick), suites.State(ours, peer, c.quick)}
	var chosen []harness.Suite
	var known []string
	found := map[string]bool{}
	for _, s := range all {
		known = append(known, s.Name)
		wanted := s
		wanted.Cases = nil
		for _, x := range s.Cases {
			for name := range strings.SplitSeq(c.suites, ",") {
				if name == s.Name || name == s.Name+"/"+x.Name {
					found[name] = true
					wanted.Cases = append(wanted.Cases, x)
					break
				}
			}
			known = append(known, s.Name+"/"+x.Name)
		}
		if len(wanted.Cases) > 0 {
			chosen = append(chosen, wanted)
		}
	}
	var faults []error
	for name := range strings.SplitSeq(c.suites, ",") {
		if !found[name] {
			faults = append(faults, fmt.Errorf("-suite: %q: must be of %s", name, strings.Join(known, ", ")))
		}
	}
	return chosen, errors.Join(faults...)
}

// verdict says what went wrong, and is the exit code for it.
func verdict(r *harness.Result, allowMissing bool, stderr io.Writer) int {
	code := 0
	for _, m := range r.Missing() {
		fmt.Fprintln(stderr, "benchmarks:", m)
		if !allowMissing {
			code = exitFailed
		}
	}
	for _, f := range r.Failed() {
		fmt.Fprintln(stderr, "benchmarks:", f)
		code = exitFailed
	}
	if r.Interrupted {
		fmt.Fprintln(stderr, "benchmarks: interrupted: runs are missing")
		code = exitFailed
	}
	return code
}
