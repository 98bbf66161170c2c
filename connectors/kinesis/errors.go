package kinesis

import (
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/asyncsink"
)

// ErrAnswer is in the chain of outcomes whose request was answered with success,
// but not in a way that says what became of the records: they may be stored.
var ErrAnswer = errors.New("the answer does not say what became of each record")

// RequestError is a request that failed as a whole.
type RequestError struct {
	Stream string
	Kind   asyncsink.Kind // what it means for the records
	Code   string         // the service's error code; "" when it gave none
	Advice string         // what to do about it; "" when the writer's own retry is all
	Err    error          // the SDK's
}

func (e *RequestError) Error() string {
	if e.Advice == "" {
		return fmt.Sprintf("kinesis stream %s: %v", e.Stream, e.Err)
	}
	return fmt.Sprintf("kinesis stream %s: %s: %v", e.Stream, e.Advice, e.Err)
}

// Unwrap is the SDK's error.
func (e *RequestError) Unwrap() error { return e.Err }

// EntryError is one record that a request did not store although it was answered.
type EntryError struct {
	Code    string // such as ProvisionedThroughputExceededException
	Message string // it names the shard that is throttled
}

func (e *EntryError) Error() string { return "kinesis: " + e.Code + ": " + e.Message }

// OrderError refuses a writer whose order the stream can't keep.
type OrderError struct {
	Stream string
	Order  asyncsink.Order
	Reason string // and what to do
}

func (e *OrderError) Error() string {
	return fmt.Sprintf("kinesis stream %s: order %v can't be kept: %s", e.Stream, e.Order, e.Reason)
}

// credentialsError marks failures to obtain credentials: nothing was sent, and
// service codes in the chain are another service's.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "obtain AWS credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }
