package mailbox

import (
	"container/heap"
	"sync"
	"time"
)

// Timers runs functions at given times, as mails of one executor: so a timer's function needs no lock either. Each
// timer fires once. Those whose time has come are handed in in order of time, and of equal times in order of
// registration. A timer never fires early; how late its mail runs is up to the executor.
//
// All timers of a Timers share one alarm of the clock, set only while a timer waits. No goroutine is kept. Closing the
// executor closes its Timers too. All methods may be called from any goroutine.
type Timers struct {
	ex    Executor
	clock Clock

	mu      sync.Mutex // taken before the executor's and the clock's
	waiting timerHeap
	count   uint64 // of registrations: the order of equal times
	alarm   Alarm  // made with the first timer that waits
	closed  bool
}

// NewTimers returns a Timers that hands its mails to ex and lives on clock; a nil clock is [SystemClock].
func NewTimers(ex Executor, clock Clock) *Timers {
	if clock == nil {
		clock = SystemClock{}
	}
	t := &Timers{ex: ex, clock: clock}
	t.closed = !ex.base().attach(t)
	return t
}

// Timer is one registration.
type Timer struct {
	timers *Timers
	mail   mail
	at     time.Time
	number uint64
	index  int // in the heap; -1: not there
}

// Now is the clock's time.
func (t *Timers) Now() time.Time { return t.clock.Now() }

// At has f run as a mail called name once the clock shows at. If it does already, the mail is handed in at once, as by
// Execute, after the mails of all timers that are due before it. Once the Timers or its executor is closed, the error
// is a [*ClosedError] and the timer is nil.
func (t *Timers) At(at time.Time, name string, f func()) (*Timer, error) {
	return t.register(at, t.clock.Now(), name, f)
}

// After is At, d from now.
func (t *Timers) After(d time.Duration, name string, f func()) (*Timer, error) {
	now := t.clock.Now()
	return t.register(now.Add(d), now, name, f)
}

func (t *Timers) register(at, now time.Time, name string, f func()) (*Timer, error) {
	checkMail(name, f)
	r := &Timer{timers: t, mail: mail{name: name, run: f}, at: at}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, &ClosedError{Mail: name}
	}
	t.count++
	r.number = t.count
	heap.Push(&t.waiting, r)
	posted := false
	if r.index == 0 || !at.After(now) { // else the alarm is set already, for an earlier timer
		posted = t.post(now)
	}
	refused := r.index >= 0 && !at.After(now) // the executor is being closed, and stop has not come by yet
	if refused {
		heap.Remove(&t.waiting, r.index)
	}
	t.mu.Unlock()
	if posted {
		t.ex.kick()
	}
	if refused {
		return nil, &ClosedError{Mail: name}
	}
	return r, nil
}

// fire is what the alarm calls.
func (t *Timers) fire() {
	now := t.clock.Now()
	t.mu.Lock()
	posted := t.post(now)
	t.mu.Unlock()
	if posted { // without mu, since a Locked runs the mails here
		t.ex.kick()
	}
}

// post hands in what is due and sets the alarm for what is not. mu is held.
func (t *Timers) post(now time.Time) (posted bool) {
	for len(t.waiting) > 0 && !t.waiting[0].at.After(now) {
		if t.ex.base().push(&t.waiting[0].mail) != nil {
			return posted // the executor is being closed: stop is about to count what is still here
		}
		heap.Pop(&t.waiting)
		posted = true
	}
	t.set(now)
	return posted
}

// set sets the alarm for the first timer. mu is held.
func (t *Timers) set(now time.Time) {
	switch {
	case len(t.waiting) == 0:
		if t.alarm != nil {
			t.alarm.Stop()
		}
	case t.alarm == nil:
		t.alarm = t.clock.AfterFunc(t.waiting[0].at.Sub(now), t.fire)
	default:
		t.alarm.Reset(t.waiting[0].at.Sub(now))
	}
}

// Cancel makes sure that the timer's function never runs, and lets go of it. True: it will never run, also if its mail
// was waiting in the executor already, if it had been cancelled before, or was stopped by closing. False: too late, it
// runs or has run. A nil Timer can be cancelled: nothing will ever run.
func (r *Timer) Cancel() bool {
	if r == nil {
		return true
	}
	t := r.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.index >= 0 {
		first := r.index == 0
		heap.Remove(&t.waiting, r.index)
		if first {
			t.set(t.clock.Now())
		}
	}
	return t.ex.base().revoke(&r.mail)
}

// Pending names the timers whose time has not come, in order of time.
func (t *Timers) Pending() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting.names()
}

// Close stops all timers whose time has not come and names them, in order of time. Mails that were handed in already
// still run. It is needed only where the executor lives on.
func (t *Timers) Close() []string {
	t.ex.base().detach(t)
	return t.stop()
}

// stop is what the executor calls when it closes.
func (t *Timers) stop() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	names := t.waiting.names()
	for _, r := range t.waiting {
		r.index = -1
		t.ex.base().revoke(&r.mail)
	}
	t.waiting = nil
	if t.alarm != nil {
		t.alarm.Stop()
	}
	return names
}
