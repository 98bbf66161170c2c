package statecodec

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

const (
	maxCause      = 16 << 10
	entryOverhead = 96 // above what all fields but class, cause and data can take
)

// Flags of an entry: which fields follow. A field that does not follow is as in the entry before (Writer, KeyGroup, Born),
// one more (Seq), or zero (the others).
const (
	flagWriter byte = 1 << iota
	flagSeq
	flagKeyGroup
	flagAttempts
	flagBorn
	flagUnsure
	flagDead
	flagsUnknown
)

// delta is what an entry is coded against: the entry before it in its block, or zero at the start of each, so that a
// block can be read without those before it.
type delta struct {
	writer   [16]byte
	seq      uint64
	keyGroup uint32
	born     int64
}

// appendFields appends all of an entry but its data.
func (e *Encoder) appendFields(x *Entry, cause string) {
	b, at := append(e.buf, 0), len(e.buf)
	var flags byte
	if x.Writer != e.prev.writer {
		flags |= flagWriter
		b = append(b, x.Writer[:]...)
		e.prev.writer = x.Writer
	}
	if step := x.Seq - e.prev.seq; step != 1 {
		flags |= flagSeq
		b = binary.AppendVarint(b, int64(step))
	}
	if x.KeyGroup != e.prev.keyGroup {
		flags |= flagKeyGroup
		b = binary.AppendUvarint(b, uint64(x.KeyGroup))
	}
	if x.Attempts != 0 {
		flags |= flagAttempts
		b = binary.AppendUvarint(b, uint64(x.Attempts))
	}
	if x.Born != e.prev.born {
		flags |= flagBorn
		b = binary.AppendVarint(b, x.Born-e.prev.born)
	}
	if x.Unsure {
		flags |= flagUnsure
	}
	if x.Class != "" || cause != "" || x.DeadAt != 0 {
		flags |= flagDead
		b = binary.AppendVarint(b, x.DeadAt-x.Born)
		b = appendName(b, x.Class)
		b = appendName(b, cause)
	}
	e.prev.seq, e.prev.keyGroup, e.prev.born = x.Seq, x.KeyGroup, x.Born
	b[at] = flags
	e.buf = binary.AppendUvarint(b, uint64(len(x.Data)))
}

// entry takes the next entry.
func (d *Decoder) entry(e *Entry) {
	flags := d.byte("flags")
	if flags&flagsUnknown != 0 {
		d.fault(d.here()-1, Malformed, "unknown flags of an entry")
	}
	p := &d.prev
	if flags&flagWriter != 0 {
		copy(p.writer[:], d.bytes(uint64(len(p.writer)), "writer"))
	}
	p.seq++
	if flags&flagSeq != 0 {
		p.seq += uint64(d.varint("sequence")) - 1
	}
	if flags&flagKeyGroup != 0 {
		p.keyGroup = d.uint32("key group")
		if p.keyGroup >= max(d.section.KeyGroups, 1) {
			d.fault(d.here(), Malformed, fmt.Sprintf("key group %d of %d", p.keyGroup, d.section.KeyGroups))
		}
	}
	var attempts uint64
	if flags&flagAttempts != 0 {
		if attempts = d.uvarint("attempts"); attempts > math.MaxUint16 {
			d.fault(d.here(), Malformed, "attempts out of range")
		}
	}
	if flags&flagBorn != 0 {
		p.born += d.varint("time")
	}
	e.Writer, e.Seq, e.KeyGroup, e.Attempts, e.Born = p.writer, p.seq, p.keyGroup, uint16(attempts), p.born
	e.Unsure = flags&flagUnsure != 0
	if flags&flagDead != 0 {
		e.DeadAt = p.born + d.varint("time of death")
		e.Class = same(&d.class, d.name("class"))
		e.Cause = same(&d.cause, d.name("cause"))
	} else {
		e.Class, e.Cause, e.DeadAt = "", "", 0
	}
	n := d.uvarint("length of data")
	if n > uint64(d.caps.EntryBytes) {
		d.fault(d.here(), Length, fmt.Sprintf("an entry of %d bytes is above the limit of %d", n, d.caps.EntryBytes))
	}
	e.Data = d.bytes(n, "data")
}

// quickFields is above what the fields that quick takes can need: flags and five numbers of two bytes.
const quickFields = 16

// quick takes the next entry if it is as most are: alive, of the writer before it, its numbers of at most two bytes. If
// it is not, or anything is wrong with it, quick takes nothing: entry says what it is. Here an entry costs a third.
func (d *Decoder) quick(e *Entry) bool {
	b := d.buf[d.at:]
	if len(b) < quickFields || b[0]&(flagWriter|flagDead|flagsUnknown) != 0 {
		return false
	}
	flags, at := b[0], 1
	seq, group, born := d.prev.seq+1, d.prev.keyGroup, d.prev.born
	var v, attempts uint32
	if flags&flagSeq != 0 {
		v, at = short(b, at)
		seq += uint64(unzigzag(v)) - 1
	}
	if flags&flagKeyGroup != 0 {
		group, at = short(b, at)
	}
	if flags&flagAttempts != 0 {
		attempts, at = short(b, at)
	}
	if flags&flagBorn != 0 {
		v, at = short(b, at)
		born += unzigzag(v)
	}
	n, at := short(b, at)
	end := at + int(n)
	if at > quickFields || end > len(b) || int(n) > d.caps.EntryBytes || group >= max(d.section.KeyGroups, 1) {
		return false
	}
	d.at += end
	d.prev.seq, d.prev.keyGroup, d.prev.born = seq, group, born
	e.Writer, e.Seq, e.KeyGroup, e.Attempts, e.Born = d.prev.writer, seq, group, uint16(attempts), born
	e.Unsure, e.DeadAt = flags&flagUnsure != 0, 0
	if e.Class != "" || e.Cause != "" {
		e.Class, e.Cause = "", ""
	}
	e.Data = b[at:end:end]
	return true
}

// short is the uvarint at b[at:], and where it ends: beyond quickFields if it takes more than two bytes.
func short(b []byte, at int) (uint32, int) {
	v, next := uint32(b[at&(quickFields-1)]), uint32(b[(at+1)&(quickFields-1)])
	if v < 0x80 {
		return v, at + 1
	}
	if next >= 0x80 {
		at += quickFields
	}
	return v&0x7f | next<<7, at + 2
}

func unzigzag(u uint32) int64 { return int64(u>>1) ^ -int64(u&1) }

// same returns b as a string, without a copy if it equals the last one.
func same(last *string, b []byte) string {
	if *last != string(b) {
		*last = string(b)
	}
	return *last
}

// cut takes off what is beyond the limit, and no half of a character with it.
func cut(cause string) string {
	if len(cause) <= maxCause {
		return cause
	}
	n := maxCause
	for n > maxCause-utf8.UTFMax && !utf8.RuneStart(cause[n]) {
		n--
	}
	return cause[:n]
}
