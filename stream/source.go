package stream

import (
	"context"
	"time"
)

// Record is what a user has, as a [Source] read it. Its slices are the source's and are valid until the next Read: who keeps
// them copies them.
type Record struct {
	Split    string // ID of the split that it was read from
	Position []byte // where the split goes on behind this record; only the source understands it
	Key      []byte // if HasKey: an empty key is a key
	HasKey   bool
	Value    []byte
	Time     time.Time // that the source has for it; zero: none
}

// Split is a part of a stream that is read in order by one reader: a file, a partition, a shard.
type Split struct {
	// ID is the same in each life of a job. It is never that of another part: a state that knows one would skip the
	// other's records.
	ID string
	// Position is where to go on, as a record of this split had it. Nil: at the beginning, or where the source's
	// configuration says that a new reader begins.
	Position []byte
}

// Source reads records.
//
// One goroutine at a time calls its methods, hence it needs no lock. Who wants to Assign or Revoke while Read waits ends the
// context of that Read.
//
// A source hides what passes: it connects again, backs off and goes on where it was. An error of Read means that the job
// cannot go on, and says what to do. The exceptions are the context's, and io.EOF.
type Source interface {
	// Replayable says whether records can be read again from a position. If they cannot, positions only tell a
	// person where a record came from, and a record is safe once a checkpoint holds it. It does not change.
	Replayable() bool

	// Discover returns the splits that there are, assigned or not, with nil positions: what a job begins with, and what it
	// asks for from time to time where splits come and go.
	Discover(ctx context.Context) ([]Split, error)

	// Assign adds splits to those that are read, each from its position. One that is assigned already is read on
	// from the new position. After an error, such as for a position that is not of this data, all is as it was.
	Assign(splits []Split) error

	// Revoke takes splits away: no later Read returns a record of theirs. It is an error if one is not assigned.
	Revoke(ids []string) error

	// Read waits until there is a record and fills dst with those that can be had at once, n of them, those of a
	// split in its order. They count also when err is not nil. With room in dst, it does not return 0 and nil.
	//
	// When ctx ends, it returns the context's error, soon. Nothing is lost by that: what it would have returned, the next
	// Read does. A source that is not replayable gives what it holds already first, so that a job which stops can save it.
	// io.EOF says that all splits that are assigned have been read to their end and none will grow.
	Read(ctx context.Context, dst []Record) (n int, err error)

	// Close gives back what the source holds. It is called once, after the last Read has returned; records are
	// not valid after it.
	Close() error
}
