package statecodec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Damage is a part of a snapshot that is not read, as [Decoder.Salvage] reports it.
type Damage struct {
	Offset int64  // where it begins
	Length int64  // bytes of it; 0 where something is missing
	Bytes  []byte // those bytes, until the report returns
	// Err says what is wrong, and where in it. Its section is the one that was being read, which the damage is a part of
	// unless it hides something.
	Err *FormatError
	// Hides says that the start of a section may lie in it: whose the blocks behind it are is not known until the next
	// section begins, and how many sections there were before that one is not known either.
	Hides bool
}

// Salvage makes the decoder read a damaged snapshot as far as it is whole. It is called before the first Next, and panics
// if it is not. What is damaged is no error then: it is reported, with its bytes, in the order of the file, and reading goes
// on behind it. A stretch that is longer than a block may be is reported in parts. Damage of the header stays an error of
// [NewDecoder], and an error of the reader stays one. io.EOF no longer says that the snapshot is whole: that is so if nothing
// was reported.
//
// What is returned is exactly what was written, and in the section that it was written in. A damaged block is lost as a
// whole, also the entries in it that are as they were. Where the start of a section is lost, or may be, the blocks behind it
// are reported as [Orphaned], up to the next section. A section from which something is missing looks as any other, but
// there was a Damage with its name. Where whole blocks were cut out or moved, and no byte of others was changed, only the
// trailer tells, in the end.
//
// Behind damage that leads nowhere, since a length is wrong, each byte is looked at until one begins a block whose checksum
// is right. That takes some milliseconds a MiB, and up to half a second if the bytes were made so that a block might begin
// anywhere; it is done for each such damage, and reads ahead no further than two blocks may be long, which is what
// the decoder then holds at most. What is found might be a block of another snapshot that an entry holds as its data:
// only then.
func (d *Decoder) Salvage(report func(Damage)) {
	if d.hasNext || d.place != beforeSections {
		panic("statecodec: Salvage is called before the first Next")
	}
	d.report = report
	d.most = 2*(headSize+d.caps.BlockBytes) + fullBlock
}

// seek goes to the next block that is whole and of a known section. It reports what lies before it, and what is wrong at
// the end.
func (d *Decoder) seek() {
	for d.err == nil && d.place != atEnd {
		h, whole := d.whole()
		switch {
		case d.err != nil:
		case whole && !d.orphan(h.typ):
			return
		case whole:
			d.lose(headSize+int(h.length), false, Orphaned, "a whole block whose section is not known, since its start is lost")
		case d.there() == 0:
			d.place = atEnd
			d.lose(0, false, Truncated, "the file ends without its trailer")
		default:
			d.damaged()
		}
	}
	d.next = head{}
}

// orphan says whether the section of a block of that type is lost.
func (d *Decoder) orphan(typ byte) bool {
	if typ == typeSection || typ == typeTrailer {
		return false
	}
	if typ == typeBlob && d.place == atEntries { // no section has blobs behind its entries: another has begun
		d.orphaned = true
	}
	return d.orphaned || d.place == beforeSections
}

// whole says whether what comes next is a block that is whole.
func (d *Decoder) whole() (head, bool) {
	if !d.has(headSize) {
		return head{}, false
	}
	h, ok := d.plausible(d.ahead())
	if !ok || !d.has(headSize+int(h.length)) {
		return h, false
	}
	return h, crc32.Checksum(d.ahead()[4:headSize+int(h.length)], castagnoli) == h.crc
}

// plausible reads a head and says whether a block may have it.
func (d *Decoder) plausible(b []byte) (head, bool) {
	h := readHead(b)
	ok := h.typ >= typeSection && h.typ <= typeTrailer && b[13]|b[14]|b[15] == 0 && uint64(h.length) <= uint64(d.caps.BlockBytes)
	if h.typ == typeEntries {
		return h, ok && h.count > 0 && h.count <= h.length/2
	}
	return h, ok && h.count == 0
}

// has says whether n more bytes are there or can be read.
func (d *Decoder) has(n int) bool {
	err := d.fill(n)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		d.broken(err, d.offset, "")
	}
	return err == nil
}

// damaged reports what comes next, which is not whole, up to where reading can go on.
func (d *Decoder) damaged() {
	n, follows := d.extent()
	if d.err != nil {
		return
	}
	last := !d.has(n + 1)
	if d.err != nil {
		return
	}
	raw, f, what := d.ahead()[:n], Checksum, "no whole block begins here"
	switch {
	case follows && crc32.Checksum(raw[4:], castagnoli) == readHead(raw).crc:
		f, what = Malformed, "a block of unknown type, or of a wrong count"
	case follows:
		what = "of the block"
	case last && n < headSize:
		f, what = Truncated, "the file ends in the head of a block"
	case last:
		if _, ok := d.plausible(raw); ok {
			f, what = Truncated, "the file ends in a block"
		}
	}
	hides := d.hides(n, follows)
	d.lose(n, hides, f, what)
	if last {
		d.place = atEnd
	}
}

