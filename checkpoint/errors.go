package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/internal/files"
)

// ErrClosed is matched by what a [History] returns once it is closed.
var ErrClosed = errors.New("checkpoint: the state is closed")

// LockedError says that another process uses the state.
type LockedError struct {
	Path string // the folder
	PID  int    // of the process, as that said; 0: unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("checkpoint: %s is in use by %s: stop it, or give this process an instance of its own", e.Path, who)
}

// StaleEpochError says that another process has opened the state since, which ended this one's epoch. Nothing that this
// process writes counts any more. A lock would have kept one of the two out, so they run over a store that has none.
type StaleEpochError struct {
	Epoch uint64 // that ended
	Newer uint64 // that ended it
}

func (e *StaleEpochError) Error() string {
	return fmt.Sprintf("checkpoint: another process has taken the state over: it has epoch %d, this one has %d: "+
		"stop one of them, or give it an instance of its own", e.Newer, e.Epoch)
}

// OtherJobError says that a checkpoint lies where another job's state should be.
type OtherJobError struct {
	Path        string // of the manifest that says so
	Found, Want Job
}

func (e *OtherJobError) Error() string {
	return fmt.Sprintf("checkpoint: %s belongs to job %q, instance %q, not to job %q, instance %q: "+
		"use another state folder, or the names that it was written under",
		e.Path, e.Found.Name, e.Found.Instance, e.Want.Name, e.Want.Instance)
}

// DamagedError says that a manifest or a file of a checkpoint is missing, or is not as it was written. Nothing was changed or
// removed.
type DamagedError struct {
	Path   string
	Offset int64  // bytes from its start, as far as it is known
	Advice string // what to do, and what it costs
	Err    error  // what is wrong
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint: %s is damaged at byte %d: %v: %s", e.Path, e.Offset, e.Err, e.Advice)
}

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// NotFoundError says that there is no checkpoint of that number, and which there are.
type NotFoundError struct {
	ID   uint64
	Have []uint64 // ascending
}

func (e *NotFoundError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("checkpoint: there is no checkpoint %d, nor any other", e.ID)
	}
	return fmt.Sprintf("checkpoint: there is no checkpoint %d: choose one of %s", e.ID,
		strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Have), " ", ", "), "[]"))
}

const prefix = "checkpoint: "

// failure is an error of the store, or of who fills a draft, with what was being done and what a person can do.
type failure struct {
	doing, hint string
	err         error
}

func (e *failure) Error() string {
	return prefix + e.doing + ": " + strings.TrimPrefix(e.err.Error(), prefix) + e.hint
}

func (e *failure) Unwrap() error { return e.err }

// failed wraps an error, unless it says itself what was being done.
func failed(doing string, err error) error {
	if errors.As(err, new(*StaleEpochError)) || errors.As(err, new(*DamagedError)) || errors.As(err, new(*LockedError)) {
		return err
	}
	e := &failure{doing: doing, err: err}
	if hint := files.Hint(err); hint != "" && !errors.As(err, new(*failure)) {
		e.hint = ": " + hint
	}
	return e
}
