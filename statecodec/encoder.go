package statecodec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

var (
	errNoSection = errors.New("statecodec: no section: call Begin first")
	errClosed    = errors.New("statecodec: the encoder is closed")
)

// Encoder writes a snapshot. It keeps one block of about 256 KiB and hands it to the writer when it is full, so its
// memory does not grow with the snapshot. It is not safe for concurrent use.
//
// An error of the writer is sticky: what was written is no snapshot, and each further call returns the error. A refusal
// (too large, a key group out of its range) is not: nothing of it was written.
type Encoder struct {
	w      io.Writer
	buf    []byte // the block being filled, its head included
	count  uint32 // entries in it
	prev   delta
	seal   uint32 // CRC of all heads so far
	totals Totals
	groups uint32 // of the open section
	state  encoderState
	err    error
}

type encoderState uint8

const (
	noSection  encoderState = iota
	inSection               // blobs may follow, or entries
	inEntries               // entries may follow
	encoderEnd              // closed
)

// NewEncoder writes the header to w and returns an encoder for what follows. It does not close w, nor flush it.
func NewEncoder(w io.Writer, h Header) (*Encoder, error) {
	e := &Encoder{w: w, buf: make([]byte, headSize, 4<<10)}
	for _, name := range [...]string{h.Job, h.Instance} {
		if err := checkName("name of a job or instance", name); err != nil {
			return nil, err
		}
	}
	b := appendHeader(nil, h)
	e.seal = crc32.Checksum(b[len(b)-4:], castagnoli)
	if e.write(b); e.err != nil {
		return nil, e.err
	}
	return e, nil
}

// Begin starts a section and ends the one before it. Sections stand in the order in which they were begun.
func (e *Encoder) Begin(s Section) error {
	if err := e.check(noSection); err != nil {
		return err
	}
	if s.Operator == "" || s.Kind == 0 {
		return fmt.Errorf("statecodec: section %s: a section needs an operator and a kind", s)
	}
	for _, name := range [...]string{s.Operator, s.Codec} {
		if err := checkName("name of an operator or codec", name); err != nil {
			return err
		}
	}
	e.endBlock()
	e.buf = append(e.buf, byte(s.Kind))
	e.buf = binary.AppendUvarint(e.buf, uint64(s.CodecVersion))
	e.buf = binary.AppendUvarint(e.buf, uint64(s.KeyGroups))
	e.buf = appendName(e.buf, s.Operator)
	e.buf = appendName(e.buf, s.Codec)
	e.flush(typeSection, nil)
	e.totals.Sections++
	e.groups = s.KeyGroups
	e.state = inSection
	return e.err
}

// Blob adds an opaque block to the section: at most 64 MiB, so what is larger takes several. The blobs of a section stand
// before its entries.
func (e *Encoder) Blob(b []byte) error {
	if err := e.check(inSection); err != nil {
		return err
	}
	if e.state == inEntries {
		return errors.New("statecodec: a section's blobs stand before its entries: call Blob before Entry")
	}
	if len(b) > DefaultEntryBytes {
		return tooLarge("a blob, which can be written as several,", len(b), DefaultEntryBytes)
	}
	e.flush(typeBlob, b)
	return e.err
}

// Entry adds an entry to the section. x and its Data may be reused when it returns.
func (e *Encoder) Entry(x *Entry) error {
	if err := e.check(inSection); err != nil {
		return err
	}
	if err := e.refuse(x); err != nil {
		return err
	}
	e.state = inEntries
	cause := cut(x.Cause)
	size := len(x.Data) + len(x.Class) + len(cause) + entryOverhead
	if e.count > 0 && len(e.buf)+size > fullBlock {
		e.flush(typeEntries, nil)
	}
	if len(e.buf)+size > cap(e.buf) && cap(e.buf) < fullBlock { // most snapshots of a quiet job stay below
		e.buf = slices.Grow(e.buf, fullBlock-len(e.buf))
	}
	e.appendFields(x, cause)
	e.count++
	e.totals.Entries++
	if len(e.buf)+len(x.Data) > fullBlock { // alone in its block: the data need not be copied
		e.flush(typeEntries, x.Data)
	} else {
		e.buf = append(e.buf, x.Data...)
	}
	return e.err
}

// Close writes the trailer, without which the bytes are a truncated snapshot. It does not close the writer.
func (e *Encoder) Close() error {
	if err := e.check(noSection); err != nil {
		return err
	}
	e.endBlock()
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.totals.Sections)
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.totals.Entries)
	e.buf = binary.LittleEndian.AppendUint32(e.buf, e.seal)
	e.flush(typeTrailer, nil)
	e.state = encoderEnd
	return e.err
}

// Totals counts what has been added.
func (e *Encoder) Totals() Totals { return e.totals }

// check says why nothing can be added, or nothing that needs a section.
func (e *Encoder) check(least encoderState) error {
	switch {
	case e.err != nil:
		return e.err
	case e.state == encoderEnd:
		return errClosed
	case e.state < least:
		return errNoSection
	}
	return nil
}

func (e *Encoder) refuse(x *Entry) error {
	switch {
	case len(x.Data) > DefaultEntryBytes:
		return tooLarge(fmt.Sprintf("data of entry %d", x.Seq), len(x.Data), DefaultEntryBytes)
	case len(x.Class) > DefaultNameBytes:
		return tooLarge(fmt.Sprintf("class of entry %d", x.Seq), len(x.Class), DefaultNameBytes)
	case x.KeyGroup >= max(e.groups, 1):
		return fmt.Errorf("statecodec: entry %d: key group %d in a section with %d: give the section the number that KeyGroup was given",
			x.Seq, x.KeyGroup, e.groups)
	}
	return nil
}

func checkName(what, name string) error {
	if len(name) > DefaultNameBytes {
		return tooLarge(what, len(name), DefaultNameBytes)
	}
	return nil
}

func tooLarge(what string, n, limit int) error {
	return fmt.Errorf("statecodec: %s has %d bytes, above the limit of %d: %w", what, n, limit, ErrTooLarge)
}

// endBlock writes the entries that are not yet.
func (e *Encoder) endBlock() {
	if e.count > 0 {
		e.flush(typeEntries, nil)
	}
}

// flush writes a block: what is in the buffer and tail.
func (e *Encoder) flush(typ byte, tail []byte) {
	length := len(e.buf) - headSize + len(tail)
	h := head{length: uint32(length), count: e.count, typ: typ}
	h.put(e.buf)
	h.crc = crc32.Update(crc32.Checksum(e.buf[4:], castagnoli), castagnoli, tail)
	h.put(e.buf)
	e.seal = crc32.Update(e.seal, castagnoli, e.buf[:headSize])
	e.write(e.buf)
	if len(tail) > 0 {
		e.write(tail)
	}
	e.buf, e.count, e.prev = e.buf[:headSize], 0, delta{}
}

func (e *Encoder) write(b []byte) {
	if e.err != nil {
		return
	}
	if _, err := e.w.Write(b); err != nil {
		e.err = fmt.Errorf("statecodec: write: %w", err)
	}
}
