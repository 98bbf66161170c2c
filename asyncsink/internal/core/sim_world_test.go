package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
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
	pending []Held[item] // of the snapshot that this life restores, not fed yet
	saved   checkpointed
	acked   map[int]bool // in this life
	settled map[Seq]bool // in this life
	dead    map[int]int
	gaveUp  map[int]bool // by some life, which may have let later ones of the key go
	wakeOf  int64
}

type checkpointed struct {
	held   []Held[item]
	next   int
	divert []uint64
}

// shown is a snapshot with what it must yield, read when its time comes.
type shown struct {
	snap *Snapshot[item]
	want []int
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

func (w *world) randomConfig() Config[item] {
	c := Config[item]{
		Limits: limits.Set{
			Batch: limits.Batch{
				Entries: limits.Entries(1 + w.rand.IntN(8)), Bytes: limits.Bytes(200 + w.rand.IntN(600)),
				Age: w.ms(1, 30), EntryBytes: limits.Bytes(100 + w.rand.IntN(100)),
			},
			Held:     limits.Held{Entries: limits.Entries(4 + w.rand.IntN(60)), Bytes: limits.Bytes(400 + w.rand.IntN(4000))},
			InFlight: limits.InFlight{Requests: limits.Requests(1 + w.rand.IntN(6)), Timeout: w.ms(20, 60)},
			Retry:    limits.Retry{Base: w.ms(1, 10), Cap: w.ms(10, 50)},
		},
		Order:         Order(w.seed % 3),
		Relation:      Relation(w.seed / 3 % 3),
		OnRejected:    OnRejected(w.rand.IntN(3)),
		StopAmbiguous: w.chance(0.3),
		DeadLetters:   !w.chance(0.1),
		Settlement:    true,
		Size:          func(e item) int { return e.size },
		Hash:          func(e item) uint64 { return uint64(e.key) },
		Rand:          rand.New(rand.NewPCG(w.seed, 1)),
	}
	l := &c.Limits
	c.OwnsRetries = c.Relation == Pipelined && (c.Order != Unordered || w.chance(0.5))
	if w.chance(0.3) {
		l.InFlight.Controller = limits.Static
	}
	if w.chance(0.3) {
		l.InFlight.Entries = limits.Entries(1 + w.rand.IntN(12))
		l.InFlight.Floor = 1
	}
	if w.chance(0.3) {
		l.InFlight.Bytes = l.Batch.Bytes + limits.Bytes(w.rand.IntN(400))
	}
	if w.chance(0.2) {
		l.Rate.Records = limits.PerSecond(200 + w.rand.IntN(2000))
		l.Rate.RecordBurst = limits.Entries(1 + w.rand.IntN(10))
	}
	if w.chance(0.2) {
		l.Rate.Bytes = limits.PerSecond(20_000 + w.rand.IntN(100_000))
		l.Rate.ByteBurst = limits.Bytes(50 + w.rand.IntN(1000))
	}
	if w.chance(0.2) {
		l.Rate.Requests = limits.PerSecond(50 + w.rand.IntN(500))
		l.Rate.RequestBurst = limits.Requests(1 + w.rand.IntN(3))
	}
	if w.chance(0.35) {
		l.Retry.Attempts = 1 + w.rand.IntN(5)
	}
	if w.chance(0.35) {
		l.Retry.Age = w.ms(30, 200)
	}
	c.Limits = l.WithDefaults()
	return c
}

// begin starts a life from what was saved.
func (w *world) begin(from checkpointed) {
	if w.core != nil {
		w.mayDouble += int(w.core.Counters.PossibleDuplicates.Entries)
	}
	w.life++
	w.config.Writer[0] = byte(w.life)
	w.core = New(w.config)
	w.core.Divert(from.divert)
	w.saved, w.next, w.pending = from, from.next, from.held
	w.core.Feed(len(w.pending) > 0)
	w.ended = false
	w.acked, w.settled = map[int]bool{}, map[Seq]bool{}
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
			if len(w.pending) > 0 || w.core.Err() != nil || !w.offer() {
				break
			}
		}
		w.after(w.ms(0, 8), func() { w.produce(life) })
	})
}

func (w *world) offer() bool {
	e := w.item(w.next)
	_, err := w.core.Offer(w.now, e)
	switch {
	case errors.Is(err, ErrFull):
		w.hitHeld(e)
		return false
	case errors.As(err, new(*TooLarge)):
		w.hit[limitEntryBytes] = true
		w.dead[e.id], w.gaveUp[e.id] = w.dead[e.id]+1, true // its source's business: the runner writes it to the dead letters
	case err != nil:
		panic(fmt.Sprintf("offer: %v", err))
	}
	w.next++
	w.farthest = max(w.farthest, w.next)
	if w.core.Noticeable() {
		w.pump()
	}
	return true
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

func (w *world) tune() {
	l := w.config.Limits
	l.Batch.Entries = limits.Entries(1 + w.rand.IntN(8))
	l.Batch.EntryBytes = min(l.Batch.Bytes, limits.Bytes(60+w.rand.IntN(140)))
	l.InFlight.Timeout = w.ms(20, 60)
	w.core.Tune(w.now, l)
}

// snapshot takes one, keeps what it must show, reads it later and only then saves it.
func (w *world) snapshot() {
	s := shown{snap: w.core.Snapshot(), want: w.unsettled()}
	position, life, pending := w.next, w.life, w.pending
	w.after(w.ms(0, 40), func() {
		w.in(life, func() {
			held := w.read(s, false)
			w.core.Release(s.snap)
			for _, h := range pending { // not fed when the snapshot was taken
				h.Unsure = true
				held = append(held, h)
			}
			w.saved = checkpointed{held, position, s.snap.Divert}
			w.pump()
		})
	})
}

func (w *world) read(s shown, final bool) []Held[item] {
	var held []Held[item]
	var ids []int
	for h := range s.snap.All() {
		h.Unsure = h.Unsure || !final // it may have been sent since
		held = append(held, h)
		ids = append(ids, h.Entry.id)
	}
	w.mustEqual("snapshot shows what was unsettled when it was taken", s.want, ids)
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
	s := shown{snap: w.core.Snapshot(), want: w.unsettled()}
	left := append(w.read(s, true), w.pending...)
	w.begin(checkpointed{left, w.next, s.snap.Divert})
}

// pump does what the core wants until it waits, and checks after each action.
func (w *world) pump() {
	for {
		w.check()
		a := w.core.Next(w.now)
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
		if !w.core.Restore(w.now, w.pending[0]) {
			break
		}
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
