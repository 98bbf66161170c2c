package harness

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Runner runs suites. All fields are needed.
type Runner struct {
	Runs  int           // of each contender
	Seed  uint64        // of the order within the rounds
	Limit time.Duration // of one run
	Quick bool          // noted in the result; the suites are what is quick
	Log   io.Writer     // a line for each run
}

// Run runs every case of the suites: round after round, in each round every
// contender once. It goes on when a contender fails or can't be had; the result
// says so. It stops early when ctx ends.
func (r *Runner) Run(ctx context.Context, suites []Suite) *Result {
	result := &Result{
		Format: Format, Started: time.Now().UTC(), Runs: r.Runs, Seed: r.Seed, Quick: r.Quick,
		Commit: ThisCommit(ctx), Machine: ThisMachine(), Suites: r.prepare(ctx, suites),
	}
	for _, s := range result.Suites {
		for _, c := range s.Cases {
			for round, contenders := range order(r.Runs, len(c.Contenders), r.Seed) {
				for _, i := range contenders {
					if ctx.Err() == nil && c.Contenders[i].NotRun == "" {
						r.sample(ctx, result, s.Name, c.Name, c.Contenders[i], round+1)
					}
				}
			}
		}
	}
	result.Finished = time.Now().UTC()
	result.Interrupted = ctx.Err() != nil
	return result
}

// prepare returns a copy of the suites that says of each contender what was got.
func (r *Runner) prepare(ctx context.Context, suites []Suite) []Suite {
	type prepared struct{ version, missing string }
	done := map[Program]prepared{}
	all := make([]Suite, len(suites))
	for i, s := range suites {
		all[i] = s
		all[i].Cases = append([]Case(nil), s.Cases...)
		for j, c := range s.Cases {
			contenders := append([]Contender(nil), c.Contenders...)
			for k, x := range contenders {
				p, ok := done[x.Program]
				if !ok {
					version, err := x.Program.Prepare(ctx)
					if p.version = version; err != nil {
						p.missing = err.Error()
						fmt.Fprintf(r.Log, "%s: not run: %s\n", x.Name, p.missing)
					}
					done[x.Program] = p
				}
				contenders[k].Version, contenders[k].NotRun = p.version, p.missing
			}
			all[i].Cases[j].Contenders = contenders
		}
	}
	return all
}

// sample runs a contender once. A run that ended because ctx did is no sample.
func (r *Runner) sample(ctx context.Context, result *Result, suite, name string, c Contender, round int) {
	s := Sample{Suite: suite, Case: name, Contender: c.Name, Round: round, Started: time.Now().UTC(), Load: load()}
	before := busy()
	m, err := measure(ctx, c.Program.Command(c.Args), r.Limit)
	if ctx.Err() != nil {
		return
	}
	s.Wall, s.CPU, s.Peak, s.Figures = m.wall.Seconds(), m.cpu.Seconds(), m.peak, m.figures
	if all := s.Wall * float64(result.Machine.Cores); all > 0 && before > 0 {
		s.Others = min(1, max(0, (busy()-before-s.CPU)/all))
	}
	ended := fmt.Sprintf("%.1f s", s.Wall)
	if err != nil {
		s.Error = err.Error()
		ended = "failed: " + s.Error
	}
	fmt.Fprintf(r.Log, "%s/%s  %d/%d  %s: %s\n", suite, name, round, r.Runs, c.Name, ended)
	result.Samples = append(result.Samples, s)
}
