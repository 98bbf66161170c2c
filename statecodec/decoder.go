package statecodec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of a [Decoder] whose [Caps] are zero, and of what an [Encoder] accepts.
const (
	DefaultEntryBytes = 64 << 20
	DefaultBlockBytes = DefaultEntryBytes + 1<<20 // an entry with all that belongs to it
	DefaultNameBytes  = 64 << 10
)

// Caps bound what a [Decoder] takes from a file that may be damaged or hostile. What is above them is a *[FormatError]
// of [Length]. Memory grows with the bytes that arrive, never by a length that is only claimed.
type Caps struct {
	BlockBytes int // of one block, which is what is held in memory; 0: DefaultBlockBytes
	EntryBytes int // of one entry's data; 0: DefaultEntryBytes
	NameBytes  int // of one name: job, operator, codec, class, cause; 0: DefaultNameBytes
}

func (c Caps) orDefaults() Caps {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&c.BlockBytes, DefaultBlockBytes)
	set(&c.EntryBytes, DefaultEntryBytes)
	set(&c.NameBytes, DefaultNameBytes)
	return c
}

var errNextFirst = errors.New("statecodec: no section: call Next first")

// Decoder reads a snapshot from its start to its end, and checks each byte of it on the way, also of what is skipped. It
// holds one block at a time. It is not safe for concurrent use. Each error but io.EOF is sticky.
type Decoder struct {
	window
	caps   Caps
	header Header
	seal   uint32
	totals Totals
	err    error

	next    head // of the next block, if hasNext
	raw     [headSize]byte
	hasNext bool
	section Section
	place   decoderPlace

	buf     []byte // payload of the block that was read last
	at      int    // next byte of it
	left    uint32 // entries in it that have not been returned
	blockAt int64  // offset of its payload
	prev    delta
	class   string // of the entry before: spares a copy for each
	cause   string

	report   func(Damage) // in a salvage
	lost     bool         // something was reported
	orphaned bool         // the start of a section may be lost, and none has begun since
}

type decoderPlace uint8

const (
	beforeSections decoderPlace = iota
	atBlobs
	atEntries
	atEnd // the trailer has been read
)

// NewDecoder reads the header. What does not begin as a snapshot is [ErrNotSnapshot], a newer format a *[NewerError],
// damage a *[FormatError]; anything else is an error of r, wrapped.
func NewDecoder(r io.Reader, c Caps) (*Decoder, error) {
	d := &Decoder{caps: c.orDefaults()}
	d.window = window{
		r: r, mem: make([]byte, 0, readSize),
		usual: headSize + min(blockTarget, d.caps.BlockBytes), most: headSize + max(d.caps.BlockBytes, 2*d.caps.NameBytes+128),
	}
	if err := d.readHeader(); err != nil {
		return nil, err
	}
	return d, nil
}

// Header is what the snapshot says of itself.
func (d *Decoder) Header() Header { return d.header }

// Totals counts what has been read or skipped so far: all there is once Next has returned io.EOF.
func (d *Decoder) Totals() Totals { return d.totals }

// Next goes on to the next section, past what is unread of the one before. It returns io.EOF after a valid trailer:
// only then is it certain that the snapshot is whole. Sections of an unknown kind are returned as any other.
func (d *Decoder) Next() (Section, error) {
	d.left, d.at = 0, len(d.buf)
	for d.err == nil && d.place != atEnd {
		d.peek()
		switch {
		case d.err != nil || d.place == atEnd:
		case d.next.typ == typeSection:
			if s, err := d.begin(); err == nil || !d.forgive(true) {
				return s, err
			}
		case d.next.typ != typeTrailer:
			d.skip()
		case d.report != nil:
			d.salvageTrailer()
		default:
			d.trailer()
		}
	}
	if d.err != nil {
		return Section{}, d.err
	}
	return Section{}, io.EOF
}

func (d *Decoder) begin() (Section, error) {
	d.section = Section{}
	if d.load(); d.err != nil {
		return Section{}, d.err
	}
	s, err := d.parseSection()
	if err != nil {
		return Section{}, err
	}
	d.totals.Sections++
	d.section, d.place, d.orphaned = s, atBlobs, false
	return s, nil
}

