package statecodec

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// peek reads the head of the next block, unless it has been read already. Nothing in it is to be trusted before load or
// skip has returned.
func (d *Decoder) peek() {
	if d.hasNext || d.err != nil || d.place == atEnd {
		return
	}
	if d.report != nil {
		if d.seek(); d.err != nil || d.place == atEnd {
			return
		}
	}
	at := d.offset
	n, err := d.read(d.raw[:])
	if err != nil {
		what := "the file ends in the head of a block"
		if n == 0 {
			what = "the file ends without its trailer"
		}
		d.broken(err, at, what)
		return
	}
	d.next = readHead(d.raw[:])
	d.hasNext = true
}

// load reads the payload of the block that was peeked at into the buffer.
func (d *Decoder) load() {
	d.buf = nil
	crc := d.openBlock()
	if d.err == nil {
		d.buf = d.payload(int(d.next.length))
		crc = crc32.Update(crc, castagnoli, d.buf)
	}
	d.closeBlock(crc)
}

// skip reads the payload of the block that was peeked at and only checks it.
func (d *Decoder) skip() {
	d.buf = nil
	crc := d.openBlock()
	for left := int(d.next.length); d.err == nil && left > 0; {
		part := d.payload(min(left, blockTarget))
		crc = crc32.Update(crc, castagnoli, part)
		left -= len(part)
	}
	d.closeBlock(crc)
}

// openBlock starts on the block that was peeked at and returns the checksum of its head.
func (d *Decoder) openBlock() uint32 {
	d.at, d.blockAt = 0, d.offset
	if uint64(d.next.length) > uint64(d.caps.BlockBytes) {
		d.fault(d.offset-headSize, Length, fmt.Sprintf("a block of %d bytes is above the limit of %d", d.next.length, d.caps.BlockBytes))
	}
	return crc32.Checksum(d.raw[4:], castagnoli)
}

// closeBlock ends with the block: what its head said is to be trusted if crc is right.
func (d *Decoder) closeBlock(crc uint32) {
	if d.err != nil {
		return
	}
	at := d.blockAt - headSize
	h := d.next
	switch {
	case crc != h.crc:
		d.fault(at, Checksum, "of the block")
	case d.raw[13]|d.raw[14]|d.raw[15] != 0 || h.typ < typeSection || h.typ > typeTrailer:
		d.fault(at, Malformed, "a block of unknown type")
	case h.typ == typeEntries && (h.count == 0 || h.count > h.length/2): // flags and length are a byte each
		d.fault(at, Length, fmt.Sprintf("%d entries in a block of %d bytes", h.count, h.length))
	case h.typ != typeEntries && h.count != 0:
		d.fault(at, Malformed, "entries in a block of another type")
	case (h.typ == typeEntries || h.typ == typeBlob) && d.place == beforeSections:
		d.fault(at, Malformed, "a block before the first section")
	case h.typ == typeBlob && d.place == atEntries:
		d.fault(at, Malformed, "a blob behind entries")
	}
	if h.typ == typeEntries {
		d.place = atEntries
		d.totals.Entries += uint64(h.count)
	}
	if h.typ != typeTrailer {
		d.seal = crc32.Update(d.seal, castagnoli, d.raw[:])
	}
	d.hasNext = false
}

func (d *Decoder) payload(n int) []byte {
	if err := d.fill(n); err != nil {
		d.broken(err, d.blockAt-headSize, "the file ends in a block")
		return nil
	}
	return d.take(n)
}

// broken keeps what ended a read: the end of the file, which is the snapshot's fault, or an error of the reader.
func (d *Decoder) broken(err error, at int64, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.fault(at, Truncated, what)
	}
	if d.err == nil {
		d.err = fmt.Errorf("statecodec: read at byte %d: %w", d.offset+int64(d.there()), err)
	}
	return d.err
}

// fault keeps the first fault found, and returns it.
func (d *Decoder) fault(at int64, f Fault, what string) error {
	if d.err == nil {
		d.left = 0 // nothing more of its block
		d.err = &FormatError{Offset: at, Section: d.section, Fault: f, Detail: what}
	}
	return d.err
}
