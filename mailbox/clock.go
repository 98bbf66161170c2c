package mailbox

import "time"

// Clock tells the time and wakes people. [SystemClock] is the real one; a test owns a [ManualClock].
type Clock interface {
	// Now is the current time.
	Now() time.Time
	// AfterFunc calls f once d has passed, on a goroutine of the clock's choice, and is stopped or set anew by what it
	// returns. It does not call f itself before it returns.
	AfterFunc(d time.Duration, f func()) Alarm
}

// Alarm is a pending call of a [Clock]; *time.Timer is one.
type Alarm interface {
	// Stop prevents the call; false: it was not pending.
	Stop() bool
	// Reset makes the call due d from now, whether or not it was pending, and tells whether it was.
	Reset(d time.Duration) bool
}

// SystemClock is the machine's clock, and in a testing/synctest bubble the bubble's.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements [Clock]; f runs on a goroutine of its own.
func (SystemClock) AfterFunc(d time.Duration, f func()) Alarm { return time.AfterFunc(d, f) }
