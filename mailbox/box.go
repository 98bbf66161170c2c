package mailbox

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// mail is one function that waits to be run. It lies in the Future or the Timer that it belongs to, so that neither
// costs a second allocation.
type mail struct {
	name       string
	run        func()
	lost       func(error) // told if an accepted mail is dropped; nil: nobody waits for it
	state      state       // guarded by box.mu, as are the links
	prev, next *mail
}

type state uint8

const (
	fresh   state = iota // not handed in yet (a timer that waits for its time)
	queued               // in the box
	taken                // runs, or has run
	dropped              // will never run
)

// Left tells what a closed executor did not run. Names appear in the order in which they would have run.
type Left struct {
	Mails  []string // accepted mails that were dropped since the context of Close ended; their futures hold a *ClosedError
	Timers []string // timers whose time had not come
}

// box is what both executors are made of: the mails that wait, in order, and what is to be stopped on closing. The list
// is linked, so that a cancelled timer leaves it at once.
type box struct {
	mu          sync.Mutex
	first, last *mail
	closed      bool          // no more mails are accepted
	trace       []string      // what runs, outermost first: all but the last are interrupted in a Yield
	timers      []*Timers     // stopped on closing
	stopped     chan struct{} // made when closed is set; closed when the timers have been stopped
	left        Left
}

// call runs m, which was popped.
func (m *mail) call() error {
	run := m.run
	m.run = nil // as in revoke
	return call(m.name, run)
}

func (b *box) base() *box { return b }

// push hands in m without running anything; the caller kicks the executor afterwards.
func (b *box) push(m *mail) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.append(m)
}

// append is push with mu held.
func (b *box) append(m *mail) error {
	if b.closed {
		return &ClosedError{Mail: m.name}
	}
	m.state, m.prev = queued, b.last
	if b.last == nil {
		b.first = m
	} else {
		b.last.next = m
	}
	b.last = m
	return nil
}

// pop takes the oldest mail; nil: none waits. mu is held.
func (b *box) pop() *mail {
	m := b.first
	if m != nil {
		b.unlink(m, taken)
	}
	return m
}

func (b *box) unlink(m *mail, s state) {
	if m.prev == nil {
		b.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		b.last = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.state, m.prev, m.next = s, nil, nil
}

// revoke makes sure that m never runs, and returns false if it is too late for that.
func (b *box) revoke(m *mail) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch m.state {
	case taken:
		return false
	case queued:
		b.unlink(m, dropped)
	}
	m.state, m.run = dropped, nil // the caller may keep a Timer for long: let go of what the closure holds
	return true
}

// quiesce refuses mails from now on and stops the timers. The order matters: a timer that comes due in between finds
// the box closed and stays where stop counts it. Who comes second waits for the first, so that left is complete.
func (b *box) quiesce() {
	b.mu.Lock()
	if b.closed {
		stopped := b.stopped
		b.mu.Unlock()
		<-stopped
		return
	}
	b.closed, b.stopped = true, make(chan struct{})
	timers := b.timers
	b.timers = nil
	b.mu.Unlock()
	var names []string
	for _, t := range timers {
		names = append(names, t.stop()...)
	}
	b.mu.Lock()
	b.left.Timers = names
	b.mu.Unlock()
	close(b.stopped)
}

// drop gives up all mails that wait, tells their futures, and returns how many there were and all that was ever left.
func (b *box) drop() (n int, left Left) {
	var lost []*mail
	b.mu.Lock()
	for m := b.first; m != nil; m = b.first {
		b.unlink(m, dropped)
		m.run = nil
		lost = append(lost, m)
		b.left.Mails = append(b.left.Mails, m.name)
	}
	left = Left{Mails: slices.Clone(b.left.Mails), Timers: slices.Clone(b.left.Timers)}
	b.mu.Unlock()
	for _, m := range lost { // without mu: it wakes whoever waits for the future
		if m.lost != nil {
			m.lost(&ClosedError{Mail: m.name})
		}
	}
	return len(lost), left
}

// attach has t stopped when b closes; false: b is closed already.
func (b *box) attach(t *Timers) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.timers = append(b.timers, t)
	}
	return !b.closed
}

func (b *box) detach(t *Timers) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.timers, t); i >= 0 {
		b.timers = slices.Delete(b.timers, i, i+1)
	}
}

func (b *box) pending() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names()
}

// names is pending with mu held.
func (b *box) names() (names []string) {
	for m := b.first; m != nil; m = m.next {
		names = append(names, m.name)
	}
	return names
}

// describe writes what a person wants to know in one line. mu is held.
func (b *box) describe(kind string, running []string) string {
	s := kind + ": "
	if len(running) == 0 {
		s += "idle"
	} else {
		s += "running " + strings.Join(running, " > ")
	}
	if b.first != nil {
		s += "; waiting " + list(b.names())
	}
	if b.closed {
		s += "; closed"
	}
	return s
}

// list writes how many names there are and the first few of them.
func list(names []string) string {
	const most = 8
	s := strconv.Itoa(len(names)) + ": " + strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		s += ", ..."
	}
	return s
}