// extent is how far the damage goes that comes next: to the block behind it, or the end of the file, if its own length leads
// there, or else to the next block that is whole. If follows, it is one block, as far as can be seen.
func (d *Decoder) extent() (n int, follows bool) {
	if !d.has(headSize) {
		return d.there(), false
	}
	length := readHead(d.ahead()).length
	if uint64(length) > uint64(d.caps.BlockBytes) {
		return d.scan(headSize + d.caps.BlockBytes), false
	}
	end := headSize + int(length)
	if d.has(end + headSize) {
		_, follows = d.plausible(d.ahead()[end:])
	} else {
		follows = d.there() == end
	}
	if !follows {
		return d.scan(headSize + d.caps.BlockBytes), false
	}
	n = d.scan(end)
	if n < end && d.sealed(n) == 0 { // the blocks in it are another snapshot's, an entry's data; or else the length is wrong
		return end, false
	}
	return n, n == end
}

// scan looks for a whole block behind the next byte, and returns how far away it is; if there is none, how much there is,
// up to limit.
func (d *Decoder) scan(limit int) int {
	var s sums
	for at := 1; at < limit && d.err == nil; {
		d.has(min(2*at, limit) + fullBlock) // twice as much each time: what there is may have to be copied
		b := d.ahead()
		if len(b) < at+headSize {
			return min(len(b), limit)
		}
		for ; at < limit && at+headSize <= len(b); at++ {
			if t := binary.LittleEndian.Uint32(b[at+12:]); t-uint32(typeSection) > uint32(typeTrailer-typeSection) {
				continue // most end here
			}
			h, ok := d.plausible(b[at:])
			end := at + headSize + int(h.length)
			ok = ok && d.has(end)
			b = d.ahead() // it may lie elsewhere now
			if ok && s.of(b, at+4, end) == h.crc {
				return at
			}
		}
	}
	return limit
}

// sealed is the type of the block that the next n bytes are if nothing is wrong with them but with the length, the type or
// the reserved bytes in their head, or with the count where there should be none; 0 if they are no such block.
func (d *Decoder) sealed(n int) byte {
	if n < headSize {
		return 0
	}
	raw := d.ahead()[:n]
	was := readHead(raw)
	var b [headSize]byte
	for typ := typeSection; typ <= typeTrailer; typ++ {
		h := head{length: uint32(n - headSize), typ: typ}
		if typ == typeEntries {
			h.count = was.count
		}
		h.put(b[:])
		if crc32.Update(crc32.Checksum(b[4:], castagnoli), castagnoli, raw[headSize:]) == was.crc {
			return typ
		}
	}
	return 0
}

// hides says whether the start of a section may lie in the next n bytes, which are damaged. It does not if they are one
// block, and a blob or entries. This is certain if nothing is wrong but in its head, and as good as certain if it ends
// where its length says and its head is possible in all else.
func (d *Decoder) hides(n int, follows bool) bool {
	if typ := d.sealed(n); typ != 0 {
		return typ == typeSection
	}
	if n < headSize {
		return true
	}
	raw := d.ahead()[:n]
	h, ok := d.plausible(raw)
	switch {
	case !follows || raw[13]|raw[14]|raw[15] != 0:
		return true
	case ok && h.typ == typeEntries: // a section's would differ in count and type
		return false
	case h.typ == typeEntries || h.typ == typeBlob:
		p := Decoder{caps: d.caps, buf: raw[headSize:]}
		_, err := p.parseSection()
		return err == nil // what reads as a section's may be one, and its type is what is wrong
	}
	return true
}

// lose reports the next n bytes as damage, and goes on behind them.
func (d *Decoder) lose(n int, hides bool, f Fault, what string) {
	e := &FormatError{Offset: d.offset, Section: d.section, Fault: f, Detail: what}
	if d.orphaned {
		e.Section = Section{}
	}
	d.lost, d.orphaned = true, d.orphaned || hides
	d.report(Damage{Offset: e.Offset, Length: int64(n), Bytes: d.take(n), Err: e, Hides: hides})
}

// forgive reports the block that was read last as damage, if what is wrong is in it, and in a salvage.
func (d *Decoder) forgive(hides bool) bool {
	f, ok := d.err.(*FormatError)
	if !ok || d.report == nil {
		return false
	}
	d.err, d.lost = nil, true
	d.orphaned = d.orphaned || hides
	n := headSize + len(d.buf) // it lies in the window as it was read
	d.report(Damage{Offset: d.blockAt - headSize, Length: int64(n), Bytes: d.mem[d.from-n : d.from], Err: f, Hides: hides})
	return true
}

// salvageTrailer reports what a trailer that is whole does not agree with. If the snapshot goes on behind one that does not
// fit, it may be another snapshot's, which an entry holds as its data.
func (d *Decoder) salvageTrailer() {
	found, seal := d.readTrailer()
	if d.forgive(true) {
		return
	}
	fits := seal == d.seal && found == d.totals
	switch {
	case found != d.totals:
		d.lose(0, false, Checksum, fmt.Sprintf("the trailer counts %+v and there are %+v", found, d.totals))
	case !fits && !d.lost:
		d.lose(0, false, Checksum, "of the whole: blocks are missing, doubled or in another order")
	}
	switch {
	case !d.has(1):
		d.place = atEnd
	case fits:
		d.lose(0, false, Trailing, "there is more after the trailer")
		d.place = atEnd
	default:
		d.orphaned = true
	}
}
