package file

import (
	"bytes"
	"io"

	"github.com/spillway-go/spillway/stream"
)

// block is how much is asked for at once: enough that the system call costs nothing per line, little enough for the caches.
const block = 256 << 10

// lines cuts a stream into lines, in one buffer that is used again and again. Whoever owns it reads into space and tells took;
// cut hands the lines on. Bytes move only when a line spans two blocks, and no byte is searched twice.
type lines struct {
	split string
	limit int // bytes of the longest line, without its end
	block int

	buf  []byte
	r, w int   // buf[r:w] was read and not handed on
	scan int   // buf[r:scan] has no newline
	at   mark  // of buf[r]; inside a long line of what was read or dropped of it
	long bool  // buf[r:w] is the beginning of a line above the limit, limit+1 bytes of it; what follows is dropped
	err  error // what the stream ended with; nil: it goes on

	texts []byte // the positions of the last records
}

func newLines(split string, limit int) lines { return lines{split: split, limit: limit, block: block} }

// reset begins anew at a mark.
func (l *lines) reset(at mark) {
	l.r, l.w, l.scan, l.at, l.long, l.err = 0, 0, 0, at, false, nil
}

// cut fills dst with the lines that are in the buffer. What it returned before is no longer valid.
func (l *lines) cut(dst []stream.Record) (n int) {
	l.texts = l.texts[:0]
	for n < len(dst) {
		i := bytes.IndexByte(l.buf[l.scan:l.w], '\n')
		if i < 0 {
			l.scan = l.w
			break
		}
		value := l.take(l.scan + i)
		if len(value) == 0 {
			continue
		}
		dst[n] = l.record(value)
		n++
	}
	if n == 0 && len(dst) > 0 && l.err == io.EOF && l.w > l.r {
		dst[0] = l.record(l.takeLast())
		n++
	}
	return n
}

// take returns the line whose newline is at buf[end], and goes behind it.
func (l *lines) take(end int) []byte {
	start := l.r
	l.r, l.scan = end+1, end+1
	if l.long {
		l.long = false
		head := l.buf[start : start+l.limit+1]
		l.at.advance(l.buf[start+l.limit+1 : end+1])
		l.at.line++
		return head
	}
	l.at.advance(l.buf[start : end+1])
	l.at.line++
	if end > start && l.buf[end-1] == '\r' {
		end--
	}
	return l.buf[start:end]
}

// takeLast returns the line that ends with the stream.
func (l *lines) takeLast() []byte {
	value := l.buf[l.r:l.w]
	if l.long {
		l.at.advance(value[l.limit+1:])
	} else {
		l.at.advance(value)
	}
	l.at.line++
	l.r, l.scan, l.long = l.w, l.w, false
	return value
}

func (l *lines) record(value []byte) stream.Record {
	if len(value) > l.limit {
		value = value[:l.limit+1]
	}
	from := len(l.texts)
	l.texts = l.at.append(l.texts)
	return stream.Record{Split: l.split, Position: l.texts[from:len(l.texts):len(l.texts)], Value: value[:len(value):len(value)]}
}

// space returns where to read more to, once cut returns 0: the buffer holds a part of one line only.
func (l *lines) space() []byte {
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r, l.scan = 0, l.w
	}
	switch {
	case l.long:
		l.at.advance(l.buf[l.limit+1 : l.w])
		l.w, l.scan = l.limit+1, l.limit+1
	case l.w > l.limit+1: // one more than the limit may be the "\r" of an end
		l.long = true
		l.at.advance(l.buf[:l.w])
		l.w, l.scan = l.limit+1, l.limit+1
	}
	if l.w == len(l.buf) || l.long && len(l.buf)-l.w < l.block {
		most := l.limit + 1 + l.block
		to := make([]byte, min(most, max(l.block, 2*len(l.buf))))
		if l.long {
			to = make([]byte, most)
		}
		copy(to, l.buf[:l.w])
		l.buf = to
	}
	return l.buf[l.w:]
}

// took notes that n bytes were read into space, and what the read returned with them.
func (l *lines) took(n int, err error) {
	l.w += n
	l.err = err
}
