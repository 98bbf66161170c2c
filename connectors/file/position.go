package file

import (
	"bytes"
	"strconv"
)

// headBytes is how much of a file's beginning tells it from others.
const headBytes = 4096

// FNV-1a, 64 bits: it goes on byte by byte. It tells files apart that differ by accident, which is all there is to tell.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// mark is a place in a stream: how many bytes and lines are before it, and the hash of the first headBytes of them. The zero
// value is the beginning.
type mark struct {
	offset, line int64
	hash         uint64   // xor fnvBasis, so that the zero value is right
	text         [17]byte // ":" and the hash, written once and copied for every line
	plain        bool     // append no fingerprint
}

// advance moves the mark over b.
func (m *mark) advance(b []byte) {
	if m.offset < headBytes {
		m.hash = fnv(m.hash, b[:min(int64(len(b)), headBytes-m.offset)])
		m.write()
	}
	m.offset += int64(len(b))
}

func fnv(hash uint64, b []byte) uint64 {
	hash ^= fnvBasis
	for _, c := range b {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	return hash ^ fnvBasis
}

// append writes the mark as a position.
func (m *mark) append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, m.offset, 10)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, m.line, 10)
	if m.plain {
		return dst
	}
	return append(dst, m.text[:]...)
}

func (m *mark) write() {
	m.text[0] = ':'
	hash := m.hash ^ fnvBasis
	for i := 16; i > 0; i-- {
		m.text[i] = "0123456789abcdef"[hash&15]
		hash >>= 4
	}
}

// parseMark reads what append wrote.
func parseMark(pos []byte) (mark, error) {
	parts := bytes.Split(pos, []byte(":"))
	if len(parts) != 3 || len(parts[2]) != 16 {
		return mark{}, &PositionError{string(pos)}
	}
	offset, err1 := strconv.ParseUint(string(parts[0]), 10, 63)
	line, err2 := strconv.ParseUint(string(parts[1]), 10, 63)
	hash, err3 := strconv.ParseUint(string(parts[2]), 16, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return mark{}, &PositionError{string(pos)}
	}
	m := mark{offset: int64(offset), line: int64(line), hash: hash ^ fnvBasis}
	m.write()
	return m, nil
}

// Line is the number, from 1, of the line that a record with this position came from; 0: it is no position of this package.
func Line(position []byte) int64 {
	parts := bytes.Split(position, []byte(":"))
	if len(parts) != 2 && len(parts) != 3 {
		return 0
	}
	line, err := strconv.ParseUint(string(parts[1]), 10, 63)
	if err != nil {
		return 0
	}
	return int64(line)
}
