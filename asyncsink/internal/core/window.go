package core

import (
	"math"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// controller moves the window: how many entries may be in flight.
type controller interface {
	// window is the current limit.
	window() int64
	// observe learns from one answer.
	observe(answer)
}

// answer is what a controller sees of a request.
type answer struct {
	entries   int
	throttled int    // entries refused for load, the others not
	refused   bool   // the request as a whole was refused for load
	failed    bool   // it failed as a whole for another reason, or was never answered
	limited   bool   // the window was what held requests back when this one went
	epoch     uint64 // the controller's, when it was sent
}

type static int64

func (s static) window() int64  { return int64(s) }
func (s static) observe(answer) {}

const (
	beta        = 0.7 // what a cut leaves
	maxHold     = 64  // clean windows between probes, at most
	minSample   = 256 // entries before shares are compared
	outage      = 3   // failures in a row are one; fewer say nothing about load
	minMargin   = 0.02
	marginSigma = 3
)

// aimd finds the largest window that the destination takes, from two signals.
//
// A request refused as a whole always cuts, once for all requests that were out
// at that time; so does one that failed otherwise, from the third in a row on, since
// a lost connection now and then has nothing to do with load. Entries throttled inside accepted requests are judged by their
// share against a learnt baseline: above it the window is cut on trial, and if
// the share delivered does not improve as it would had load been the cause, the
// cut is taken back and the share becomes the baseline, until it is tried again
// 64 windows later: a share learnt under load would leave the window open for
// ever. (A fixed tolerance collapses as soon as a loss that has nothing to do
// with load exceeds it.) A window of answers without a delivery is an outage.
//
// Growth: doubling for each window of clean answers up to the level known to be
// good, which is kept through an outage, so that recovery takes O(log C) round
// trips. From there it probes: one batch more, then two, four, while that holds;
// a probe that fails goes straight back and waits twice as long for the next, up
// to 64 windows, which keeps the refusals that probing causes below two per cent.
type aimd struct {
	floor, ceil, step float64

	w     float64
	good  float64 // the level to double up to; ceil until something failed
	hold  int     // clean windows between probes
	clean int     // windows since the last probe or cut
	jump  float64 // the next probe's size
	probe float64 // size of the probe that is running; 0: none

	baseline float64
	accepted int                               // windows since the baseline was tried, while it is above zero
	trial    struct{ from, delivered float64 } // from: window before the cut; 0: no trial

	failures int    // in a row
	cutting  bool   // nothing was delivered since the last cut
	proven   bool   // a clean window at good, since the last cut
	cutAt    uint64 // epoch that the last cut began

	epoch             uint64  // decisions so far: answers to older requests decide nothing
	level             float64 // the window when this epoch began
	target            float64 // entries that make this epoch's window of answers
	answered, refused float64 // entries in this epoch
	limited           bool
}

func newController(l limits.InFlight, batch limits.Entries) controller {
	if l.Controller == limits.Static {
		return static(l.Entries)
	}
	a := &aimd{floor: float64(l.Floor), ceil: float64(l.Entries), step: float64(batch), hold: 1}
	a.w, a.good, a.jump = a.floor, a.ceil, a.step
	a.decide(a.w)
	return a
}

// tuned is the controller for changed limits. An adaptive one keeps what it has
// learnt, within its new bounds.
func tuned(k controller, l limits.InFlight, batch limits.Entries) controller {
	a, ok := k.(*aimd)
	if !ok || l.Controller == limits.Static {
		return newController(l, batch)
	}
	unbroken := a.good >= a.ceil // nothing has failed yet
	a.floor, a.ceil, a.step = float64(l.Floor), float64(l.Entries), float64(batch)
	if a.good = min(max(a.good, a.floor), a.ceil); unbroken {
		a.good = a.ceil
	}
	a.jump, a.probe, a.trial.from = a.step, 0, 0
	a.decide(a.w)
	return a
}

func (a *aimd) window() int64 { return int64(a.w) }

// decide sets the window and starts a new window of answers.
func (a *aimd) decide(w float64) {
	a.w = min(max(w, a.floor), a.ceil)
	a.epoch++
	a.answered, a.refused, a.limited = 0, 0, false
	a.level, a.target = a.w, max(a.w, minSample)
}

func (a *aimd) observe(x answer) {
	if !x.failed {
		a.failures = 0
	} else if a.failures++; a.failures < outage {
		return
	}
	if x.refused || x.failed {
		if x.epoch >= a.cutAt {
			a.cut(x.epoch == a.epoch)
		}
		return
	}
	if a.w < a.good && a.trial.from == 0 && x.limited && x.throttled == 0 && x.epoch >= a.cutAt {
		a.w = min(a.w+float64(x.entries), a.good)
		a.cutting = false
	}
	if x.epoch != a.epoch {
		return
	}
	a.answered += float64(x.entries)
	a.refused += float64(x.throttled)
	a.limited = a.limited || x.limited
	if a.answered >= a.target {
		a.judge(a.refused/a.answered, a.answered)
	}
}

// cut answers a request that was refused as a whole.
func (a *aimd) cut(ofThisEpoch bool) {
	if a.probe > 0 {
		a.failProbe()
		if ofThisEpoch {
			return
		}
	}
	// Only the first cut of an outage sets the level to come back to: the
	// present one if a clean window has proven it, less if it was being tried.
	if !a.cutting && !a.proven {
		a.good = max(a.w*beta, a.floor)
	}
	a.cutting, a.proven, a.trial.from = true, false, 0
	a.clean, a.jump = 0, a.step
	a.decide(a.w * beta)
	a.cutAt = a.epoch
}

func (a *aimd) failProbe() {
	back := a.w - a.probe
	if a.probe <= a.step {
		a.hold = min(a.hold*2, maxHold)
	}
	a.probe, a.clean, a.jump = 0, 0, a.step
	a.good = max(back, a.floor)
	a.decide(back)
	a.cutAt = a.epoch
}

// judge looks at a whole window of answers: share of n entries was throttled.
func (a *aimd) judge(share, n float64) {
	delivered := 1 - share
	if delivered <= 0 { // refused, entry by entry
		a.cut(true)
		return
	}
	if t := a.trial; t.from > 0 {
		a.trial.from = 0
		asLoad := min(1, t.delivered*t.from/a.w)
		if delivered >= (t.delivered+asLoad)/2 && asLoad > t.delivered {
			a.good, a.clean, a.jump, a.baseline = a.w, 0, a.step, 0
			a.decide(a.w)
			return
		}
		a.baseline, a.accepted = share, 0
		a.decide(t.from)
		return
	}
	margin := max(minMargin, marginSigma*math.Sqrt(a.baseline*(1-a.baseline)/n))
	if a.baseline > minMargin {
		a.accepted++
	}
	switch {
	case a.accepted >= maxHold && a.probe == 0: // the baseline may have been learnt under load
		a.try(delivered)
	case share <= a.baseline+margin:
		a.baseline = min(a.baseline, share) + max(0, share-a.baseline)/8
		a.grow()
	case a.probe > 0:
		a.failProbe()
	case a.w*beta < a.floor: // nowhere to go: what is seen at the floor is the baseline
		a.baseline = share
		a.decide(a.w)
	default:
		a.try(delivered)
	}
}

// try cuts the window to see whether more of it is delivered then.
func (a *aimd) try(delivered float64) {
	a.accepted = 0
	a.trial.from, a.trial.delivered = a.w, delivered
	a.decide(a.w * beta)
}

// grow follows a clean window of answers.
func (a *aimd) grow() {
	if a.probe > 0 { // it held: this level is good, and the next step is larger
		a.good, a.probe, a.hold = a.w, 0, 1
		a.jump = min(a.jump*2, a.ceil)
	}
	a.clean++
	a.cutting = false
	a.proven = a.proven || a.level >= a.good
	switch {
	case !a.limited, a.w >= a.ceil:
		a.decide(a.w)
	case a.w < a.good:
		a.decide(min(a.w*2, a.good))
	case a.clean >= a.hold:
		a.probe, a.clean = min(a.jump, a.ceil-a.w), 0
		a.decide(a.w + a.probe)
	default:
		a.decide(a.w)
	}
}
