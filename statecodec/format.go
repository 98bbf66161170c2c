package statecodec

import (
	"encoding/binary"
	"hash/crc32"
)

// Version is the format that an [Encoder] writes and the newest that a [Decoder] reads. Version 0 may still change; from
// the first release on, each version that was released stays readable.
const Version uint32 = 0

const (
	magic       = "\x89SPW\r\n\x1a\n"
	prefixSize  = 20        // magic, version, header length, CRC
	headSize    = 16        // CRC, length, count, type, reserved
	blockTarget = 256 << 10 // most of payload in a block of several entries
	fullBlock   = headSize + blockTarget
	trailerSize = 20 // sections, entries, seal
)

// Types of blocks.
const (
	typeSection byte = iota + 1
	typeBlob
	typeEntries
	typeTrailer
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is the start of each block.
type head struct {
	crc    uint32
	length uint32 // of the payload behind it
	count  uint32 // of entries in it
	typ    byte
}

func (h head) put(b []byte) {
	binary.LittleEndian.PutUint32(b[0:], h.crc)
	binary.LittleEndian.PutUint32(b[4:], h.length)
	binary.LittleEndian.PutUint32(b[8:], h.count)
	binary.LittleEndian.PutUint32(b[12:], uint32(h.typ))
}

func readHead(b []byte) head {
	return head{
		crc:    binary.LittleEndian.Uint32(b[0:]),
		length: binary.LittleEndian.Uint32(b[4:]),
		count:  binary.LittleEndian.Uint32(b[8:]),
		typ:    b[12],
	}
}

func appendName(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}
