package statecodec

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	// ErrNotSnapshot says that what was opened does not begin as a snapshot does: it is another kind of file.
	ErrNotSnapshot = errors.New("statecodec: not a snapshot: it does not begin with a snapshot's magic bytes")
	// ErrTooLarge is matched when an [Encoder] refuses an entry, a blob or a name that a [Decoder] with default [Caps]
	// would not read. Nothing of it has been written and the encoder stays usable.
	ErrTooLarge = errors.New("too large")
)

// Fault is what is wrong with the bytes of a snapshot.
type Fault uint8

const (
	// Truncated: the bytes end before the trailer does.
	Truncated Fault = iota + 1
	// Checksum: bytes are not those that were written, or not all of them or not in their order.
	Checksum
	// Length: a length or a count that the bytes around it, or the [Caps], do not allow.
	Length
	// Trailing: there is more after the trailer.
	Trailing
	// Malformed: the checksum is right and the bytes make no sense. A faulty program wrote them.
	Malformed
	// Orphaned: a whole block of a section whose start is damaged. Only a salvage tells.
	Orphaned
)

var faultNames = [...]string{Truncated: "truncated", Checksum: "checksum", Length: "length", Trailing: "trailing data", Malformed: "malformed", Orphaned: "orphaned"}

func (f Fault) String() string {
	if int(f) < len(faultNames) && f != 0 {
		return faultNames[f]
	}
	return fmt.Sprintf("fault(%d)", uint8(f))
}

// FormatError says that a snapshot is damaged, and where.
type FormatError struct {
	Offset  int64   // bytes from the start to what is wrong: a block, or an entry in it
	Section Section // that it lies in; the zero Section: in none
	Fault   Fault
	Detail  string
}

func (e *FormatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "statecodec: damaged at byte %d", e.Offset)
	if e.Section != (Section{}) {
		fmt.Fprintf(&b, " in section %s", e.Section)
	}
	fmt.Fprintf(&b, ": %s: %s", e.Fault, e.Detail)
	return b.String()
}

// Is makes errors.Is(err, io.ErrUnexpectedEOF) true for a truncated snapshot.
func (e *FormatError) Is(target error) bool {
	return target == io.ErrUnexpectedEOF && e.Fault == Truncated
}

// NewerError says that a snapshot, or entries in it, were written by a newer program than this one. They are whole, and
// nothing was lost: that program reads them.
type NewerError struct {
	What      string // "snapshot format", or `codec "kinesis.record"`
	Found     uint32
	Supported uint32 // the newest that this program reads
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("statecodec: %s has version %d, this program reads up to %d: start the program that wrote it, or a newer one",
		e.What, e.Found, e.Supported)
}
