package kinesistest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// violations collects what breaks the constraints of the service's model, in the service's words. It names ten
// at most.
type violations []string

const hashKeyPattern = `0|([1-9]\d{0,38})`

var hashKeyRegexp = regexp.MustCompile(`^(` + hashKeyPattern + `)$`)

func (v *violations) add(value, path, constraint string) {
	if len(*v) < 10 {
		*v = append(*v, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", value, path, constraint))
	}
}

// err is nil, or the ValidationException that lists all.
func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	plural := ""
	if len(v) > 1 {
		plural = "s"
	}
	return refuse("ValidationException", "%d validation error%s detected: %s", len(v), plural, strings.Join(v, "; "))
}

func (v *violations) null(path string) { v.add("null", path, "Member must not be null") }

// text checks a string of 1 to limit characters; pattern may be nil.
func (v *violations) text(s *string, path string, limit int, pattern *regexp.Regexp, required bool) {
	if s == nil {
		if required {
			v.null(path)
		}
		return
	}
	if *s == "" {
		v.add("''", path, "Member must have length greater than or equal to 1")
	}
	if utf8.RuneCountInString(*s) > limit {
		v.add(quote(*s), path, fmt.Sprintf("Member must have length less than or equal to %d", limit))
	}
	if pattern != nil && !pattern.MatchString(*s) {
		v.add(quote(*s), path, "Member must satisfy regular expression pattern: "+strings.Trim(pattern.String(), "^$"))
	}
}

func (v *violations) number(n *int64, path string, low, high int64, required bool) {
	switch {
	case n == nil && required:
		v.null(path)
	case n == nil:
	case *n < low:
		v.add(fmt.Sprintf("'%d'", *n), path, fmt.Sprintf("Member must have value greater than or equal to %d", low))
	case *n > high:
		v.add(fmt.Sprintf("'%d'", *n), path, fmt.Sprintf("Member must have value less than or equal to %d", high))
	}
}

func (v *violations) oneOf(s *string, path string, required bool, values ...string) {
	if s == nil {
		if required {
			v.null(path)
		}
		return
	}
	for _, allowed := range values {
		if *s == allowed {
			return
		}
	}
	v.add(quote(*s), path, "Member must satisfy enum value set: ["+strings.Join(values, ", ")+"]")
}

// name and shard check the two identifiers that most operations take.
func (v *violations) name(s *string, required bool) {
	v.text(s, "streamName", 128, nameRegexp, required)
}
func (v *violations) shard(s *string, path string, req bool) { v.text(s, path, 128, nameRegexp, req) }

var sequenceRegexp = regexp.MustCompile(`^(0|([1-9]\d{0,128}))$`)

// sequence checks the form of an optional sequence number; whether it belongs to the shard is another question.
func (v *violations) sequence(s *string, path string) { v.text(s, path, 129, sequenceRegexp, false) }

// entry checks one record of a write: the only one of PutRecord, for which n is 0, or the n-th of PutRecords.
func (v *violations) entry(e *entry, n int, auto bool) {
	at := func(field string) string { // called for what is wrong only
		if n == 0 {
			return field
		}
		return fmt.Sprintf("records.%d.member.%s", n, field)
	}
	switch {
	case e.key == nil && auto: // the key is optional there
	case e.key == nil:
		v.null(at("partitionKey"))
	case len(e.key) == 0:
		v.add("''", at("partitionKey"), "Member must have length greater than or equal to 1")
	case len(e.key) > MaxKeyChars && utf8.RuneCount(e.key) > MaxKeyChars:
		v.add(quote(string(e.key)), at("partitionKey"), fmt.Sprintf("Member must have length less than or equal to %d", MaxKeyChars))
	}
	if e.explicit != nil && !hashKeyRegexp.Match(e.explicit) {
		v.add(quote(string(e.explicit)), at("explicitHashKey"), "Member must satisfy regular expression pattern: "+hashKeyPattern)
	}
	switch size := len(e.data); {
	case e.data == nil:
		v.null(at("data"))
	case size > LargestMaxRecordKiB<<10:
		v.add(fmt.Sprintf("'java.nio.HeapByteBuffer[pos=0 lim=%d cap=%d]'", size, size), at("data"),
			fmt.Sprintf("Member must have length less than or equal to %d", LargestMaxRecordKiB<<10))
	}
}

func quote(s string) string { return "'" + s + "'" }
