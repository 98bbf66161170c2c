package pipeline

import (
	"errors"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// State says where checkpoints go, how often, and what is in them.
type State struct {
	// Store is where they go, under the job's name and instance. Nil: there are none, and nothing survives a stop.
	Store checkpoint.Store
	// Interval is the time between the beginnings of two checkpoints; one that takes longer
	// delays the next. Default 1 s; at least 1 ms.
	Interval time.Duration
	// MinPause is the least time from the end of one to the beginning of the next, so that work is done in between.
	// Default 0.
	MinPause time.Duration
	// Timeout is how long one may take; then it has failed. Default 10 min; at least 1 ms.
	Timeout time.Duration
	// Tolerate is how many may fail in a row before the job does. Default 0: any number; the newest complete one stays,
	// and the log says so each time.
	Tolerate int
	// Retained is how many complete ones are kept. Default 2; 1 to 1,000.
	Retained int
	// Recover is what a checkpoint of a source that can be read again holds. Default [FromState].
	Recover Recover
	// From is what to begin with. Default: the newest of the job's own.
	From *From
	// SkipDamaged goes on without entries that can't be read. What is damaged is kept beside the checkpoints, under
	// quarantine, and logged. Otherwise the job refuses to start, or ends when it comes to them.
	SkipDamaged bool
	// Program is the version of the program, for manifests.
	Program string
}

// Recover is how a job goes on after a crash.
type Recover string

const (
	// FromState: a checkpoint holds what the writer held, and the source goes on behind it. Little is sent again, and attempts, ages and
	// dead letters are kept.
	FromState Recover = "state"
	// Replay: a checkpoint holds for each split the position up to which everything is settled, and nothing else: it is
	// tiny whatever is held, and another process can go on with it. What was held, and what was delivered behind
	// it, is read and sent again. For sources that can be read again.
	Replay Recover = "replay"
)

// From is a checkpoint to begin with that is not simply the newest.
type From struct {
	ID   uint64           // of this job; 0: Name says which
	Name string           // of a manifest, such as orders/0/chk-00000000000000000042
	In   checkpoint.Store // that Name lies in; nil: the job's own
	// Mode says whose it is afterwards. Default [checkpoint.NoClaim].
	Mode checkpoint.Mode
}

func (s State) check(replayable bool) error {
	var faults []error
	fault := func(ok bool, field, value, bound string) {
		if !ok {
			faults = append(faults, &limits.Fault{Field: field, Value: value, Bound: bound})
		}
	}
	fault(s.Interval == 0 || s.Interval >= time.Millisecond, "state.interval", s.Interval.String(), "1ms or more")
	fault(s.MinPause >= 0, "state.min_pause", s.MinPause.String(), "0 or more")
	fault(s.Timeout == 0 || s.Timeout >= time.Millisecond, "state.timeout", s.Timeout.String(), "1ms or more")
	fault(s.Tolerate >= 0, "state.tolerate", fmtInt(s.Tolerate), "0 or more")
	fault(s.Recover == "" || s.Recover == FromState || s.Recover == Replay, "state.recover", string(s.Recover), "state or replay")
	fault(s.Recover != Replay || replayable, "state.recover", string(s.Recover), "state: the source can't be read again")
	fault(s.Retained >= 0 && s.Retained <= 1000, "state.retained", fmtInt(s.Retained), "1 to 1000")
	if s.From != nil {
		fault((s.From.ID == 0) != (s.From.Name == ""), "state.from", fmtInt(int(s.From.ID))+" "+s.From.Name, "an id or a name")
		fault(s.Store != nil, "state.url", "none", "set, to restore from a checkpoint")
	}
	return errors.Join(faults...)
}

func (s State) withDefaults() State {
	if s.Interval == 0 {
		s.Interval = time.Second
	}
	if s.Timeout == 0 {
		s.Timeout = 10 * time.Minute
	}
	return s
}
