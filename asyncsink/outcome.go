package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// Kind is what became of an attempt, for one entry or for a whole request.
type Kind = core.Kind

// The kinds of outcome. A connector classifies each error of its service over the error's whole chain.
const (
	// Delivered: stored; it is never sent again in this life of the writer. The zero value.
	Delivered = core.Delivered
	// Retry: not stored, and it may be later: it goes again after a back-off.
	Retry = core.Retry
	// Throttled: as Retry, and load was the cause: it also moves the window.
	Throttled = core.Throttled
	// Rejected: it will never be stored. An entry goes to the dead letters; a request
	// that is rejected as a whole is halved until the guilty entry stands alone.
	Rejected = core.Rejected
	// Ambiguous: it may be stored or not (no answer, a cut connection). It goes again,
	// and is counted as a possible duplicate when it does.
	Ambiguous = core.Ambiguous
	// Fatal: nothing can be sent any more (no permission, no such stream). The writer
	// stops with the outcome's error; what it holds stays in the last snapshot.
	Fatal = core.Fatal
	// CredentialExpired: as Retry, and the attempt does not count against the attempts limit.
	CredentialExpired = core.CredentialExpired
)

// Outcome is the result of an attempt, for one entry ([Batch.Set]) or, returned
// from Submit as an error, for all entries that have none of their own. One with
// an Err and no Kind counts as Retry: what has a cause is not delivered.
type Outcome struct {
	Kind Kind
	// Err is the cause, for logs, dead letters and the writer's sticky error.
	Err error
	// After is the least time to wait before the next attempt: a Retry-After, a throttle
	// time. The failures of one request share the longest.
	After time.Duration
	// Generation is that of the credential that the attempt used; 0: none.
	Generation uint64
}

// Error makes an Outcome returnable from Submit.
func (o Outcome) Error() string {
	if o.Err == nil {
		return o.Kind.String()
	}
	return fmt.Sprintf("%v: %v", o.Kind, o.Err)
}

// Unwrap is the cause.
func (o Outcome) Unwrap() error { return o.Err }

// outcomeOf reads what Submit returned: the Outcome in the error's chain; without
// one, Ambiguous if the attempt's context had ended, else Retry.
func outcomeOf(err error, ctx context.Context) Outcome {
	var o Outcome
	switch {
	case err == nil:
		return Outcome{}
	case errors.As(err, &o):
		if o.Err == nil && o.Kind != Delivered {
			o.Err = err
		}
		return o
	case ctx.Err() != nil:
		return Outcome{Kind: Ambiguous, Err: err}
	default:
		return Outcome{Kind: Retry, Err: err}
	}
}

func (o Outcome) core() core.Outcome {
	if o.Kind == Delivered && o.Err != nil {
		o.Kind = Retry
	}
	return core.Outcome{Kind: o.Kind, After: o.After, Err: o.Err}
}
