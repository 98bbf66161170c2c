package statecodec

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
)

// HeadBytes is how much longer a block is than its payload.
const HeadBytes = headSize

// BlockWriter makes blocks of entries for a log, which writes them by itself and one at a time, where an [Encoder] writes
// a snapshot from its start to its end. [Encoder.Block] puts such a block into a snapshot, and a [Frame] makes a file of
// them one. It is not safe for concurrent use.
type BlockWriter struct {
	e     Encoder // without a writer: its buffer is the block
	full  int     // bytes of a block, with its head, that another entry must not pass
	first uint64
}

// NewBlockWriter returns a writer for entries of s, with an empty block. Several entries share a block up to target bytes
// of payload; 0, or above it: 256 KiB.
func NewBlockWriter(s Section, target int) *BlockWriter {
	if target <= 0 || target > blockTarget {
		target = blockTarget
	}
	w := &BlockWriter{e: Encoder{groups: s.KeyGroups}, full: headSize + target}
	w.Reset(nil)
	return w
}

// Reset begins an empty block in the memory of buf, which grows as it has to; nil: in new memory.
func (w *BlockWriter) Reset(buf []byte) {
	if cap(buf) < headSize {
		buf = make([]byte, headSize, min(4<<10, w.full))
	}
	w.e.buf, w.e.count, w.e.prev, w.first = buf[:headSize], 0, delta{}, 0
}

// Entries is how many are in the block.
func (w *BlockWriter) Entries() int { return int(w.e.count) }

// First is the sequence of the block's first entry.
func (w *BlockWriter) First() uint64 { return w.first }

// Last is the sequence of the block's last entry.
func (w *BlockWriter) Last() uint64 { return w.e.prev.seq }

// Fits says whether x may share the block with what is in it. An empty block takes any.
func (w *BlockWriter) Fits(x *Entry) bool {
	return w.e.count == 0 || len(w.e.buf)+room(x) <= w.full
}

// room is more than an entry can take.
func room(x *Entry) int {
	return len(x.Data) + len(x.Class) + min(len(x.Cause), maxCause) + entryOverhead
}

// Add adds x, also if it does not fit. x and its Data may be reused when it returns. An error is a refusal: too large, or
// a key group out of the section's range; x is then not in the block.
func (w *BlockWriter) Add(x *Entry) error {
	if err := w.e.refuse(x); err != nil {
		return err
	}
	if need := len(w.e.buf) + room(x); need > cap(w.e.buf) { // twice as large, but a usual block gets no more than it needs
		size := max(need, min(2*cap(w.e.buf), w.full))
		w.e.buf = slices.Grow(w.e.buf, size-len(w.e.buf))
	}
	w.e.appendFields(x, cut(x.Cause))
	w.e.buf = append(w.e.buf, x.Data...)
	if w.e.count == 0 {
		w.first = x.Seq
	}
	w.e.count++
	return nil
}

// Payload is the block so far, without its head. What is added later leaves these bytes as they are.
func (w *BlockWriter) Payload() []byte { return w.e.buf[headSize:len(w.e.buf):len(w.e.buf)] }

// Seal completes the block and returns it, its head included. Reset begins the next one.
func (w *BlockWriter) Seal() []byte {
	sealBlock(w.e.buf, w.e.count)
	return w.e.buf
}

func sealBlock(b []byte, entries uint32) {
	h := head{length: uint32(len(b) - headSize), count: entries, typ: typeEntries}
	h.put(b)
	h.crc = crc32.Checksum(b[4:], castagnoli)
	h.put(b)
}

// Block adds a block of entries, as the payload that a [BlockWriter] made of them for a section with as many key groups.
// It is written as it is, without a copy.
func (e *Encoder) Block(payload []byte, entries int) error {
	if err := e.check(inSection); err != nil {
		return err
	}
	if entries < 1 || entries > len(payload)/2 || len(payload) > DefaultBlockBytes {
		return fmt.Errorf("statecodec: %d entries in a block of %d bytes: no block writer makes that", entries, len(payload))
	}
	e.endBlock()
	e.state = inEntries
	e.count = uint32(entries)
	e.totals.Entries += uint64(entries)
	e.flush(typeEntries, payload)
	return e.err
}

// Frame makes a snapshot of one section of blocks that are written one by one: what stands before them, the trailer, and
// the checksum of it all. It is a small value; a copy of it goes on by itself.
type Frame struct {
	seal   uint32
	sum    uint32 // CRC32C of all bytes so far
	totals Totals
}

// NewFrame returns a frame and the bytes that stand before the first block.
func NewFrame(h Header, s Section) (Frame, []byte, error) {
	var b bytes.Buffer
	e, err := NewEncoder(&b, h)
	if err == nil {
		err = e.Begin(s)
	}
	if err != nil {
		return Frame{}, nil, err
	}
	return Frame{e.seal, crc32.Checksum(b.Bytes(), castagnoli), e.totals}, b.Bytes(), nil
}

// Add notes that block, which [BlockWriter.Seal] made, comes next. It does not go through its bytes: the block begins with
// the checksum of its rest.
func (f *Frame) Add(block []byte) {
	const own = 4 // bytes of that checksum
	h := readHead(block)
	f.seal = crc32.Update(f.seal, castagnoli, block[:headSize])
	f.sum = behind(crc32.Update(f.sum, castagnoli, block[:own]), len(block)-own) ^ h.crc
	f.totals.Entries += uint64(h.count)
}

// End returns the trailer, of 36 bytes, that stands behind the blocks that were added, and the CRC32C of the whole snapshot.
func (f Frame) End() (trailer []byte, sum uint32) {
	var b bytes.Buffer
	e := Encoder{w: &b, buf: make([]byte, headSize, headSize+trailerSize), seal: f.seal, totals: f.totals, state: inEntries}
	_ = e.Close() // into memory
	return b.Bytes(), crc32.Update(f.sum, castagnoli, b.Bytes())
}
