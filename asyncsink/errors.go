package asyncsink

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

var (
	// ErrFull is TryWrite's answer when a cap on what is held is reached, or entries of
	// an earlier life still wait to be taken back.
	ErrFull = core.ErrFull
	// ErrClosed: the writer was closed, or its input was ended.
	ErrClosed = errors.New("writer is closed")
	// ErrUnanswered stops a writer whose destination owns its retries: a request passed its
	// time-out, and what it carried must not be issued again in this life.
	ErrUnanswered = core.ErrUnanswered
	// ErrAbandoned stops a writer whose submitters ignore their context: timed-out attempts
	// have held every request slot for another time-out.
	ErrAbandoned = core.ErrAbandoned
	// ErrHandedBack stops an ordered writer whose pipelined destination handed entries back.
	ErrHandedBack = core.ErrHandedBack
)

// EntryTooLargeError is Write's answer to an entry above the limit of its size.
// The entry was not accepted.
type EntryTooLargeError = core.TooLarge

// GivenUpError stops a writer that gave an entry up with nothing to take it, or
// whose order does not allow to go on without it.
type GivenUpError = core.GivenUp

// StoppedError is the sticky error of a writer that can't go on: every call
// returns it from then on. What was held is still in Snapshot and Close.
type StoppedError struct {
	Writer string
	Err    error // why
}

func (e *StoppedError) Error() string { return "writer " + e.Writer + " stopped: " + e.Err.Error() }

// Unwrap is the reason.
func (e *StoppedError) Unwrap() error { return e.Err }

// SubmitPanicError is the reason when a submitter panicked.
type SubmitPanicError struct {
	Submitter string // its type
	Value     any
	Stack     []byte
}

func (e *SubmitPanicError) Error() string {
	return fmt.Sprintf("submitter %s panicked: %v", e.Submitter, e.Value)
}

// DeadLetterError is the reason when the dead-letter output failed for good.
type DeadLetterError struct {
	Letters int // that wait to be written
	Err     error
}

func (e *DeadLetterError) Error() string {
	return fmt.Sprintf("dead-letter output failed %d times with %d letters waiting: %v", deadLetterTries, e.Letters, e.Err)
}

// Unwrap is the output's last error.
func (e *DeadLetterError) Unwrap() error { return e.Err }

func fmtInt(i int) string { return strconv.Itoa(i) }
