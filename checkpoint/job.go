package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultInstance is the instance of a [Job] that names none.
const DefaultInstance = "0"

const maxName = 200 // bytes: file systems take 255

// Job names whose state a folder holds. Both names become folders.
//
// A name is not empty, at most 200 bytes of valid UTF-8, has no path separator (/ or \), colon or control character, and
// begins neither with a dot nor, as it ends, with a space.
type Job struct {
	Name     string `json:"name"`
	Instance string `json:"instance"` // differs for each process of the job that runs at the same time; empty: DefaultInstance
}

// NameError is a name of a [Job] that cannot be that of a folder.
type NameError struct {
	Field string // "name" or "instance", as a configuration file has it
	Value string
	Bound string // what it must be
}

// Error reads FIELD: VALUE: BOUND.
func (e *NameError) Error() string {
	return fmt.Sprintf("%s: %q: must be %s", e.Field, e.Value, e.Bound)
}

// Validate returns a *[NameError] for each name that is not allowed, joined.
func (j Job) Validate() error {
	j = j.orDefault()
	return errors.Join(checkName("name", j.Name), checkName("instance", j.Instance))
}

func (j Job) orDefault() Job {
	if j.Instance == "" {
		j.Instance = DefaultInstance
	}
	return j
}

func checkName(field, v string) error {
	bound := ""
	switch {
	case v == "":
		bound = "set"
	case len(v) > maxName:
		bound = fmt.Sprintf("at most %d bytes", maxName)
	case !utf8.ValidString(v):
		bound = "valid UTF-8"
	case strings.ContainsAny(v, `/\:`) || strings.ContainsFunc(v, unicode.IsControl):
		bound = `without "/", "\", ":" and control characters: it names a folder`
	case v[0] == '.' || v[0] == ' ' || v[len(v)-1] == ' ':
		bound = "without a dot or space at its start, or a space at its end: it names a folder"
	default:
		return nil
	}
	return &NameError{Field: field, Value: v, Bound: bound}
}
