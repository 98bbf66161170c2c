package core

import (
	"errors"
	"slices"
	"time"
)

// destination stores, throttles, refuses, loses replies and hangs, as its
// relation allows. What it stored stays over all lives of the writer.
type destination struct {
	w       *world
	stored  map[int]int // id to copies
	first   map[int]int // key to id of its newest first occurrence
	calm    [6]float64  // how likely each fault is in this schedule
	arrived Time        // Pipelined: requests arrive in the order of sending,
	closed  int         // and once one of a life is not stored, none behind it is
}

const (
	faultThrottleAll = iota
	faultThrottleSome
	faultFailAll
	faultFailSome
	faultLose // reply, after storing or not
	faultHang
)

func newDestination(w *world) destination {
	d := destination{w: w, stored: map[int]int{}, first: map[int]int{}}
	for i := range d.calm {
		if w.chance(0.6) {
			d.calm[i] = 0.25 * w.rand.Float64()
		}
	}
	return d
}

var errSim = errors.New("simulated")

func (d *destination) fault(i int) bool { return !d.w.healing && d.w.chance(d.calm[i]) }

// receive takes a request: it arrives, is decided upon, and is answered.
func (d *destination) receive(b *Batch[item]) {
	w, life := d.w, d.w.life
	items := slices.Clone(b.Entries)
	travel := w.ms(0, 10)
	if w.config.Relation == Pipelined {
		d.arrived = max(d.arrived, w.now.Add(travel))
		travel = d.arrived.Sub(w.now)
	}
	if d.fault(faultHang) {
		apply := w.chance(0.5)
		w.after(travel, func() {
			d.storeUnless(!apply, life, items)
		})
		w.after(w.ms(30, 200), func() { // very late
			w.in(life, func() { d.answer(b, Outcome{Kind: Ambiguous, Err: errSim}, nil) })
		})
		return
	}
	w.after(travel, func() {
		whole, fails := d.decide(life, items)
		w.after(w.ms(0, 12), func() {
			w.in(life, func() { d.answer(b, whole, fails) })
		})
	})
}

func (d *destination) answer(b *Batch[item], whole Outcome, fails []Failure) {
	w := d.w
	late := b.state == batchAbandoned
	if !late {
		w.observeAnswer(b, whole, fails)
	}
	w.core.Done(w.now, b, whole, fails)
	w.pump()
}

func (d *destination) decide(life int, items []item) (whole Outcome, fails []Failure) {
	w := d.w
	handsBack := !(w.config.Relation == Pipelined && w.config.Order != Unordered)
	poison := slices.IndexFunc(items, func(e item) bool { return e.poison })
	switch {
	case !handsBack && d.closed == life:
		return Outcome{Kind: Fatal, Err: errSim}, nil
	case handsBack && d.fault(faultThrottleAll):
		return Outcome{Kind: Throttled, Err: errSim, After: time.Duration(w.rand.IntN(10)) * time.Millisecond}, nil
	case handsBack && d.fault(faultFailAll):
		return Outcome{Kind: pick(w, Retry, Retry, CredentialExpired), Err: errSim}, nil
	case !w.healing && w.chance(0.006):
		d.storeUnless(true, life, nil)
		return Outcome{Kind: Fatal, Err: errSim}, nil
	case d.fault(faultLose):
		d.storeUnless(w.chance(0.5), life, items)
		return Outcome{Kind: Ambiguous, Err: errSim}, nil
	case poison >= 0 && (handsBack || len(items) == 1) && w.chance(0.5): // the request as a whole is refused for it
		return Outcome{Kind: Rejected, Err: errSim}, nil
	}
	for i, e := range items {
		o := Outcome{}
		switch {
		case e.poison:
			o = Outcome{Kind: Rejected, Err: errSim}
		case handsBack && d.fault(faultThrottleSome):
			o = Outcome{Kind: Throttled, Err: errSim}
		case handsBack && d.fault(faultFailSome):
			o = Outcome{Kind: pick(w, Retry, Ambiguous, CredentialExpired), Err: errSim}
		}
		if o.Kind == Delivered || o.Kind == Ambiguous && w.chance(0.5) && w.config.Relation == Independent {
			d.store(e)
		}
		if o.Kind != Delivered {
			fails = append(fails, Failure{i, o})
			if w.config.Relation == Prefix {
				return Outcome{}, fails // nothing behind it was stored
			}
		}
	}
	return Outcome{}, fails
}

func (d *destination) storeUnless(lost bool, life int, items []item) {
	switch pipelined := d.w.config.Relation == Pipelined; {
	case pipelined && d.closed == life:
	case lost && pipelined:
		d.closed = life
	case !lost:
		d.storeAll(items)
	}
}

func (d *destination) storeAll(items []item) {
	for _, e := range items {
		if e.poison {
			if d.w.config.Relation == Prefix {
				return
			}
			continue
		}
		d.store(e)
	}
}

// store checks the promise of order as it happens: first occurrences of a key ascend.
func (d *destination) store(e item) {
	w := d.w
	if d.stored[e.id]++; d.stored[e.id] > 1 || w.config.Order == Unordered || w.gaveUp[e.id] {
		return
	}
	key := e.key
	if w.config.Order == Total {
		key = 0
	}
	if last, ok := d.first[key]; ok && last > e.id {
		w.fail("order: first occurrence of %d of key %d after that of %d", e.id, key, last)
	}
	d.first[key] = e.id
}
