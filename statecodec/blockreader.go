package statecodec

import (
	"fmt"
	"hash/crc32"
	"io"
)

// BlockReader reads the entries of one block at a time, by itself: out of a file of which the place of each block is
// known, or out of memory. Its zero value is ready. It keeps the memory of the largest block that it has read, and is not
// safe for concurrent use.
type BlockReader struct {
	d   Decoder
	raw []byte // the last block that Load read
}

// Load reads the block of size bytes, its head included, at byte at of r, and checks it. A block that is damaged, cut off
// or no block of entries is a *[FormatError]; anything else is an error of r, wrapped.
func (r *BlockReader) Load(from io.ReaderAt, at int64, size int, s Section) error {
	d := r.begin(s)
	d.offset = at
	if size <= headSize || size > headSize+d.caps.BlockBytes {
		return d.fault(at, Length, fmt.Sprintf("a block of %d bytes", size))
	}
	if cap(r.raw) < size {
		r.raw = make([]byte, size, max(size, fullBlock))
	}
	r.raw = r.raw[:size]
	if n, err := from.ReadAt(r.raw, at); n < size {
		return d.broken(err, at, "the file ends in a block")
	}
	copy(d.raw[:], r.raw)
	d.next = readHead(r.raw)
	d.offset += headSize
	crc := d.openBlock()
	d.closeBlock(crc32.Update(crc, castagnoli, r.raw[headSize:]))
	d.offset = at + int64(size)
	if d.err == nil && (d.next.typ != typeEntries || int(d.next.length) != size-headSize) {
		d.fault(at, Malformed, fmt.Sprintf("a block of type %d and %d bytes where entries in %d were", d.next.typ, d.next.length, size-headSize))
	}
	if d.err == nil {
		d.buf, d.left = r.raw[headSize:], d.next.count
	}
	return d.err
}

// Use takes a block out of memory: the payload that a [BlockWriter] made of so many entries.
func (r *BlockReader) Use(payload []byte, entries int, s Section) {
	d := r.begin(s)
	d.blockAt, d.buf, d.left = 0, payload, uint32(entries)
}

func (r *BlockReader) begin(s Section) *Decoder {
	d := &r.d
	d.caps = Caps{}.orDefaults()
	d.section, d.place, d.prev, d.err = s, atEntries, delta{}, nil
	d.buf, d.at, d.left = nil, 0, 0
	return d
}

// Raw is the block that Load read last, its head included: whole and checked. It is valid until the next Load.
func (r *BlockReader) Raw() []byte { return r.raw }

// Left is how many entries have not been read.
func (r *BlockReader) Left() int { return int(r.d.left) }

// Entry reads the next entry into x, all fields of it, or returns io.EOF after the last. x.Data is valid until the next
// Load or, if the block is in memory, as long as that is left as it is.
func (r *BlockReader) Entry(x *Entry) error {
	if r.d.err == nil && r.d.left == 0 {
		return io.EOF
	}
	return r.d.Entry(x)
}
