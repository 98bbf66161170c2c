package statecodec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	headerFixed = 25 // bytes before the names: checkpoint, epoch, time, flags

	flagFinal byte = 1
)

// appendHeader appends all that lies before the blocks.
func appendHeader(b []byte, h Header) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, Version)
	b = append(b, make([]byte, 8)...) // length and crc, below
	b = binary.LittleEndian.AppendUint64(b, h.Checkpoint)
	b = binary.LittleEndian.AppendUint64(b, h.Epoch)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.Time))
	var flags byte
	if h.Final {
		flags |= flagFinal
	}
	b = append(b, flags)
	b = appendName(b, h.Job)
	b = appendName(b, h.Instance)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)-prefixSize))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readHeader reads all that lies before the blocks. The order of its checks decides what a person is told: another file,
// then damage, then a newer program's.
func (d *Decoder) readHeader() error {
	prefix := make([]byte, prefixSize)
	n, err := d.read(prefix)
	if !bytes.HasPrefix(prefix[:n], []byte(magic)[:min(n, len(magic))]) {
		return ErrNotSnapshot
	}
	if err != nil {
		return d.broken(err, 0, "the file ends in its header")
	}
	if binary.LittleEndian.Uint32(prefix[16:]) != crc32.Checksum(prefix[:16], castagnoli) {
		return d.fault(0, Checksum, "of the first 20 bytes")
	}
	if v := binary.LittleEndian.Uint32(prefix[8:]); v > Version {
		return &NewerError{What: "snapshot format", Found: v, Supported: Version}
	}
	length, limit := binary.LittleEndian.Uint32(prefix[12:]), 2*d.caps.NameBytes+64
	if uint64(length) > uint64(limit) {
		return d.fault(12, Length, fmt.Sprintf("a header of %d bytes is above the limit of %d", length, limit))
	}
	end := prefixSize + int(length)
	all := append(prefix, make([]byte, length+4)...)
	if _, err := d.read(all[prefixSize:]); err != nil {
		return d.broken(err, prefixSize, "the file ends in its header")
	}
	if binary.LittleEndian.Uint32(all[end:]) != crc32.Checksum(all[:end], castagnoli) {
		return d.fault(prefixSize, Checksum, "of the header")
	}
	d.seal = crc32.Checksum(all[end:], castagnoli)
	return d.parseHeader(all[prefixSize:end])
}

func (d *Decoder) parseHeader(b []byte) error {
	if len(b) < headerFixed {
		return d.fault(prefixSize, Malformed, "the header is too short")
	}
	flags := b[headerFixed-1]
	if flags&^flagFinal != 0 {
		return d.fault(prefixSize+headerFixed-1, Malformed, "unknown flags in the header")
	}
	d.buf, d.at, d.blockAt = b, headerFixed, prefixSize
	d.header = Header{
		Checkpoint: binary.LittleEndian.Uint64(b[0:]),
		Epoch:      binary.LittleEndian.Uint64(b[8:]),
		Time:       int64(binary.LittleEndian.Uint64(b[16:])),
		Final:      flags&flagFinal != 0,
		Job:        string(d.name("job")),
		Instance:   string(d.name("instance")),
	}
	d.end("the header")
	d.buf, d.at = nil, 0
	return d.err
}
