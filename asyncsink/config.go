package asyncsink

import (
	"errors"
	"log/slog"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/statecodec"
)

// Traits is what a writer must know about entries and their destination. Its
// functions are pure; they are called on the hot path, often.
type Traits[E any] struct {
	// Size is an entry's bytes on the wire, key and overhead included. Required.
	Size func(E) int
	// Key is what order is kept by. Required for [PerKey].
	Key func(E) string
	// Codec writes entries to snapshots and reads them back. Required for Snapshot and
	// restore; left out, []byte and string entries have [statecodec.Bytes] and [statecodec.String].
	Codec statecodec.Codec[E]
	// Data is what a dead letter shows of an entry. Left out: what Codec writes.
	Data func(E) []byte
	// Relation is how the destination treats the entries of a request.
	Relation Relation
	// OwnsRetries: the destination's own client retries, and Submit reports final outcomes
	// only. A time-out then stops the writer, since what it carried must not be issued again.
	OwnsRetries bool
	// Max is what the service allows; it lowers the configuration's limits where it sets smaller ones.
	Max limits.Batch
}

// Config is a writer's configuration, what YAML calls writer:. Zero values mean
// the defaults that package limits states.
type Config struct {
	// Name is the writer's in logs, errors and snapshots. Default "writer".
	Name string `yaml:"-"`
	// Index is the writer's place among the Writers of a job. Default 0 of 1.
	Index   int `yaml:"-"`
	Writers int `yaml:"-"`

	// Order is what is kept between entries. Default [Unordered].
	Order Order `yaml:"order"`
	// OnRejected says, under an order, what becomes of a key whose entry was given up. Default [GoOn].
	OnRejected OnRejected `yaml:"on_rejected"`
	// StopOnAmbiguous: under an order, an entry that passed a limit of attempts or age with
	// an attempt of unknown effect stops the writer; otherwise it is tried on.
	StopOnAmbiguous bool `yaml:"stop_on_ambiguous"`

	Batch    limits.Batch    `yaml:"batch"`
	Held     limits.Held     `yaml:"held"`
	InFlight limits.InFlight `yaml:"in_flight"`
	Rate     limits.Rate     `yaml:"rate"`
	Retry    limits.Retry    `yaml:"retry"`

	// Spill is where entries go for which there is no room in memory. Default: nowhere; a full writer blocks.
	Spill Spill `yaml:"spill"`

	// DeadLetters takes the entries that are given up. Without it giving one up stops the writer.
	DeadLetters DeadLetters `yaml:"-"`
	// Settlement makes AppendSettled and Settled work. Who sets it must pull, or the ranges pile up.
	Settlement bool `yaml:"-"`
	// Restore is what an earlier life left. Its entries go before new ones.
	Restore *Restore `yaml:"-"`
	// Credentials is handed to the connector.
	Credentials CredentialSource `yaml:"-"`
	// Executor runs everything that touches the writer's state. Default: a [mailbox.Locked] of
	// the writer's own, and any goroutine may write. With a [mailbox.Loop] only its owner may
	// call the writer's methods (Stats and Settled excepted), and a call that waits runs the loop's mails.
	Executor mailbox.Executor `yaml:"-"`
	// Seed makes the jitter of back-offs repeatable. Default 0: random.
	Seed uint64 `yaml:"-"`
	// Logger. Default: none.
	Logger *slog.Logger `yaml:"-"`

	disk files.FS // that the spill log lies on; nil: the system's
}

// Order is what is kept between the first occurrences of entries at the
// destination; duplicates may follow.
type Order = core.Order

// The orders.
const (
	Unordered = core.Unordered // arrival order is tried, nothing is promised; the default
	PerKey    = core.PerKey    // the entries of a key stand in the order in which they were written
	Total     = core.Total     // all entries do: PerKey with one key
)

// OnRejected says what a given-up entry means for the later ones of its key.
type OnRejected = core.OnRejected

// The choices for [Config].OnRejected.
const (
	GoOn   = core.GoOn   // the key goes on without it; the default
	Divert = core.Divert // what follows of the key goes to the dead letters too
	Stop   = core.Stop   // the writer stops
)

// Relation is how a destination treats the entries of a request.
type Relation = core.Relation

