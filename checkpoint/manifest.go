package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/spillway-go/spillway/statecodec"
)

// Format is the version of the manifests that are written, and the newest that is read. Format 0 may still change; from the
// first release on, each that was released stays readable.
const Format uint32 = 0

// Kinds of manifests.
const (
	KindCheckpoint = "checkpoint"
	KindEpoch      = "epoch" // an epoch record: that a process opened the state, or that it gave a number up
)

// Owned is the ownership of checkpoints: they are the job's, which deletes them once newer ones have taken their place.
const Owned = "owned"

// Manifest says what a checkpoint is made of. The package comment shows one.
type Manifest struct {
	Format       uint32     `json:"format"`
	Kind         string     `json:"kind"`
	Program      string     `json:"program,omitempty"` // that wrote it: [Options].Program
	CodecVersion uint32     `json:"statecodec"`        // [statecodec.Version] of that program
	Job          string     `json:"job"`
	Instance     string     `json:"instance"`
	ID           uint64     `json:"id"`
	Epoch        uint64     `json:"epoch"` // the life of the process that wrote it
	Time         time.Time  `json:"time"`  // when it was begun
	Final        bool       `json:"final"` // taken when nothing more was sent: what it holds was not in flight
	Ownership    string     `json:"ownership"`
	Lineage      Lineage    `json:"lineage,omitzero"`
	KeyGroups    KeyGroups  `json:"key_groups,omitzero"`
	Operators    []Operator `json:"operators,omitempty"`
	Entries      uint64     `json:"entries"` // held; files may hold settled ones as well
	Files        []File     `json:"files,omitempty"`
}

// KeyGroups is the range of key groups that a process has.
type KeyGroups struct {
	First uint32 `json:"first"`
	Last  uint32 `json:"last"` // included
	Of    uint32 `json:"of"`   // how many there are in all; 0: not keyed
}

// Operator is a part of the job that has state.
type Operator struct {
	Name         string `json:"name"`
	Kind         string `json:"kind"` // of its sections, as [statecodec.Kind] prints it
	Codec        string `json:"codec,omitempty"`
	CodecVersion uint32 `json:"codec_version,omitempty"`
	KeyGroups    uint32 `json:"key_groups,omitempty"` // that its entries' groups are counted in; 0: not keyed
	Entries      uint64 `json:"entries"`
	Bytes        uint64 `json:"bytes"`
}

// File is a data file of a checkpoint. Several may name it; it never changes.
type File struct {
	Name    string `json:"name"`   // relative to the job's folder: data/3-17
	Size    int64  `json:"size"`   // bytes
	CRC32C  CRC    `json:"crc32c"` // of all its bytes
	Role    Role   `json:"role"`
	Entries uint64 `json:"entries"` // in it, settled or not
}

// Role is what a data file is to a checkpoint.
type Role string

// Roles.
const (
	RoleState Role = "state" // the one file that restoring begins with: positions, what is held of the others, new entries
	RoleLog   Role = "log"   // entries written earlier, of which the state file says which are held
)

// CRC is a CRC-32 with the Castagnoli polynomial. Its text has eight hexadecimal digits.
type CRC uint32

// MarshalText writes eight hexadecimal digits.
func (c CRC) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(c)), nil }

// UnmarshalText reads what MarshalText wrote, and nothing else.
func (c *CRC) UnmarshalText(text []byte) error {
	var v uint32
	if _, err := fmt.Sscanf(string(text), "%08x", &v); err != nil || fmt.Sprintf("%08x", v) != string(text) {
		return fmt.Errorf("%q is not eight hexadecimal digits", text)
	}
	*c = CRC(v)
	return nil
}

// Bytes is the size of all files.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// State is the file that restoring begins with.
func (m *Manifest) State() File {
	for _, f := range m.Files {
		if f.Role == RoleState {
			return f
		}
	}
	return File{}
}

func (m *Manifest) owner() Job { return Job{Name: m.Job, Instance: m.Instance}.orDefault() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const seal = "crc32c: %08x\n" // the last line; it and "format" stay the same in each version to come

// encoded is a manifest and its bytes.
type encoded struct {
	*Manifest
	crc  CRC // that the bytes end with
	text []byte
}

func (e encoded) slot() slot {
	return slot{id: e.ID, size: int64(len(e.text)), m: e.Manifest, crc: e.crc}
}

func (m *Manifest) encode() (encoded, error) {
	if err := m.check(); err != nil {
		return encoded{}, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return encoded{}, err
	}
	sum := crc32.Checksum(b.Bytes(), castagnoli)
	fmt.Fprintf(&b, seal, sum)
	return encoded{m, CRC(sum), b.Bytes()}, bounded(b.Bytes())
}

// oldMagic began a checkpoint when it was one file, in development versions.
const oldMagic = "\x89SPW\r\n\x1a\n"

// decode reads a manifest and the CRC that it ends with. On an error, which is a *[statecodec.NewerError] or says what is
// damaged, at is where, as far as that is known.
func decode(b []byte) (m *Manifest, sum CRC, at int64, err error) {
	if bytes.HasPrefix(b, []byte(oldMagic)) {
		return nil, 0, 0, errors.New("an older development version wrote it, whose checkpoints were single files")
	}
	if err := bounded(b); err != nil {
		return nil, 0, 0, err
	}
	end := len(b) - len(fmt.Sprintf(seal, 0))
	if end < 0 {
		return nil, 0, int64(len(b)), errors.New("it is not whole: its last line is missing")
	}
	sum = CRC(crc32.Checksum(b[:end], castagnoli))
	if want := fmt.Sprintf(seal, uint32(sum)); string(b[end:]) != want {
		return nil, 0, 0, fmt.Errorf("its bytes are not those that were written: the last line should be %q", want)
	}
	var version struct {
		Format uint32 `json:"format"`
	}
	m = &Manifest{}
	if err = json.Unmarshal(b[:end], &version); err == nil && version.Format > Format {
		return nil, 0, 0, &statecodec.NewerError{What: "checkpoint manifest", Found: version.Format, Supported: Format}
	}
	if err == nil {
		err = json.Unmarshal(b[:end], m)
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, 0, offset(err), fmt.Errorf("the checksum is right and the text is no manifest: %w", err)
	}
	return m, sum, 0, nil
}

// offset is where JSON is wrong.
func offset(err error) int64 {
	var syntax *json.SyntaxError
	var unfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &unfit):
		return unfit.Offset
	}
	return 0
}
