package core

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// After an outage the window is back at 90 % of the capacity C in O(log C) round
// trips, whatever the outage looked like. (Flink takes 2,450 from 500 to 25,000.)
func TestRecoveryAfterAnOutageTakesLogarithmicTime(t *testing.T) {
	for _, byEntry := range []bool{false, true} {
		for _, capacity := range []int{1000, 10_000, 25_000, 100_000, 1_000_000} {
			t.Run(fmt.Sprintf("entry by entry %v, capacity %d", byEntry, capacity), func(t *testing.T) {
				l := newLink(500, 2*capacity, capacity)
				l.run(500)
				require.InEpsilon(t, capacity, l.control.window(), 0.5)
				l.down, l.byEntry = true, byEntry
				l.run(100)
				require.LessOrEqual(t, l.control.window(), int64(500), "the floor")
				l.down, l.byEntry = false, false
				trips := 0
				for ; l.control.window() < int64(capacity)*9/10; trips++ {
					l.run(1)
				}
				require.LessOrEqual(t, float64(trips), 2+math.Log2(float64(capacity)/500))
			})
		}
	}
}

// A loss that has nothing to do with load does not close the window: the trial
// cut is taken back. (Flink's default falls to a thousandth at 10 %.)
func TestLoadIndependentLossLeavesTheWindowOpen(t *testing.T) {
	for _, loss := range []float64{0.01, 0.10, 0.25, 0.40} {
		for _, c := range []struct{ batch, ceiling int }{{500, 500}, {500, 2000}, {500, 45_000}, {10, 160}, {1, 16}} {
			t.Run(fmt.Sprintf("loss %v, batch %d, ceiling %d", loss, c.batch, c.ceiling), func(t *testing.T) {
				l := newLink(c.batch, c.ceiling, math.MaxInt32)
				l.loss = loss
				l.run(300)
				l.run(2000)
				most := float64(2000*c.ceiling) * (1 - loss)
				require.Greater(t, l.goodput(), 0.93*most, "window %d", l.control.window())
			})
		}
	}
}

// A destination that refuses requests above a capacity: the window stays there,
// and probing beyond it costs less than two per cent of the requests.
func TestProbingForCapacityCostsFewRefusals(t *testing.T) {
	for _, c := range []struct{ batch, capacity int }{
		{500, 500}, {500, 600}, {500, 1100}, {500, 3000}, {500, 10_000}, {500, 100_000},
		{10, 10}, {10, 15}, {10, 35}, {10, 100}, {10, 1000}, {1, 1}, {1, 2}, {1, 5}, {1, 50},
	} {
		t.Run(fmt.Sprintf("batch %d, capacity %d", c.batch, c.capacity), func(t *testing.T) {
			l := newLink(c.batch, 100*c.capacity, c.capacity)
			l.run(500)
			l.run(2000)
			require.Less(t, float64(l.refused), 0.02*float64(l.requests))
			batches := float64(c.capacity / c.batch * c.batch)
			require.Greater(t, l.goodput(), 0.85*2000*batches, "window %d", l.control.window())
		})
	}
}

// A destination that throttles entries above a rate, as PutRecords does.
func TestThrottledEntriesHoldTheWindowAtTheRate(t *testing.T) {
	for _, c := range []struct {
		batch, capacity int
		depth           float64 // of the bucket, in round trips
	}{{500, 3000, 1}, {500, 10_000, 1}, {500, 50_000, 1}, {500, 10_000, 20}, {10, 100, 1}, {10, 1000, 1}, {10, 100, 20}} {
		t.Run(fmt.Sprintf("batch %d, capacity %d, depth %v", c.batch, c.capacity, c.depth), func(t *testing.T) {
			l := newLink(c.batch, 5*c.capacity, c.capacity)
			l.byEntry, l.depth = true, c.depth*float64(c.capacity)
			l.run(500)
			l.run(2000)
			require.Greater(t, l.goodput(), 0.85*2000*float64(c.capacity))
			require.Less(t, float64(l.throttled), 0.25*float64(l.entries))
		})
	}
}

// A share that was taken for the baseline by mistake does not stay: here four of
// five entries are throttled because the window is five times too large.
func TestABaselineIsTriedAgain(t *testing.T) {
	l := newLink(10, 500, 100)
	l.byEntry, l.depth = true, 100
	a := l.control.(*aimd)
	a.baseline, a.good = 0.8, a.ceil
	a.decide(a.ceil)
	l.run(500)
	require.Less(t, l.control.window(), int64(200))
	require.Less(t, a.baseline, 0.1)
}

