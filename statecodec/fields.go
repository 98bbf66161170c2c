package statecodec

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The functions here take fields off the payload in the buffer. After an error they return zeros, so that callers
// look at d.err once.

// end says that the payload must have been used up.
func (d *Decoder) end(what string) {
	if d.err == nil && d.at != len(d.buf) {
		d.fault(d.here(), Length, fmt.Sprintf("%d bytes are left over at the end of %s", len(d.buf)-d.at, what))
	}
}

func (d *Decoder) here() int64 { return d.blockAt + int64(d.at) }

func (d *Decoder) name(what string) []byte {
	n := d.uvarint(what)
	if n > uint64(d.caps.NameBytes) {
		d.fault(d.here(), Length, fmt.Sprintf("%s of %d bytes is above the limit of %d", what, n, d.caps.NameBytes))
	}
	return d.bytes(n, what)
}

func (d *Decoder) bytes(n uint64, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n > uint64(len(d.buf)-d.at) {
		d.short(what)
		return nil
	}
	b := d.buf[d.at : d.at+int(n) : d.at+int(n)]
	d.at += int(n)
	return b
}

func (d *Decoder) byte(what string) byte {
	if d.err != nil || d.at >= len(d.buf) {
		d.short(what)
		return 0
	}
	d.at++
	return d.buf[d.at-1]
}

func (d *Decoder) uint32(what string) uint32 {
	v := d.uvarint(what)
	if v > math.MaxUint32 {
		d.fault(d.here(), Malformed, what+" out of range")
	}
	return uint32(v)
}

func (d *Decoder) uvarint(what string) uint64 {
	if d.err != nil {
		return 0
	}
	if d.at < len(d.buf) && d.buf[d.at] < 0x80 { // most are short
		d.at++
		return uint64(d.buf[d.at-1])
	}
	v, n := binary.Uvarint(d.buf[d.at:])
	if n <= 0 {
		d.short(what)
		return 0
	}
	d.at += n
	return v
}

func (d *Decoder) varint(what string) int64 {
	u := d.uvarint(what)
	return int64(u>>1) ^ -int64(u&1)
}

func (d *Decoder) short(what string) {
	d.fault(d.here(), Length, what+" overflows, or does not end in its block")
}
