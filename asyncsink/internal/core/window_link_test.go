package core

import (
	"math"
	"math/rand/v2"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// link is a writer that always has work, its controller and a destination, on a
// clock that counts round trips.
type link struct {
	rand    *rand.Rand
	control controller
	batch   int
	out     heap[trip]
	flying  int // entries in flight
	now     float64

	// The destination. Its capacity is entries in flight or, with a depth, entries
	// a round trip out of a bucket that is so deep.
	capacity int
	depth    float64
	byEntry  bool    // what is above the capacity is throttled entry by entry; else requests are refused
	loss     float64 // share of the entries that is throttled whatever the load
	down     bool    // nothing is stored
	tokens   float64
	filled   float64

	requests, refused          int
	entries, throttled, stored int
}

// trip is a request under way, whose fate is sealed.
type trip struct {
	at                 float64
	entries, throttled int
	answer             answer
}

func newLink(batch, ceiling, capacity int) *link {
	return &link{
		rand: rand.New(rand.NewPCG(uint64(capacity), uint64(batch))), batch: batch, capacity: capacity,
		control: newController(limits.InFlight{
			Entries: limits.Entries(ceiling), Floor: limits.Entries(min(batch, ceiling)), Controller: limits.AIMD,
		}, limits.Entries(batch)),
		out: heap[trip]{key: func(x trip) int64 { return int64(x.at * 1e6) }},
	}
}

// run goes on for so many round trips, and counts what happens in them.
func (l *link) run(roundTrips float64) {
	l.requests, l.refused, l.entries, l.throttled, l.stored = 0, 0, 0, 0, 0
	for end := l.now + roundTrips; l.now < end; {
		for l.send() {
		}
		x := l.out.pop()
		l.now = x.at
		l.flying -= x.entries
		l.requests++
		l.entries += x.entries
		l.throttled += x.throttled
		if x.answer.refused {
			l.refused++
		} else {
			l.stored += x.entries - x.throttled
		}
		l.control.observe(x.answer)
	}
}

// send sends a request if the window takes it, as the core does.
func (l *link) send() bool {
	window := int(l.control.window())
	n := min(l.batch, window)
	if l.flying > 0 && l.flying+n > window {
		return false
	}
	x := trip{at: l.now + 0.5 + l.rand.Float64(), entries: n, answer: answer{
		entries: n, limited: 2*(l.flying+n) >= window, epoch: epochOf(l.control),
	}}
	switch taken := min(n, l.room()); {
	case !l.byEntry && (l.down || taken < n):
		x.answer.refused = true
	default:
		taken -= l.lost(taken)
		x.throttled = n - taken
		x.answer.throttled = x.throttled
		l.tokens -= float64(taken)
	}
	l.flying += n
	l.out.push(x)
	return true
}

func (l *link) room() int {
	l.tokens = min(l.tokens+(l.now-l.filled)*float64(l.capacity), l.depth)
	l.filled = l.now
	switch {
	case l.down:
		return 0
	case l.depth > 0:
		return max(0, int(l.tokens))
	}
	return max(0, l.capacity-l.flying)
}

// lost draws how many of n are throttled whatever the load.
func (l *link) lost(n int) int {
	mean := float64(n) * l.loss
	draw := mean + math.Sqrt(mean*(1-l.loss))*l.rand.NormFloat64()
	return min(max(0, int(math.Round(draw))), n)
}

func (l *link) goodput() float64 { return float64(l.stored) }