// A window of answers in which nothing was delivered is an outage, not a baseline.
func TestNothingDeliveredClosesTheWindow(t *testing.T) {
	l := newLink(10, 1000, 1000)
	l.run(50)
	require.Greater(t, l.control.window(), int64(500))
	l.down, l.byEntry = true, true
	l.run(200)
	require.EqualValues(t, 10, l.control.window())
}

func TestRequestsThatWereOutTogetherCutOnce(t *testing.T) {
	a := newController(limits.InFlight{Entries: 8000, Floor: 100}, 500).(*aimd)
	a.decide(8000)
	sent := epochOf(a)
	for range 16 {
		a.observe(answer{entries: 500, refused: true, epoch: sent})
	}
	require.EqualValues(t, 5600, a.window())
	a.observe(answer{entries: 500, refused: true, epoch: epochOf(a)})
	require.InDelta(t, 3920, a.window(), 1, "one that went out after the cut")
	for range 5 {
		a.observe(answer{entries: 500, throttled: 400, epoch: sent})
	}
	require.InDelta(t, 3920, a.window(), 1, "shares of requests from before the cut decide nothing")
}

func TestTheWindowNeverLeavesItsBounds(t *testing.T) {
	l := newLink(500, 2300, 1_000_000)
	l.control.(*aimd).floor = 300
	for range 50 {
		l.down = !l.down
		for range 40 {
			l.run(1)
			require.GreaterOrEqual(t, l.control.window(), int64(300))
			require.LessOrEqual(t, l.control.window(), int64(2300))
		}
		require.Equal(t, l.down, l.control.window() == 300)
		require.Equal(t, !l.down, l.control.window() == 2300)
	}
}

// A writer without work learns nothing: its window does not grow on answers to
// requests that the window did not hold back.
func TestAnIdleWriterKeepsItsWindow(t *testing.T) {
	a := newController(limits.InFlight{Entries: 8000, Floor: 500}, 500).(*aimd)
	for range 1000 {
		a.observe(answer{entries: 500, epoch: epochOf(a)})
	}
	require.EqualValues(t, 500, a.window())
}

func TestStaticWindowStaysOpen(t *testing.T) {
	s := newController(limits.InFlight{Entries: 800, Floor: 1, Controller: limits.Static}, 50)
	for range 100 {
		s.observe(answer{entries: 50, throttled: 50, refused: true})
	}
	require.EqualValues(t, 800, s.window())
}

func TestATunedControllerKeepsWhatItLearnt(t *testing.T) {
	l := newLink(500, 100_000, 10_000)
	l.run(500)
	window := l.control.window()
	require.InEpsilon(t, 10_000, window, 0.3)
	bounds := func(floor, ceiling int, k limits.Controller) limits.InFlight {
		return limits.InFlight{Floor: limits.Entries(floor), Entries: limits.Entries(ceiling), Controller: k}
	}

	l.control = tuned(l.control, bounds(500, 100_000, limits.AIMD), 500)
	require.Equal(t, window, l.control.window(), "the same bounds")
	l.control = tuned(l.control, bounds(100, 5000, limits.AIMD), 100)
	require.EqualValues(t, 5000, l.control.window(), "a lower ceiling")
	l.control = tuned(l.control, bounds(6000, 100_000, limits.AIMD), 100)
	require.EqualValues(t, 6000, l.control.window(), "a higher floor")
	l.control = tuned(l.control, bounds(500, 100_000, limits.AIMD), 500)
	l.run(500)
	require.InEpsilon(t, 10_000, l.control.window(), 0.3, "it still finds the capacity")

	l.control = tuned(l.control, bounds(1, 300, limits.Static), 100)
	require.Equal(t, static(300), l.control)
	l.control = tuned(l.control, bounds(1, 400, limits.Static), 100)
	require.Equal(t, static(400), l.control)
	l.control = tuned(l.control, bounds(50, 400, limits.AIMD), 100)
	require.EqualValues(t, 50, l.control.window(), "nothing is known yet")
}

// A lost connection now and then says nothing about load; failures in a row do.
func TestSingleFailuresDoNotMoveTheWindow(t *testing.T) {
	a := newController(limits.InFlight{Entries: 8000, Floor: 100}, 500).(*aimd)
	a.decide(8000)
	for range 1000 {
		a.observe(answer{entries: 500, failed: true, epoch: epochOf(a)})
		a.observe(answer{entries: 500, failed: true, epoch: epochOf(a)})
		a.observe(answer{entries: 500, epoch: epochOf(a)})
	}
	require.EqualValues(t, 8000, a.window())
	for range 3 {
		a.observe(answer{entries: 500, failed: true, epoch: epochOf(a)})
	}
	require.EqualValues(t, 5600, a.window(), "an outage")
}
