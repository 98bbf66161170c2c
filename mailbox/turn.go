package mailbox

import "sync/atomic"

// turn is the lock of a Locked. Taking and leaving it while nothing else is going on is one compare-and-swap each. As
// soon as anything is (a mail or a goroutine waits, somebody looks), its word is frozen, and then it changes only with
// the Locked's mutex held. Two things that a sync.Mutex does not offer are had that way: whoever leaves cannot miss a
// mail that was left beside the lock (a TryLock that fails orders nothing), and a person can read whether it is held.
//
// Like sync.Mutex it lets a newcomer take a free turn while a waiting goroutine is still being woken, since waking
// takes longer than most turns; a waiter that was overtaken is handed the next turn, so that it starves no longer than
// one wake-up.
type turn struct {
	word       atomic.Uint32
	head, tail *entrant // who waits, in order; guarded by the mutex
}

const (
	wordHeld   = 1 << iota // somebody is inside
	wordFrozen             // look with the mutex held
)

func (t *turn) tryEnter() bool { return t.word.CompareAndSwap(0, wordHeld) }
func (t *turn) tryLeave() bool { return t.word.CompareAndSwap(wordHeld, 0) }

// freeze and thaw are called with the mutex held, take and drop frozen as well.
func (t *turn) freeze()    { t.word.Or(wordFrozen) }
func (t *turn) thaw()      { t.word.And(^uint32(wordFrozen)) }
func (t *turn) take()      { t.word.Or(wordHeld) }
func (t *turn) drop()      { t.word.And(^uint32(wordHeld)) }
func (t *turn) held() bool { return t.word.Load()&wordHeld != 0 }

type entrant struct {
	name             string
	wake             chan struct{} // holds a token when it should look again
	woken, overtaken bool
	owns             bool // the turn was handed over
	next             *entrant
}

// acquire takes the turn, and waits for it if need be. It is called locked, but does not wait so.
func (x *Locked) acquire(name string) {
	t := &x.turn
	if !t.held() {
		t.take()
		return
	}
	e := &entrant{name: name, wake: make(chan struct{}, 1)}
	if t.head == nil {
		t.head = e
	} else {
		t.tail.next = e
	}
	t.tail = e
	for {
		x.unlock()
		<-e.wake
		x.lock()
		if e.owns {
			return
		}
		if !t.held() {
			t.take()
			t.head = e.next // only the first is ever woken
			return
		}
		e.overtaken = true
	}
}

// release gives up the turn and lets the next one in. It is called locked.
func (x *Locked) release() {
	t := &x.turn
	e := t.head
	switch {
	case e == nil:
		t.drop()
	case e.overtaken: // held stays set
		t.head, e.owns = e.next, true
		e.wake <- struct{}{}
	default:
		t.drop()
		if !e.woken {
			e.woken = true
			e.wake <- struct{}{}
		}
	}
}

// entering names the goroutines that wait for their turn. mu is held.
func (x *Locked) entering() (names []string) {
	for e := x.turn.head; e != nil; e = e.next {
		names = append(names, e.name)
	}
	return names
}
