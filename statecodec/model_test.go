package statecodec

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// snapshot is what the tests write and expect to read.
type snapshot struct {
	Header   Header
	Sections []content
}

type content struct {
	Section Section
	Blobs   [][]byte
	Entries []Entry
}

func (s snapshot) writeTo(w io.Writer) error {
	e, err := NewEncoder(w, s.Header)
	if err != nil {
		return err
	}
	for _, c := range s.Sections {
		if err := e.Begin(c.Section); err != nil {
			return err
		}
		for _, b := range c.Blobs {
			if err := e.Blob(b); err != nil {
				return err
			}
		}
		for i := range c.Entries {
			if err := e.Entry(&c.Entries[i]); err != nil {
				return err
			}
		}
	}
	return e.Close()
}

func (s snapshot) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.writeTo(&b))
	return b.Bytes()
}

// read returns what was read before the first error, and that error.
func read(r io.Reader, c Caps) (s snapshot, err error) {
	d, err := NewDecoder(r, c)
	if err != nil {
		return s, err
	}
	return readAll(d)
}

func readAll(d *Decoder) (s snapshot, err error) {
	s.Header = d.Header()
	for {
		section, err := d.Next()
		if err == io.EOF {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		c := content{Section: section}
		for {
			b, err := d.Blob()
			if err == io.EOF {
				break
			}
			if err != nil {
				return s, err
			}
			c.Blobs = append(c.Blobs, slices.Clone(b))
		}
		for {
			var e Entry
			err := d.Entry(&e)
			if err == io.EOF {
				break
			}
			if err != nil {
				return s, err
			}
			e.Data = slices.Clone(e.Data)
			c.Entries = append(c.Entries, e)
		}
		s.Sections = append(s.Sections, c)
	}
}

// random makes snapshots of all that a snapshot can hold; most are small.
func random(r *rand.Rand) snapshot {
	s := snapshot{Header: Header{
		Job: name(r, 0), Instance: name(r, 0), Checkpoint: wild(r), Epoch: wild(r), Time: int64(wild(r)), Final: r.IntN(2) == 0,
	}}
	for range r.IntN(4) {
		c := content{Section: Section{
			Operator: name(r, 1), Kind: Kind(1 + r.IntN(6)), Codec: name(r, 0), CodecVersion: uint32(wild(r)), KeyGroups: uint32(wild(r)),
		}}
		for range r.IntN(3) {
			c.Blobs = append(c.Blobs, blob(r))
		}
		e := Entry{}
		for range r.IntN(200) {
			e = entryAfter(r, e, c.Section)
			c.Entries = append(c.Entries, e)
		}
		s.Sections = append(s.Sections, c)
	}
	return s
}

func entryAfter(r *rand.Rand, last Entry, s Section) Entry {
	e := Entry{Writer: last.Writer, Seq: last.Seq + 1, KeyGroup: last.KeyGroup, Born: last.Born, Data: blob(r)}
	maybe := func(f func()) {
		if r.IntN(4) == 0 {
			f()
		}
	}
	maybe(func() { e.Writer[r.IntN(16)] = byte(r.Uint32()) })
	maybe(func() { e.Seq = wild(r) })
	maybe(func() { e.KeyGroup = uint32(wild(r) % uint64(max(s.KeyGroups, 1))) })
	maybe(func() { e.Attempts = uint16(wild(r)) })
	maybe(func() { e.Born = int64(wild(r)) })
	maybe(func() { e.Unsure = true })
	maybe(func() { e.Class = name(r, 0) })
	maybe(func() { e.Cause = name(r, 0) })
	maybe(func() { e.DeadAt = int64(wild(r)) })
	return e
}

// wild likes the ends of ranges.
func wild(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return uint64(r.IntN(3))
	case 1:
		return -uint64(r.IntN(3))
	case 2:
		return uint64(1)<<r.IntN(64) - uint64(r.IntN(2))
	}
	return r.Uint64() >> r.IntN(64)
}

var names = []string{"", "0", "orders", "kinesis", "Aufträge", "\xff\x00", "\U0001F4A7 spill", "n123456789"}

func name(r *rand.Rand, from int) string { return names[from+r.IntN(len(names)-from)] }

func blob(r *rand.Rand) []byte {
	n := r.IntN(200)
	switch r.IntN(100) {
	case 0:
		n = blockTarget - 100 + r.IntN(200) // about what fills a block
	case 1, 2, 3:
		n = 10_000 + r.IntN(10_000)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
