package asyncsink

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

// RequestSubmitter is what a connector implements: it sends one batch to the
// destination, once. The writer owns batching, retries, back-off, order, rate
// and state, so a submitter keeps none of them, and reads no clock.
//
// Submit is called by many goroutines at once. It returns when the answer is
// known or its context ends (the deadline is [limits.InFlight].Timeout), and
// leaves no goroutine behind that touches the batch. A nil error delivers every
// entry that was not given an outcome by [Batch.Set]; an [Outcome] in the error's
// chain applies to those; any other error means Retry, or Ambiguous once the
// context has ended. A panic stops the writer, with its entries accounted for.
type RequestSubmitter[E any] interface {
	Submit(ctx context.Context, b *Batch[E]) error
}

// SubmitFunc is a RequestSubmitter made of a function.
type SubmitFunc[E any] func(ctx context.Context, b *Batch[E]) error

// Submit calls f.
func (f SubmitFunc[E]) Submit(ctx context.Context, b *Batch[E]) error { return f(ctx, b) }

// Opener is implemented by submitters that connect, look limits up or check
// permissions first. New calls it once, before anything is submitted; its error is New's,
// and a [Closer] that could not be opened is not closed.
type Opener interface {
	Open(ctx context.Context, env Env) error
}

// Closer is implemented by submitters that hold something. The writer's Close calls it last,
// once, with its own context; attempts that ignored theirs may still run. New calls it when the
// state that it was to restore is refused.
type Closer interface {
	Close(ctx context.Context) error
}

// Env is what a writer lends to its connector (FLIP-177, step 1). It stays
// valid until the writer is closed, and its functions may be called by any goroutine.
type Env struct {
	// Name is the writer's; Index, from 0, its place among the Writers of a job.
	Name           string
	Index, Writers int
	// Restored says whether the writer came back from a checkpoint, whose id Checkpoint is.
	Restored   bool
	Checkpoint uint64
	// Executor runs the connector's own mails, one at a time with the writer's.
	Executor mailbox.Executor
	// Timers are one-shot, run as such mails, and stop with the writer.
	Timers *mailbox.Timers
	Logger *slog.Logger
	// Tune tells the writer what the service allows now; it lowers the configured limits of
	// a batch where it sets smaller ones, and takes the place of [Traits].Max.
	Tune func(limits.Batch)
	// Count adds to a counter of the connector's own, shown in [Stats].Connector.
	Count func(name string, n int64)
	// Credentials is where to read secrets, or nil when the connector has its own way.
	Credentials CredentialSource
}

// CredentialSource hands out secrets and learns which have expired.
type CredentialSource interface {
	// Credential returns the newest credential. It may block while one is obtained.
	Credential(ctx context.Context) (Credential, error)
	// Invalidate says that the destination refused this generation as expired. Saying so
	// more than once for a generation causes one refresh.
	Invalidate(generation uint64)
}

// Credential is one secret of a generation; the generation grows with each refresh.
type Credential struct {
	ID, Secret, Session string
	Expires             time.Time // zero: never
	Generation          uint64
}

// String hides the secret, so that no log shows it.
func (c Credential) String() string { return "credential " + c.ID }

// GoString hides the secret from %#v.
func (c Credential) GoString() string { return c.String() }

// MarshalText hides the secret from JSON, and so from structured logs.
func (c Credential) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
