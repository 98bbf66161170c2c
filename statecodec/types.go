package statecodec

import "fmt"

// Kind is what a section holds.
type Kind uint8

const (
	// KindSource: what a source needs to go on: splits and their positions, as blobs.
	KindSource Kind = iota + 1
	// KindBuffer: entries that were accepted and not settled.
	KindBuffer
	// KindDead: entries that were given up, and whose dead letter has not been written, by themselves. Package asyncsink keeps
	// them among the others, in their order, and writes no such section.
	KindDead
	// KindCommittable: what a committer needs to end a transaction, as blobs.
	KindCommittable
	// KindHeld: entries that lie in an older file of the state: which of them are held, as a [Bitmap] in a blob, and what
	// has changed beside them (attempts, unsure, death), as entries without data.
	KindHeld
)

var kindNames = [...]string{KindSource: "source", KindBuffer: "buffer", KindDead: "dead", KindCommittable: "committable", KindHeld: "held"}

// String is the kind's name, or kind(N) for one that this program does not know.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Header is what a snapshot says of itself before its sections.
type Header struct {
	Job        string // whose state it is
	Instance   string // which process of the job
	Checkpoint uint64 // its number; higher is newer
	Epoch      uint64 // the life of the process that took it
	Time       int64  // when it was begun, nanoseconds since the Unix epoch
	Final      bool   // taken when nothing more was sent: what it holds was not in flight
}

// Section names a part of a snapshot: whose it is, what it holds, and how to read it.
type Section struct {
	Operator     string // the part of the job that it belongs to
	Kind         Kind
	Codec        string // ID of the codec of its entries; empty where it has none
	CodecVersion uint32 // that the codec wrote
	KeyGroups    uint32 // number that the entries' key groups are counted in; 0: not keyed
}

// String reads "kinesis" (buffer).
func (s Section) String() string { return fmt.Sprintf("%q (%s)", s.Operator, s.Kind) }

// Entry is one entry of a section, and what is known of it besides its data.
type Entry struct {
	Writer   [16]byte // the writer that first accepted it; with Seq, its idempotency id
	Seq      uint64   // its place in that writer's life
	KeyGroup uint32   // below the section's KeyGroups; 0 where that is 0
	Attempts uint16   // that ended without delivery
	Born     int64    // when it was first accepted, nanoseconds since the Unix epoch
	Unsure   bool     // an attempt may have stored it: sending it again may make a duplicate

	// Why it was given up; all zero: it was not.
	Class  string // such as "rejected", "attempts", "age"
	Cause  string // the last error's text; what is beyond 16 KiB is cut off
	DeadAt int64  // when, nanoseconds since the Unix epoch

	Data []byte // as the section's codec wrote it
}

// Totals counts what a snapshot holds.
type Totals struct {
	Sections uint64
	Entries  uint64
}
