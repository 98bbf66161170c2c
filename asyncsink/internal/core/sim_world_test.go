package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// item is the simulation's entry. Items are a function of seed and id, so that
// a source can be read again after a crash.
type item struct {
	id, key, size int
	poison        bool // the destination will never store it
}

// world is one schedule: a source, a core in successive lives, a destination
// and a dead-letter output, driven by an event heap on a clock of its own.
type world struct {
	seed   uint64
	rand   *rand.Rand
	now    Time
	events heap[event]
	serial int64
	steps  int // events handled
	seen   *coverage
	hit    [limitCount]bool // limits hit so far in this schedule

	config    Config[item]
	core      *Core[item]
	life      int
	next      int  // id that the source gives next
	farthest  int  // the largest that next has been
	mayDouble int  // copies too many that ended lives announced, or that are read again
	ended     bool // EndOfInput was said in this life
	healing   bool // the destination does its best, so that all must settle

	dest    destination
	disk    int          // how many entries that find no room it takes
	pending []Held[item] // of the snapshot that this life restores, and spilled by it: not fed yet
	saved   checkpointed
	known
	dead   map[int]int
	gaveUp map[int]bool // by some life, which may have let later ones of the key go
	wakeOf int64
}

type checkpointed struct {
	held   []Held[item]
	last   Seq
	next   int
	divert []uint64
}

// shown is a snapshot with what it must yield, read when its time comes.
type shown struct {
	snap *Snapshot[item]
	want []line
}

type event struct {
	at Time
	n  int64
	do func()
}

func newWorld(seed uint64, seen *coverage) *world {
	w := &world{
		seed: seed, rand: rand.New(rand.NewPCG(seed, 0x5eed)), now: Time(time.Hour), seen: seen,
		events: heap[event]{key: func(e event) int64 { return int64(e.at)<<20 | e.n&(1<<20-1) }},
		dead:   map[int]int{}, gaveUp: map[int]bool{},
	}
	w.config = w.randomConfig()
	if w.chance(0.4) {
		w.disk = 1 + w.rand.IntN(30)
	}
	seen.drives(w.config.Relation, w.config.OwnsRetries)
	w.dest = newDestination(w)
	w.begin(checkpointed{})
	return w
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	w.events.push(event{w.now.Add(d), w.serial, do})
}

func (w *world) chance(p float64) bool { return w.rand.Float64() < p }

func (w *world) ms(least, most int) time.Duration {
	return time.Duration(least+w.rand.IntN(most-least+1)) * time.Millisecond
}

func pick[T any](w *world, of ...T) T { return of[w.rand.IntN(len(of))] }

// begin starts a life from what was saved.
func (w *world) begin(from checkpointed) {
	if w.core != nil {
		w.mayDouble += int(w.core.Counters.PossibleDuplicates.Entries)
	}
	w.life++
	w.config.Writer[0] = byte(w.life)
	w.core = New(w.config)
	w.core.Divert(from.divert)
	w.core.Resume(from.last)
	w.saved, w.next, w.pending = from, from.next, from.held
	w.core.Feed(len(w.pending) > 0)
	w.ended = false
	w.known = nothingKnown()
	w.pump()
	if life := w.life; w.healing {
		w.after(0, func() { w.in(life, w.finish) })
	} else {
		w.after(w.ms(0, 5), func() { w.produce(life) })
		w.after(w.ms(5, 60), func() { w.disturb(life) })
	}
}

// in runs do only if the life in which it was planned goes on.
func (w *world) in(life int, do func()) {
	if w.life == life {
		do()
	}
}

func (w *world) item(id int) item {
	r := rand.New(rand.NewPCG(w.seed, uint64(id)<<8))
	keys := 1 + int(w.seed>>4%7)
	return item{id: id, key: r.IntN(keys), size: 10 + r.IntN(90), poison: r.Float64() < 0.02}
}

// produce is the source: bursts of entries while there is room.
func (w *world) produce(life int) {
	w.in(life, func() {
		for range 1 + w.rand.IntN(12) {
			if w.core.Err() != nil || !w.offer() {
				break
			}
		}
		w.after(w.ms(0, 8), func() { w.produce(life) })
	})
}

func (w *world) offer() bool {
	e := w.item(w.next)
	if len(w.pending) > 0 && len(w.pending) >= w.disk {
		return false
	}
	seq, err := w.core.Offer(w.now, e)
	switch {
	case errors.Is(err, ErrFull) && w.disk > 0:
		w.spill(e)
		return true
	case errors.Is(err, ErrFull):
		w.hitHeld(e)
		return false
	case errors.As(err, new(*TooLarge)):
		w.hit[limitEntryBytes] = true
		w.dead[e.id], w.gaveUp[e.id] = w.dead[e.id]+1, true // its source's business: the runner writes it to the dead letters
	case err != nil:
		panic(fmt.Sprintf("offer: %v", err))
	}
	if err == nil {
		w.accepted = append(w.accepted, taken{seq, e.id})
		w.checkHeld()
	}
	w.next++
	w.farthest = max(w.farthest, w.next)
	if w.core.Noticeable() {
		w.pump()
	}
	return true
}

// spill puts an entry on disk, behind all others.
func (w *world) spill(e item) {
	size, err := w.core.Admit(e)
	if err != nil {
		panic(fmt.Sprintf("admit: %v", err))
	}
	seq := w.core.Spill(size)
	w.pending = append(slices.Clip(w.pending), Held[item]{Seq: seq, ID: ID{w.config.Writer, seq}, Entry: e, Born: w.now})
	w.seen.spilled++
	w.next++
	w.farthest = max(w.farthest, w.next)
	w.core.Feed(true)
	w.pump()
}

