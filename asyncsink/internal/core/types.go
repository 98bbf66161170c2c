package core

import (
	"math"
	"time"
)

// Time is nanoseconds since the Unix epoch on a clock that never goes back.
// The shell owns that clock; the core only compares and adds.
type Time int64

// Never is later than any time.
const Never Time = math.MaxInt64

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Std is t for the libraries that want a time.Time.
func (t Time) Std() time.Time { return time.Unix(0, int64(t)) }

// Seq is an entry's place among all that were accepted: 1 for the first, and one more
// for each that follows. A life that restores an earlier one's entries goes on with its sequences.
type Seq uint64

// ID names an entry across lives: the writer that first accepted it and its
// sequence there. It is derived, so it costs nothing until an entry is restored.
type ID struct {
	Writer [16]byte
	Seq    Seq
}

// Kind is what became of an attempt, for an entry or a whole request.
type Kind uint8

// The outcomes. For a whole request they apply to every entry that has none of its own.
const (
	Delivered         Kind = iota // stored, and never sent again in this life
	Retry                         // not stored; again after a back-off
	Throttled                     // as Retry, and a signal to the window
	Rejected                      // will never be stored: to the dead letters; a whole request is halved instead
	Ambiguous                     // perhaps stored; again after a back-off, as a possible duplicate
	Fatal                         // nothing more can be sent: the writer stops
	CredentialExpired             // as Retry, and the attempt is not counted
)

var kindNames = [...]string{"delivered", "retry", "throttled", "rejected", "ambiguous", "fatal", "credential expired"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown outcome"
}

// Outcome is what the core keeps of an outcome: its kind, the destination's
// hint and, for the dead letters and the sticky error, its cause.
type Outcome struct {
	Kind  Kind
	After time.Duration
	Err   error
}

// Failure is the outcome of one entry of a batch, by its index.
type Failure struct {
	Index int
	Outcome
}

// Order is what is kept between entries.
type Order uint8

const (
	Unordered Order = iota // arrival order is tried, nothing is promised
	PerKey                 // first occurrences of a key's entries stand in order
	Total                  // PerKey with one key for all
)

// Relation is how a destination treats the entries of a request.
type Relation uint8

const (
	// Independent destinations store each entry or not by itself (PutRecords):
	// under an order, one entry of a key is outstanding.
	Independent Relation = iota
	// Prefix destinations store a request up to a point and nothing behind it:
	// under an order, the entries of a key that are outstanding share a request.
	Prefix
	// Pipelined destinations keep the order in which requests were issued: no gate.
	Pipelined
)

// OnRejected is what a rejected entry means for the later ones of its key.
type OnRejected uint8

const (
	GoOn   OnRejected = iota // the key goes on without it
	Divert                   // what follows of the key goes to the dead letters too
	Stop                     // the writer stops
)

// Dead is an entry on its way to the dead letters.
type Dead[E any] struct {
	Held[E]
	Time Time // when it was given up
}

// Death is why an entry was given up.
type Death struct {
	Class string // rejected, attempts, age, too_large, diverted
	Err   error
	Time  Time
}

// Held is one unsettled entry, as snapshots and dead letters show it.
type Held[E any] struct {
	Seq      Seq // its place; restored entries keep theirs
	ID       ID
	Entry    E
	Attempts int    // that ended without delivery
	Born     Time   // when it was first accepted
	Unsure   bool   // the last attempt may have stored it
	Death    *Death // set: given up, and the dead-letter output has not acknowledged it
}

// Range is the sequences First to Last, both included.
type Range struct{ First, Last Seq }
