package statecodec

import (
	"fmt"
)

// Codec turns entries into the bytes of a snapshot and back. It is pure: no clock, no I/O, no state, and many
// goroutines call it at once. Changing what AppendEncode writes takes a new version, and Decode goes on reading the old
// ones, since snapshots outlive the program that wrote them.
type Codec[E any] interface {
	// ID names the codec in each section it wrote: "bytes", "kinesis.record". It never changes; another layout of the
	// same entries is another version, entries of another kind are another codec.
	ID() string
	// Version is what AppendEncode writes. The first is 1.
	Version() uint32
	// AppendEncode appends the bytes of e to dst and returns the extended slice, as append does. It keeps neither.
	AppendEncode(dst []byte, e E) ([]byte, error)
	// Decode reads what a codec of this ID and the given version wrote. src is reused after it returns, hence it must
	// copy what it keeps. A version that it does not know is a *[NewerError]; bytes that it cannot read are an error,
	// not a panic: they have passed a checksum, but may be another program's.
	Decode(version uint32, src []byte) (E, error)
}

// Bytes is the codec of entries that are bytes already: they are stored as they are. A nil entry comes back as an
// empty one.
type Bytes struct{}

// String is the codec of entries that are strings. Their bytes are stored as they are, valid UTF-8 or not.
type String struct{}

var (
	_ Codec[[]byte] = Bytes{}
	_ Codec[string] = String{}
)

// ID returns "bytes".
func (Bytes) ID() string { return "bytes" }

// Version returns 1.
func (Bytes) Version() uint32 { return 1 }

// AppendEncode appends e. It never fails.
func (Bytes) AppendEncode(dst []byte, e []byte) ([]byte, error) { return append(dst, e...), nil }

// Decode returns a copy of src.
func (c Bytes) Decode(version uint32, src []byte) ([]byte, error) {
	if err := CheckVersion(c.ID(), version, c.Version()); err != nil {
		return nil, err
	}
	return append([]byte{}, src...), nil
}

// ID returns "string".
func (String) ID() string { return "string" }

// Version returns 1.
func (String) Version() uint32 { return 1 }

// AppendEncode appends the bytes of e. It never fails.
func (String) AppendEncode(dst []byte, e string) ([]byte, error) { return append(dst, e...), nil }

// Decode returns src as a string.
func (c String) Decode(version uint32, src []byte) (string, error) {
	if err := CheckVersion(c.ID(), version, c.Version()); err != nil {
		return "", err
	}
	return string(src), nil
}

// CheckVersion is what a [Codec.Decode] starts with: nil for the versions 1 to supported, a *[NewerError] above them, and
// an error for 0, which no codec writes.
func CheckVersion(codec string, found, supported uint32) error {
	switch {
	case found > supported:
		return &NewerError{What: fmt.Sprintf("codec %q", codec), Found: found, Supported: supported}
	case found == 0:
		return fmt.Errorf("statecodec: codec %q: version 0 was never written: the section was made by a faulty program", codec)
	}
	return nil
}
