package kinesistest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// entry is one record of a write. A nil field was not given. Its bytes are lent, see buffers.
type entry struct{ key, explicit, data []byte }

// decode reads the body. PutRecords takes a fast path: a general JSON decoder would cost more than everything
// else that the server does for a record. The fast path knows what clients send; whatever else JSON allows it
// leaves to encoding/json, which also words the errors.
func (c *call) decode() error {
	if c.op == "PutRecords" && c.fast() {
		return nil
	}
	c.in = input{}
	if err := json.Unmarshal(c.body.raw, &c.in); err != nil {
		return refuse("SerializationException", "%v", err)
	}
	c.entries = c.body.entries[:0]
	switch c.op {
	case "PutRecord":
		c.entries = append(c.entries, entryOf(wireEntry{c.in.Data, c.in.PartitionKey, c.in.ExplicitHashKey}))
	case "PutRecords":
		for _, r := range c.in.Records {
			c.entries = append(c.entries, entryOf(r))
		}
	}
	c.body.entries = c.entries
	return nil
}

func entryOf(w wireEntry) entry {
	return entry{bytesOf(w.PartitionKey), bytesOf(w.ExplicitHashKey), w.Data}
}

func bytesOf(s *string) []byte {
	if s == nil {
		return nil
	}
	return append([]byte{}, *s...)
}

// fast reads a PutRecords body of plain strings into the lent buffers, or reports false, with nothing said
// about the reason.
func (c *call) fast() bool {
	b := c.body
	if need := len(b.raw); cap(b.data) < need {
		b.data = make([]byte, 0, need) // never outgrown: base64 shrinks
	}
	s := scanner{b: b.raw}
	seen := false
	ok := s.object(func(name []byte) bool {
		switch string(name) {
		case "StreamName":
			return s.text(&c.in.StreamName)
		case "StreamARN":
			return s.text(&c.in.StreamARN)
		case "Records":
			if seen {
				return false // encoding/json merges the two
			}
			seen = true
			return s.array(func() bool { return b.record(&s) })
		}
		return false
	})
	s.space()
	c.entries = b.entries
	return ok && s.i == len(s.b)
}

func (b *buffers) record(s *scanner) bool {
	var e entry
	ok := s.object(func(name []byte) bool {
		v, ok := s.plain()
		if !ok {
			return false
		}
		switch string(name) {
		case "Data":
			e.data, ok = b.blob(v)
			return ok
		case "PartitionKey":
			e.key = v
		case "ExplicitHashKey":
			e.explicit = v
		default:
			return false
		}
		return isText(v)
	})
	b.entries = append(b.entries, e)
	return ok
}

// blob decodes into the lent memory. The standard decoder skips line breaks, which JSON does not allow here:
// then it yields less than the length promises, and the slow path decides.
func (b *buffers) blob(v []byte) ([]byte, bool) {
	if len(v)%4 != 0 {
		return nil, false
	}
	start := len(b.data)
	padding := len(v) - len(bytes.TrimRight(v, "="))
	most := base64.StdEncoding.DecodedLen(len(v))
	got, err := base64.StdEncoding.Decode(b.data[start:start+most], v)
	b.data = b.data[:start+got]
	return b.data[start:len(b.data):len(b.data)], err == nil && got == most-padding
}

// isText reports whether a string without escapes may stand as it is: no control characters, valid UTF-8.
func isText(v []byte) bool {
	for _, c := range v {
		if c < 0x20 {
			return false
		}
	}
	return utf8.Valid(v)
}

// scanner walks over the JSON that needs no interpretation.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\r' || s.b[s.i] == '\t') {
		s.i++
	}
}

func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// plain is a string without escapes, as a part of the input.
func (s *scanner) plain() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	rest := s.b[s.i:]
	n := bytes.IndexByte(rest, '"')
	if n < 0 || bytes.IndexByte(rest[:n], '\\') >= 0 {
		return nil, false
	}
	s.i += n + 1
	return rest[:n:n], true
}

func (s *scanner) text(dst **string) bool {
	v, ok := s.plain()
	if !ok || !isText(v) {
		return false
	}
	t := string(v)
	*dst = &t
	return true
}

// object calls member with each name, the scanner standing at its value.
func (s *scanner) object(member func(name []byte) bool) bool {
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return true
	}
	for {
		name, ok := s.plain()
		if !ok || !s.next(':') || !member(name) {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}

func (s *scanner) array(element func() bool) bool {
	if !s.next('[') {
		return false
	}
	if s.next(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
}
