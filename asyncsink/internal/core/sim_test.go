package core

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	schedules = flag.Int("schedules", 2000, "how many schedules the simulation runs")
	seed      = flag.Uint64("seed", 0, "replay this schedule of the simulation alone")
)

const (
	stepsPerSchedule = 500
	tableSchedules   = 2000 // from so many on, no cell of the table may be empty
)

// TestSimulation drives the core through seeded schedules of 500 events and
// more against a destination that throttles, refuses, hangs, loses replies and
// fails, with crashes and restores between, and checks ledger, bounds, order
// and liveness after every step. At the end everything must be stored or in the
// dead letters. A failing seed is printed with the flag that replays it.
func TestSimulation(t *testing.T) {
	var seen coverage
	if *seed != 0 {
		require.NoError(t, runSchedule(*seed, &seen))
		return
	}
	for s := uint64(1); s <= uint64(*schedules); s++ {
		if err := runSchedule(s, &seen); err != nil {
			t.Fatalf("%v\nreplay: go test ./asyncsink/internal/core -run '^TestSimulation$' -seed %d", err, s)
		}
	}
	t.Logf("%d schedules, %d events, %d lives, %d entries spilled\n%v\ndead letters: %v\ndestinations: %v", *schedules, seen.steps, seen.lives, seen.spilled, &seen, seen.classes, seen.traits)
	if *schedules >= tableSchedules {
		require.Empty(t, seen.empty(), "outcomes that no schedule reached")
	}
}

func runSchedule(seed uint64, seen *coverage) (err error) {
	w := newWorld(seed, seen)
	defer func() {
		seen.steps += w.steps
		seen.lives += w.life
		switch f := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("seed %d: %s", seed, f.what)
		default:
			err = fmt.Errorf("seed %d: panic: %v\n%s", seed, f, debug.Stack())
		}
	}()
	w.run()
	return nil
}

func (w *world) run() {
	for w.steps < stepsPerSchedule && w.events.len() > 0 {
		w.step()
	}
	w.heal()
	for limit := w.steps + 50_000; ; {
		if w.core.Err() == nil && len(w.pending) == 0 && w.core.Ledger.Held().Entries == 0 && w.next == w.goal() {
			break
		}
		if w.events.len() == 0 || w.steps > limit {
			w.fail("liveness: %+v and %d to restore are left, %v", w.core.Ledger, len(w.pending), w.core.Err())
		}
		w.step()
	}
	w.settle()
	w.checkEnd()
}

func (w *world) step() {
	e := w.events.pop()
	w.now = max(w.now, e.at)
	w.steps++
	e.do()
}

// heal ends faults and new input: from here all that is held must settle.
func (w *world) heal() {
	w.healing = true
	w.config.DeadLetters, w.config.OnRejected, w.config.StopAmbiguous = true, GoOn, false
	w.crash()
}

// goal is where the source ends: where the farthest life before the healing had read.
func (w *world) goal() int { return w.farthest }

// finish reads what is left of the source and ends the input.
func (w *world) finish() {
	if w.core.Err() == nil {
		for w.next < w.goal() && w.offer() {
		}
		if w.next == w.goal() && !w.ended {
			w.ended = true
			w.core.EndOfInput()
		}
		w.pump()
	}
	if life := w.life; !w.ended {
		w.after(w.ms(1, 5), func() { w.in(life, w.finish) })
	}
}
