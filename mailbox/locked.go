package mailbox

import "strings"

// Locked is the direct executor: a lock around the state, and no goroutine that owns it. A mail runs at once on the
// goroutine that hands it in, if nobody is inside. If somebody is, the mail waits and whoever is inside runs it before
// leaving; so Execute never waits, and a mail that hands in another does not dead-lock. Use it where any goroutine may
// call (a sink inside somebody's service). It is Flink's checkpoint lock, from before the mailbox, without its waits:
// Yield lets go of the lock.
//
// Mails must be short and must not block other than by yielding: they are run by whoever is inside, and everybody else
// waits meanwhile. A goroutine that leaves runs what all others hand in until none is left.
//
// An Execute that finds nobody inside costs what a mutex costs and a guard against panics; Enter and Leave together
// cost what a mutex costs. Neither allocates or reads a clock.
//
// The zero value is ready. A Locked must not be copied after first use.
type Locked struct {
	box
	turn turn

	// Touched by whoever has the turn; what says so is guarded by box.mu as well.
	ran  uint64 // mails that have ended
	name string // what has the turn, or had it last; changed with mu held

	// Guarded by box.mu.
	faults faults        // panics of which nobody has been told
	parked []*parked     // turns that have let go of the lock in a Yield
	moved  chan struct{} // closed when a mail has ended or the executor quiesces; nil: nobody waits for that
	idle   chan struct{} // closed when nothing waits, runs or is parked; nil: nobody waits for that
}

// lock takes mu for code that reads or changes the turn.
func (x *Locked) lock() {
	x.mu.Lock()
	x.turn.freeze()
}

// unlock is the end of lock. As long as anything waits, everybody has to come by mu.
func (x *Locked) unlock() {
	if x.first == nil && !x.closed && len(x.faults.kept) == 0 && len(x.parked) == 0 && x.turn.head == nil && x.idle == nil {
		x.turn.thaw()
	}
	x.mu.Unlock()
}

// begin notes what has the turn. It compares first, since most turns are of the same name as the one before.
func (x *Locked) begin(name string) {
	if x.name != name {
		x.mu.Lock()
		x.name = name
		x.mu.Unlock()
	}
}

// Execute implements [Executor]. If nobody is inside, the mail has run when Execute returns. So have those that it
// handed in, after it and in order.
func (x *Locked) Execute(name string, run func()) error {
	checkMail(name, run)
	if !x.turn.tryEnter() {
		if entered, err := x.enterOrQueue(name, run); !entered {
			return err
		}
	}
	x.begin(name)
	x.run(name, run)
	if !x.turn.tryLeave() {
		x.lock()
		x.stir()
		x.leave()
	}
	return nil
}

// enterOrQueue takes the turn if nobody is inside, and otherwise leaves the mail to whoever is.
func (x *Locked) enterOrQueue(name string, run func()) (entered bool, err error) {
	x.lock()
	defer x.unlock()
	if x.closed || x.turn.held() {
		return false, x.append(&mail{name: name, run: run})
	}
	x.turn.take()
	return true, nil
}

// kick runs what waits, if nobody is inside who will.
func (x *Locked) kick() {
	x.lock()
	if x.turn.held() {
		x.unlock()
		return
	}
	x.turn.take()
	x.leave()
}

// Enter implements [Executor]: it takes the lock. Goroutines that wait for it are let in in order, except that one
// which comes while the lock is free and the next waiter is still being woken overtakes it. A waiter that finds itself
// overtaken is handed the lock by whoever leaves next.
func (x *Locked) Enter(name string) error {
	if !x.turn.tryEnter() {
		x.lock()
		if err := x.faults.take(); err != nil {
			x.unlock()
			return err
		}
		x.acquire(name)
		x.unlock()
	}
	x.begin(name)
	return nil
}

// Leave implements [Executor]: it runs the mails that wait, in order, with those that they hand in, and lets go of the
// lock.
func (x *Locked) Leave() {
	if x.turn.tryLeave() {
		return
	}
	x.lock()
	if !x.turn.held() {
		x.unlock()
		panic("mailbox: Leave without Enter")
	}
	x.leave()
}

// leave ends the turn, which is the caller's, after the mails that wait. It is called locked and unlocks.
func (x *Locked) leave() {
	for m := x.pop(); m != nil; m = x.pop() {
		x.name = m.name
		run := m.run
		m.run = nil
		x.unlock()
		x.run(m.name, run)
		x.lock()
		x.stir()
	}
	x.passOn()
	x.unlock()
}

// passOn ends the turn when no mail waits. It is called locked.
func (x *Locked) passOn() {
	x.release()
	if x.idle != nil && x.isIdle() {
		close(x.idle)
		x.idle = nil
	}
}

func (x *Locked) isIdle() bool { return !x.turn.held() && x.first == nil && len(x.parked) == 0 }

// run runs a mail that has the turn to itself.
func (x *Locked) run(name string, run func()) {
	returned := false
	defer func() {
		if !returned {
			x.failed(name, recover())
		}
	}()
	run()
	returned = true
	x.ran++
}

// failed keeps the panic of a mail until somebody can be told. After runtime.Goexit (value is nil) the mail's goroutine
// does not come back to end its turn, so failed ends it.
func (x *Locked) failed(name string, value any) {
	fault := panicked(name, value)
	x.lock()
	x.ran++
	x.faults.add(fault)
	if value != nil {
		x.unlock()
		return
	}
	x.stir()
	x.leave()
}

// Pending names the mails that wait, in the order in which they will run.
func (x *Locked) Pending() []string { return x.pending() }

// Running names the mail or turn that runs; "": none. Where one yields and another runs in place, both are named, the
// outer one first: "write > request done".
func (x *Locked) Running() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.runs(), " > ")
}

// String describes the executor for a person: what runs, which mails wait, which turns wait to be entered or to go on
// after a yield, whether it is closed.
func (x *Locked) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.describe("locked", x.runs())
	if entering := x.entering(); len(entering) > 0 {
		s += "; entering " + list(entering)
	}
	if len(x.parked) > 0 {
		s += "; yielding " + list(x.yielding())
	}
	return s
}

// runs names what has the turn, outermost first. mu is held.
func (x *Locked) runs() []string {
	if !x.turn.held() {
		return nil
	}
	return append([]string{x.name}, x.trace...)
}
