package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/stream"
)

// Job is what a Runner runs.
type Job[E any] struct {
	// Name and Instance are the job's; state lies under them. Instance differs for each
	// process that runs at the same time. Default "0".
	Name, Instance string
	Source         stream.Source
	// Convert makes an entry of a record, and copies what it keeps. An error says that the
	// record is broken.
	Convert func(stream.Record) (E, error)
	// Open makes the writer from its configuration, which the runner has completed.
	Open func(ctx context.Context, c asyncsink.Config) (*asyncsink.Writer[E], error)
	// Writer is the writer's configuration. Executor, Restore, DeadLetters, Settlement and
	// Logger are the runner's to set.
	Writer asyncsink.Config
	State  State
	// DeadLetters takes what can't be delivered. Nil: the first such record ends the job.
	DeadLetters DeadLetters
	// Deadline is how long Stop drains. Default 30 s.
	Deadline time.Duration
	// Logger. Default: none.
	Logger *slog.Logger
}

// DeadLetters is the output for records and entries that can't be delivered.
type DeadLetters interface {
	// Write stores letters and returns nil once they are durable, or an error when ctx ends. See [asyncsink.DeadLetters]
	// for what follows an error. It may be called by two goroutines at once.
	Write(ctx context.Context, letters []DeadLetter) error
}

// DeadLetter is a record, or the entry made of it, that can't be delivered.
type DeadLetter struct {
	Time     time.Time
	Class    string // broken, too_large, rejected, attempts, age or diverted
	Err      error
	Attempts int
	// Split and Position are where the source goes on behind it. They are empty for an
	// entry that an earlier life of the job accepted.
	Split    string
	Position []byte
	Key      string
	Data     []byte // of the record if it could not be converted, else of the entry
}

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"    // the source is at its end and everything is settled
	Stopped Outcome = "stopped" // on request; what is left is in the last checkpoint
	Failed  Outcome = "failed"  // Result.Err says why
)

// Result is what a run did. Accepted + Restored = Delivered + Dead + Left.
type Result struct {
	Outcome            Outcome
	Accepted           int64 // records taken from the source, broken ones included
	Restored           int64 // entries that an earlier life had left
	Delivered          int64
	Dead               int64 // in the dead letters
	Left               int64 // neither; saved, unless Err says that they are not
	PossibleDuplicates int64 // entries sent again after an attempt of unknown effect
	Err                error
}

// Stats is a running job's counters.
type Stats struct {
	asyncsink.Stats
	Read   int64 // records taken from the source
	Broken int64 // of them, sent to the dead letters without becoming an entry
}

// ErrLeftUnsaved: the job ended with entries that are neither delivered nor in a checkpoint.
var ErrLeftUnsaved = errors.New("entries are left and were not saved")

// BrokenRecordError ends a job without dead letters at a record that can't become an entry.
type BrokenRecordError struct {
	Split    string
	Position []byte // where the source goes on behind it
	Class    string
	Err      error
}

func (e *BrokenRecordError) Error() string {
	return "record of " + e.Split + " that ends at " + string(e.Position) + " is " + e.Class + ": " + e.Err.Error() +
		": mend it, or configure dead letters"
}

// Unwrap is the conversion's error.
func (e *BrokenRecordError) Unwrap() error { return e.Err }

// UnknownOperatorError says that the state has entries of an operator that the
// job does not have. To go on would lose them.
type UnknownOperatorError struct{ Found, Writer string }

func (e *UnknownOperatorError) Error() string {
	return fmt.Sprintf("the state has a section of operator %q, and this job's writer is %q: give it that name, or drain the job with the program that wrote it",
		e.Found, e.Writer)
}

// UnknownSplitError says that the state has positions of splits that the source
// does not have: it is another source's.
type UnknownSplitError struct{ Splits []string }

func (e *UnknownSplitError) Error() string {
	return "the state has positions of " + strings.Join(e.Splits, ", ") +
		", which the source does not have: use the source that the state was written with, or another state folder"
}

func fmtInt(n int) string { return strconv.Itoa(n) }

func (j *Job[E]) validate() error {
	var errs []error
	need := func(ok bool, field, bound string) {
		if !ok {
			errs = append(errs, &limits.Fault{Field: field, Value: "none", Bound: bound})
		}
	}
	need(j.Name != "", "name", "set")
	need(j.Source != nil, "source", "set")
	need(j.Convert != nil, "convert", "set")
	need(j.Open != nil, "open", "set")
	if j.Deadline < 0 {
		errs = append(errs, &limits.Fault{Field: "shutdown.deadline", Value: j.Deadline.String(), Bound: "0 or more"})
	}
	errs = append(errs, j.State.check(j.Source == nil || j.Source.Replayable()))
	return errors.Join(errs...)
}
