package asyncsink

import (
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// clock turns a wall clock into the core's: it starts at the wall's time and
// goes on with the monotonic reading, so that it never goes back.
type clock struct {
	base time.Time
}

func newClock() clock { return clock{time.Now()} }

func (c clock) read() core.Time {
	return core.Time(c.base.UnixNano()) + core.Time(time.Since(c.base))
}

// at is a core's time as the wall shows it, with the monotonic reading kept.
func (c clock) at(t core.Time) time.Time {
	return c.base.Add(time.Duration(t - core.Time(c.base.UnixNano())))
}
