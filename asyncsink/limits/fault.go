package limits

import (
	"cmp"
	"fmt"
)

// Fault is one field of a configuration with a value that is out of its bound.
type Fault struct {
	Field string // as a configuration file names it, such as "batch.entries"
	Value string
	Bound string // what is allowed, such as "1 to 500"
}

// Error reads FIELD: VALUE: BOUND.
func (f *Fault) Error() string { return fmt.Sprintf("%s: %s: must be %s", f.Field, f.Value, f.Bound) }

func between[T cmp.Ordered](field string, v, least, most T) error {
	if v >= least && v <= most {
		return nil
	}
	return &Fault{Field: field, Value: fmt.Sprint(v), Bound: fmt.Sprintf("%v to %v", least, most)}
}

// Controller names how the window moves between its floor and its ceiling.
type Controller string

const (
	// AIMD starts at the floor, doubles with each clean window of answers up to
	// the level that last failed, and probes beyond it ever more rarely. It falls
	// when requests are refused, or when more entries are throttled than a
	// smaller window would have had. The default.
	AIMD Controller = "aimd"
	// Static keeps the window at its ceiling, for destinations whose refusals
	// say nothing about load.
	Static Controller = "static"
)

func (c Controller) check(field string) error {
	if c == AIMD || c == Static {
		return nil
	}
	return &Fault{Field: field, Value: string(c), Bound: "aimd or static"}
}
