// Package harness runs benchmarks that compare programs: each run is a process of
// its own, the contenders of a case take turns, and every sample is kept.
//
// A [Suite] has [Case]s, a case has [Contender]s, and each run of a contender is a
// [Sample]. [Runner] makes a [Result] of suites; a result is saved as JSON and as
// Markdown.
//
// A run is a command that does its work and prints, as the last line of its
// standard output, one JSON object of names and numbers: its figures. The harness
// measures the process from outside besides: wall time, CPU time and peak memory.
package harness

import "context"

// Suite is a group of cases about one thing.
type Suite struct {
	Name  string `json:"name"`  // one word: "core"
	About string `json:"about"` // for the reader of the tables
	Cases []Case `json:"cases"`
}

// Case is one question that is put to several contenders.
type Case struct {
	Name       string      `json:"name"`    // unique in its suite
	About      string      `json:"about"`   // what is done
	Figures    []Figure    `json:"figures"` // of those that the runs print, the ones that tables show; the first sums the case up
	Contenders []Contender `json:"contenders"`
}

// Figure is a number that is compared.
type Figure struct {
	Name   string `json:"name"`  // as runs print it: "records_per_second"
	Label  string `json:"label"` // as tables show it: "records/s"
	Better Better `json:"better,omitempty"`
}

// Better says which of two values of a figure is the better one.
type Better string

// Lower is for costs, Higher for rates. A figure with neither is shown and not compared.
const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Contender is one who answers a case.
type Contender struct {
	Name    string   `json:"name"`           // in tables; unique in its case
	Peer    bool     `json:"peer,omitempty"` // the others are compared with it
	Program Program  `json:"-"`              // which runs it
	Args    []string `json:"args"`           // of the program, for this case

	// What became of Program.Prepare; set by [Runner.Run].
	Version string `json:"version,omitempty"`
	NotRun  string `json:"not_run,omitempty"` // the reason
}

// Program is something that can be run. Prepare is called once a session for each,
// so contenders that share a program hold the same pointer.
type Program interface {
	// Prepare fetches and builds what is needed, and says what was got: a name and
	// versions. An error is the reason why its contenders do not run.
	Prepare(ctx context.Context) (version string, err error)
	// Command is what to start for one run, after Prepare.
	Command(args []string) []string
}
