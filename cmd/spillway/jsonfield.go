package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// jsonField returns the value of a top-level field of a JSON object, which is a string that is not empty, or a number, as it was
// written. Of a field that is there twice it is the last one, as for encoding/json.
//
// The line is checked as a whole first: one that is cut off behind its key is as broken as any other. The walk over it
// can then take its grammar for granted. The key is the only allocation.
func jsonField(line []byte, field string) (string, error) {
	if !json.Valid(line) {
		return "", notJSON(line)
	}
	s := scanner{line, 0}
	if s.space(); s.b[s.i] != '{' {
		return "", errors.New("the line is JSON, but not an object")
	}
	var value []byte
	for s.i++; ; s.i++ {
		if s.space(); s.b[s.i] == '}' { // of an empty object
			break
		}
		name := s.value()
		s.space()
		s.i++ // the colon
		s.space()
		if v := s.value(); same(name, field) {
			value = v
		}
		if s.space(); s.b[s.i] == '}' {
			break
		}
	}
	return keyOf(value, field)
}

// scanner walks over valid JSON.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r' || s.b[s.i] == '\n') {
		s.i++
	}
}

// value goes behind the value that begins here, and returns its text.
func (s *scanner) value() []byte {
	start, depth := s.i, 0
	for ; ; s.i++ {
		switch s.b[s.i] {
		case '"':
			s.text()
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			s.i += bytes.IndexAny(s.b[s.i:], ",} \t\r\n]") // a number, true, false or null: something follows in its object
			return s.b[start:s.i]
		}
		if depth == 0 {
			s.i++
			return s.b[start:s.i]
		}
	}
}

// text goes to the end quote of the string that begins here.
func (s *scanner) text() {
	for s.i++; s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			s.i++
		}
	}
}

func same(name []byte, field string) bool {
	inner := name[1 : len(name)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == field
	}
	return unquote(name) == field
}

func keyOf(value []byte, field string) (string, error) {
	switch {
	case value == nil:
		return "", fmt.Errorf("key: the field %q is missing", field)
	case value[0] == '"':
		if key := unquote(value); key != "" {
			return key, nil
		}
		return "", fmt.Errorf("key: the field %q is empty", field)
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return string(value), nil
	}
	kind := map[byte]string{'{': "an object", '[': "an array", 't': "true", 'f': "false", 'n': "null"}[value[0]]
	return "", fmt.Errorf("key: the field %q is %s: it must be a string or a number", field, kind)
}

// unquote is a valid string's text. Bytes that are no UTF-8 are kept: whoever takes the key says what it thinks of them.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

func notJSON(line []byte) error {
	var v json.RawMessage
	return fmt.Errorf("the line is not JSON: %w", json.Unmarshal(line, &v))
}