func (d *Decoder) parseSection() (Section, error) {
	kind := d.byte("kind")
	s := Section{
		Kind:         Kind(kind),
		CodecVersion: d.uint32("codec version"),
		KeyGroups:    d.uint32("number of key groups"),
		Operator:     string(d.name("operator")),
		Codec:        string(d.name("codec")),
	}
	if d.end("the section's block"); d.err != nil {
		return Section{}, d.err
	}
	if s.Operator == "" || s.Kind == 0 {
		return Section{}, d.fault(d.blockAt, Malformed, "a section without operator or kind")
	}
	return s, nil
}

func (d *Decoder) trailer() {
	found, seal := d.readTrailer()
	switch {
	case d.err != nil:
		return
	case seal != d.seal:
		d.fault(d.blockAt, Checksum, "of the whole: blocks are missing, doubled or in another order")
		return
	case found != d.totals:
		d.fault(d.blockAt, Malformed, fmt.Sprintf("the trailer counts %+v and there are %+v", found, d.totals))
		return
	}
	if err := d.fill(1); err == nil {
		d.fault(d.offset, Trailing, "there is more after the trailer")
		return
	} else if !errors.Is(err, io.EOF) {
		d.broken(err, d.offset, "")
		return
	}
	d.buf, d.at, d.place = nil, 0, atEnd
}

func (d *Decoder) readTrailer() (found Totals, seal uint32) {
	d.section = Section{}
	if d.load(); d.err != nil {
		return
	}
	if len(d.buf) != trailerSize {
		d.fault(d.blockAt, Malformed, "a trailer of another size")
		return
	}
	return Totals{Sections: binary.LittleEndian.Uint64(d.buf), Entries: binary.LittleEndian.Uint64(d.buf[8:])}, binary.LittleEndian.Uint32(d.buf[16:])
}

// Blob returns the next blob of the section, or io.EOF when it has no more. The bytes are valid until the next call.
func (d *Decoder) Blob() ([]byte, error) {
	if err := d.inSection(); err != nil {
		return nil, err
	}
	if d.place != atBlobs {
		return nil, io.EOF
	}
	if d.peek(); d.err != nil {
		return nil, d.err
	}
	if d.next.typ != typeBlob {
		return nil, io.EOF
	}
	if d.load(); d.err != nil {
		return nil, d.err
	}
	d.at = len(d.buf)
	return d.buf, nil
}

// Entry reads the next entry of the section into e, all fields of it, or returns io.EOF when there is no more. Blobs that
// have not been read are skipped. e.Data is valid until the next call.
func (d *Decoder) Entry(e *Entry) error {
	if d.left > 1 && d.quick(e) { // after an error none is left
		d.left--
		return nil
	}
	for d.err == nil {
		if d.left == 0 {
			if err := d.nextEntries(); err != nil {
				return err
			}
		}
		left := d.left
		d.left--
		d.entry(e)
		if d.left == 0 {
			d.end("the block")
		}
		if d.err == nil {
			return nil
		}
		if d.forgive(false) {
			d.totals.Entries -= uint64(left) // this one and those behind it
		}
	}
	return d.err
}

// nextEntries goes on to the next block of entries.
func (d *Decoder) nextEntries() error {
	if err := d.inSection(); err != nil {
		return err
	}
	for d.peek(); d.err == nil && d.next.typ == typeBlob; d.peek() {
		d.skip()
	}
	if d.err != nil {
		return d.err
	}
	if d.next.typ != typeEntries {
		return io.EOF
	}
	count := d.next.count
	if d.load(); d.err != nil {
		return d.err
	}
	d.left, d.prev = count, delta{}
	return nil
}

func (d *Decoder) inSection() error {
	switch {
	case d.err != nil:
		return d.err
	case d.place == atEnd:
		return io.EOF
	case d.place == beforeSections:
		return errNextFirst
	}
	return nil
}

// Verify reads a whole snapshot and checks each byte of it in the memory of one block. Entries are not decoded: that
// takes their codecs.
func Verify(r io.Reader, c Caps) (Header, Totals, error) {
	d, err := NewDecoder(r, c)
	if err != nil {
		return Header{}, Totals{}, err
	}
	for {
		if _, err := d.Next(); err == io.EOF {
			return d.header, d.totals, nil
		} else if err != nil {
			return d.header, d.totals, err
		}
	}
}