// The relations.
const (
	// Independent: each entry is stored or not by itself (Kinesis PutRecords). Under an
	// order, one entry of a key is outstanding at a time. The default.
	Independent = core.Independent
	// Prefix: a request is stored up to a point and nothing behind it (a transaction, an
	// append). Under an order, the outstanding entries of a key share one request.
	Prefix = core.Prefix
	// Pipelined: requests are stored in the order in which they are issued, and once one is
	// not, none behind it is (idempotent Kafka). Order costs no gate, but only final
	// outcomes may be reported under it. Needs OwnsRetries under an order.
	Pipelined = core.Pipelined
)

// ConfigError is everything that is wrong with a configuration. Errors are
// [*limits.Fault] values where a field is out of its bounds.
type ConfigError struct {
	Writer string
	Errs   []error
}

func (e *ConfigError) Error() string {
	return "writer " + e.Writer + ": configuration: " + errors.Join(e.Errs...).Error()
}

// Unwrap gives errors.Is and errors.As the single faults.
func (e *ConfigError) Unwrap() []error { return e.Errs }

// limitsSet is the limits in force: the configuration's, lowered to what the
// service allows, with defaults filled in.
func (c Config) limitsSet(most limits.Batch) limits.Set {
	return limits.Set{
		Batch: c.Batch.Min(most), Held: c.Held, InFlight: c.InFlight, Rate: c.Rate, Retry: c.Retry,
	}.WithDefaults()
}

// Validate reports all faults of the configuration that can be seen without a
// destination, in a *ConfigError.
func (c Config) Validate() error {
	return c.check(limits.Set{Batch: c.Batch, Held: c.Held, InFlight: c.InFlight, Rate: c.Rate, Retry: c.Retry}.WithDefaults(), nil)
}

func (c Config) check(l limits.Set, more []error) error {
	errs := flatten(l.Validate())
	if c.Order > Total {
		errs = append(errs, &limits.Fault{Field: "order", Value: c.Order.String(), Bound: "unordered, per_key or total"})
	}
	if c.OnRejected > Stop {
		errs = append(errs, &limits.Fault{Field: "on_rejected", Value: c.OnRejected.String(), Bound: "go_on, divert or stop"})
	}
	if c.Writers < 0 || c.Index < 0 || c.Index >= max(c.Writers, 1) {
		errs = append(errs, &limits.Fault{Field: "index", Value: fmtInt(c.Index), Bound: "from 0 to below the number of writers"})
	}
	errs = append(errs, c.Spill.check()...)
	if errs = append(errs, more...); len(errs) == 0 {
		return nil
	}
	return &ConfigError{c.name(), errs}
}

func (c Config) name() string {
	if c.Name == "" {
		return "writer"
	}
	return c.Name
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

func missing(field, bound string) error {
	return &limits.Fault{Field: field, Value: "none", Bound: bound}
}

// check reports what is wrong with the traits, given an order.
func (t Traits[E]) check(c Config) (errs []error) {
	fault := func(field, bound string) { errs = append(errs, missing(field, bound)) }
	if t.Size == nil {
		fault("traits.size", "set: the bytes of an entry on the wire")
	}
	if c.Order == PerKey && t.Key == nil {
		fault("traits.key", "set for order per_key")
	}
	if t.Relation > Pipelined {
		errs = append(errs, &limits.Fault{Field: "traits.relation", Value: fmtInt(int(t.Relation)), Bound: "Independent, Prefix or Pipelined"})
	}
	if c.Order != Unordered && t.Relation == Pipelined && !t.OwnsRetries {
		errs = append(errs, &limits.Fault{Field: "order", Value: c.Order.String(),
			Bound: "unordered: a pipelined destination that hands retries back can't keep an order"})
	}
	if c.Restore != nil && t.Codec == nil {
		fault("traits.codec", "set to restore")
	}
	if c.Spill.Dir == "" && c.Spill.Bytes > 0 {
		fault("spill.dir", "set: a folder for so many bytes")
	}
	if c.Spill.Dir != "" && t.Codec == nil {
		fault("traits.codec", "set to spill")
	}
	if c.DeadLetters != nil && t.Data == nil && t.Codec == nil {
		fault("traits.data", "set, or codec, for the dead letters")
	}
	return errs
}
