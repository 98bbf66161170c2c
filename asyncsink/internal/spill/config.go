package spill

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

// Policy says who waits for the disk, and when.
type Policy uint8

const (
	// OnCheckpoint: the log never syncs. Whoever makes a segment part of a checkpoint syncs it then, and waits for all that the
	// system has not written by itself yet: on Linux up to some 30 s of it.
	OnCheckpoint Policy = iota
	// Steady: another goroutine syncs the log each time that 8 MiB have been written, and each segment when it is sealed, so
	// that a checkpoint finds little left to sync. It costs a flush of the disk's cache each time; writing goes on meanwhile.
	Steady
)

var policyNames = [...]string{"on_checkpoint", "steady"}

func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// MarshalText is the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText takes a policy's name.
func (p *Policy) UnmarshalText(text []byte) error {
	i := slices.Index(policyNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("must be %s or %s", policyNames[0], policyNames[1])
	}
	*p = Policy(i)
	return nil
}

const (
	// DefaultBytes is 10 GiB.
	DefaultBytes int64 = 10 << 30
	// DefaultSegment is 64 MiB.
	DefaultSegment int64 = 64 << 20

	syncBytes = 8 << 20 // written between two syncs, under Steady
)

// Config is what a [Log] is opened with.
type Config struct {
	// FS is the file system; default files.OS.
	FS files.FS
	// Dir is a folder for the log alone; it is created (0700), and the one that it lies in is there. Empty: there is no
	// disk, and blocks stay in memory.
	Dir string
	// Bytes caps the bytes of all segment files that there are at one time, also of those that wait for a snapshot to let go
	// of them; default DefaultBytes.
	Bytes int64
	// Segment: a segment of so many bytes is ended; default DefaultSegment, lowered to an eighth of Bytes, which is the
	// amount by which space comes back.
	Segment int64
	// Sync is when the log is synced; default OnCheckpoint.
	Sync Policy
	// Header and Section stand at the start of each segment file. Section tells how many key groups there are.
	Header  statecodec.Header
	Section statecodec.Section

	block int // bytes of payload that entries share; 0: 256 KiB. For tests
}

// orDefaults completes c, or says all that is wrong with it.
func (c Config) orDefaults() (Config, error) {
	var faults []error
	if c.Bytes < 0 {
		faults = append(faults, fmt.Errorf("spill: Bytes: %d: at least 1, or 0 for the default", c.Bytes))
	}
	if c.Segment < 0 {
		faults = append(faults, fmt.Errorf("spill: Segment: %d: at least 1, or 0 for the default", c.Segment))
	}
	if c.Sync > Steady {
		faults = append(faults, fmt.Errorf("spill: Sync: %d: OnCheckpoint (0) or Steady (1)", c.Sync))
	}
	if _, _, err := statecodec.NewFrame(c.Header, c.Section); err != nil {
		faults = append(faults, err)
	}
	if c.FS == nil {
		c.FS = files.OS{}
	}
	if c.Bytes == 0 {
		c.Bytes = DefaultBytes
	}
	if c.Segment == 0 {
		c.Segment = DefaultSegment
	}
	c.Segment = max(1, min(c.Segment, c.Bytes/8))
	return c, errors.Join(faults...)
}