// disturb does, now and then, what a shell or an operator may do.
func (w *world) disturb(life int) {
	w.in(life, func() {
		switch r := w.rand.Float64(); {
		case r < 0.35:
			w.snapshot()
		case r < 0.5:
			w.core.Flush()
		case r < 0.6:
			w.tune()
		case r < 0.68:
			w.crash()
			return
		}
		w.pump()
		w.after(w.ms(5, 60), func() { w.disturb(life) })
	})
}

// snapshot takes one, keeps what it must show, reads it later and only then saves it.
func (w *world) snapshot() {
	s := w.take()
	position, life, pending, last := w.next, w.life, w.pending, w.core.Last()
	w.after(w.ms(0, 40), func() {
		w.in(life, func() {
			held := w.read(s, false)
			w.core.Release(s.snap)
			for _, h := range pending { // not fed when the snapshot was taken
				h.Unsure = true
				held = append(held, h)
			}
			w.saved = checkpointed{held, last, position, s.snap.Divert}
			w.pump()
		})
	})
}

func (w *world) take() shown {
	w.settle()
	s := shown{snap: w.core.Snapshot(), want: w.unsettled()}
	w.balance("entries in a snapshot", s.snap.Held.Entries, int64(len(s.want)))
	return s
}

func (w *world) read(s shown, final bool) []Held[item] {
	var held []Held[item]
	var got []line
	for h := range s.snap.All() {
		got = append(got, line{h.Seq, h.Entry.id, h.Attempts, h.Unsure})
		h.Unsure = h.Unsure || !final // it may have been sent since
		held = append(held, h)
	}
	if !slices.Equal(s.want, got) {
		w.fail("a snapshot must show %v, what was unsettled when it was taken; it shows %v", s.want, got)
	}
	return held
}

// crash ends a life at once; requests that are out go on.
func (w *world) crash() {
	for _, h := range w.core.everything() {
		w.gaveUp[h.Entry.id] = w.gaveUp[h.Entry.id] || h.Death != nil
	}
	w.mayDouble += w.next - w.saved.next // read again
	for i := range w.saved.held {        // this life may have sent what it restored
		w.saved.held[i].Unsure = true
	}
	w.begin(w.saved)
}

// restart ends a stopped life in good order: all that is left is saved.
func (w *world) restart() {
	w.core.Abandon(w.now)
	w.observeTimeouts()
	s := w.take()
	left := append(w.read(s, true), w.pending...)
	w.begin(checkpointed{left, w.core.Last(), w.next, s.snap.Divert})
}

// pump does what the core wants until it waits, and checks after each action.
func (w *world) pump() {
	for n := 0; ; n++ {
		if n > 10_000 {
			w.fail("liveness: the core never waits")
		}
		w.check()
		a := w.core.Next(w.now)
		w.observeTimeouts()
		switch a.Kind {
		case Send:
			w.observeSend(a.Batch)
			w.dest.receive(a.Batch)
		case Bury:
			w.bury(a.Dead)
		case Room:
			w.feed(a)
		case Again:
		case Wait:
			w.settle()
			w.check()
			w.checkWait(a.Until)
			w.noteLimits()
			if life := w.life; a.Until != Never {
				w.wakeOf++
				n := w.wakeOf
				w.after(max(0, a.Until.Sub(w.now)), func() {
					if w.life == life && w.wakeOf == n {
						w.pump()
					}
				})
			}
			if w.core.Err() != nil {
				w.checkStop(w.core.Err())
				life := w.life
				w.after(w.ms(1, 20), func() { w.in(life, w.restart) })
			}
			return
		}
	}
}

func (w *world) feed(room Action[item]) {
	for n := int64(0); n < room.Entries && len(w.pending) > 0; n++ {
		h := w.pending[0]
		if !w.core.Restore(w.now, h) {
			break
		}
		w.checkHeld()
		w.accepted = append(w.accepted, taken{w.core.Fed(), h.Entry.id})
		w.note(h.Entry.id, h.Unsure)
		w.tries[h.Entry.id] = h.Attempts
		w.bornDead[h.Entry.id] = h.Death != nil || h.Entry.size > int(w.core.Limits.Batch.EntryBytes)
		w.pending = w.pending[1:]
	}
	if len(w.pending) == 0 {
		w.core.Feed(false)
	}
}

func (w *world) bury(dead []Dead[item]) {
	ids := make([]int, len(dead))
	for i, d := range dead {
		ids[i] = d.Entry.id
		w.gaveUp[d.Entry.id] = true
		if w.doubt[d.Entry.id] && !w.bornDead[d.Entry.id] && d.Death.Class != "rejected" {
			w.fail("entry %d may be stored, and is given up (%s)", d.Entry.id, d.Death.Class)
		}
		if first, ok := w.firstDead[d.Entry.key]; !ok || d.Entry.id < first {
			w.firstDead[d.Entry.key] = d.Entry.id
		}
		w.seen.buried(d.Death.Class)
		switch d.Death.Class {
		case "attempts":
			w.hit[limitAttempts] = true
		case "age":
			w.hit[limitAge] = true
		}
	}
	life, delay := w.life, w.ms(0, 20)
	w.after(delay, func() {
		for _, id := range ids { // durable, even if the life that wrote it has ended
			w.dead[id]++
		}
		w.in(life, func() {
			w.core.Buried()
			w.pump()
		})
	})
}
