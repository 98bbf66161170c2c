package mailbox

import (
	"slices"
	"sync"
	"time"
)

// ManualClock is a clock that stands still until its owner, a test, moves it. What comes due runs on the goroutine that
// moves it, before Advance or Set returns, in order of time and with the clock showing exactly that time; so nothing in
// such a test is left to chance. Its other methods may be called from any goroutine.
//
// The zero value shows the zero time.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*manualAlarm // in order of time, equal times in order of setting
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

// Now implements [Clock].
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]. With d of zero or less, f runs at the next Advance or Set, whatever their argument.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) Alarm {
	a := &manualAlarm{clock: c, run: f}
	a.Reset(d)
	return a
}

// Advance moves the clock by d; see Set.
func (c *ManualClock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// Set moves the clock to t and runs what comes due on the way, including what that sets in turn. A t in the past sets
// the clock back, as when a machine's clock is corrected: nothing new comes due, and alarms keep their time.
func (c *ManualClock) Set(t time.Time) {
	back := t.Before(c.Now())
	for {
		a := c.next(t, back)
		if a == nil {
			return
		}
		a.run() // without mu: it sets further alarms
	}
}

// next takes the first alarm due until t and moves the clock to its time, or to t if there is none.
func (c *ManualClock) next(t time.Time, back bool) *manualAlarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.alarms) == 0 || c.alarms[0].at.After(t) {
		if back || t.After(c.now) {
			c.now = t
		}
		return nil
	}
	a := c.alarms[0]
	c.alarms = slices.Delete(c.alarms, 0, 1)
	if a.at.After(c.now) {
		c.now = a.at
	}
	return a
}

// Next tells when the next alarm is due; false: none is set, which is also the proof that nobody leaked one.
func (c *ManualClock) Next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.alarms) == 0 {
		return time.Time{}, false
	}
	return c.alarms[0].at, true
}

type manualAlarm struct {
	clock *ManualClock
	at    time.Time
	run   func()
}

func (a *manualAlarm) Stop() bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	return a.remove()
}

func (a *manualAlarm) Reset(d time.Duration) bool {
	c := a.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	pending := a.remove()
	a.at = c.now.Add(d)
	i, _ := slices.BinarySearchFunc(c.alarms, a.at, func(b *manualAlarm, at time.Time) int {
		if b.at.After(at) {
			return 1
		}
		return -1 // after those of the same time
	})
	c.alarms = slices.Insert(c.alarms, i, a)
	return pending
}

func (a *manualAlarm) remove() bool {
	i := slices.Index(a.clock.alarms, a)
	if i < 0 {
		return false
	}
	a.clock.alarms = slices.Delete(a.clock.alarms, i, i+1)
	return true
}
