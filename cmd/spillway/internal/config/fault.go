package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing that is wrong with a configuration.
type Fault struct {
	File  string // that has it; "": it is a flag or a variable
	Line  int    // of File
	Field string // the name of the value, as the place where it was written has it
	Value string // as it was written
	Bound string // what it must be
}

// Error reads FILE:LINE: FIELD: VALUE: BOUND, or FIELD: VALUE: BOUND.
func (f *Fault) Error() string {
	text := f.Field + ": " + f.Value + ": " + f.Bound
	if f.File == "" {
		return text
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, text)
}

// Faults is everything that is wrong with a configuration, in the order of its places.
type Faults []*Fault

// Error has a line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As the single faults.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, one := range f {
		errs[i] = one
	}
	return errs
}

// sort puts faults of the file by line, and those of flags and variables behind them.
func (f Faults) sort() {
	slices.SortStableFunc(f, func(a, b *Fault) int {
		switch {
		case (a.File == "") != (b.File == ""):
			if a.File == "" {
				return 1
			}
			return -1
		default:
			return a.Line - b.Line
		}
	})
}

// place is where a value was written.
type place struct {
	line int    // of the file; 0: not in it
	name string // the flag or the variable
	text string // what was written; "" for a part
}

const mostShown = 80 // characters of a value

// shown is a value for a person: as it was written, quoted where it needs it, cut where it is long, without a URL's password and
// parameters.
func shown(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" && (u.User != nil || u.RawQuery != "") {
		u.RawQuery = ""
		text = u.Redacted()
	}
	text = cut(text)
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.IsSpace(r) || r == '"' || r == unicode.ReplacementChar
	}
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

func cut(text string) string {
	if r := []rune(text); len(r) > mostShown {
		return string(r[:mostShown]) + "..."
	}
	return text
}
