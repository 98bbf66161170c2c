package mailbox

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// manual proves a promise of timers on either executor with a clock that the test owns.
func manual(t *testing.T, prove func(t *testing.T, ex executor, timers *Timers, clock *ManualClock)) {
	both(t, func(t *testing.T, ex executor) {
		clock := NewManualClock(noon)
		timers := NewTimers(ex, clock)
		prove(t, ex, timers, clock)
		_, err := ex.Close(t.Context())
		require.NoError(t, err)
		_, set := clock.Next()
		require.False(t, set, "an alarm was left on the clock")
	})
}

func TestATimerRunsOnceAsAMailWhenItsTimeHasCome(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var j journal
		_, err := timers.At(noon.Add(time.Minute), "flush", func() { j.add(ex.Running()) })
		require.NoError(t, err)
		require.Equal(t, []string{"flush"}, timers.Pending())
		clock.Advance(time.Minute - 1)
		settle(t, ex)
		require.Empty(t, j.read(), "never early")
		inside(t, ex, func() {
			clock.Advance(1)
			require.Empty(t, timers.Pending())
			require.Equal(t, []string{"flush"}, ex.Pending())
			require.Empty(t, j.read(), "a mail like others: it waits until whoever is inside lets it")
		})
		settle(t, ex)
		require.Len(t, j.read(), 1)
		require.Contains(t, j.read()[0], "flush")
		clock.Advance(time.Hour)
		settle(t, ex)
		require.Len(t, j.read(), 1, "one shot")
	})
}

func TestTimersRunInOrderOfTimeAndThenOfRegistration(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var j journal
		for _, r := range []struct {
			name  string
			after time.Duration
		}{{"5", 5}, {"3a", 3}, {"9", 9}, {"3b", 3}, {"1", 1}, {"3c", 3}, {"7", 7}} {
			_, err := timers.After(r.after*time.Second, r.name, j.mail(r.name))
			require.NoError(t, err)
		}
		want := []string{"1", "3a", "3b", "3c", "5", "7", "9"}
		require.Equal(t, want, timers.Pending())
		clock.Set(noon.Add(time.Hour))
		settle(t, ex)
		require.Equal(t, want, j.read())
	})
}

func TestATimerWhoseTimeHasPassedIsHandedInAtOnceBehindThoseThatWereDueBefore(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var j journal
		_, err := timers.After(time.Minute, "first", j.mail("first"))
		require.NoError(t, err)
		clock.mu.Lock()
		clock.now = noon.Add(time.Hour) // the alarm is due and has not been called
		clock.mu.Unlock()
		_, err = timers.At(noon.Add(2*time.Minute), "second", j.mail("second"))
		require.NoError(t, err)
		_, err = timers.At(time.Time{}, "third", j.mail("third"))
		require.NoError(t, err)
		settle(t, ex)
		require.Equal(t, []string{"first", "second", "third"}, j.read())
	})
}

func TestATimersFunctionMaySetTheNext(t *testing.T) {
	clock := NewManualClock(noon)
	var x Locked
	timers := NewTimers(&x, clock)
	var at []time.Duration
	var tick func()
	tick = func() {
		at = append(at, timers.Now().Sub(noon))
		_, err := timers.After(time.Second, "tick", tick)
		require.NoError(t, err)
	}
	require.NoError(t, x.Execute("start", tick))
	clock.Advance(3500 * time.Millisecond)
	require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, at)
	left, err := x.Close(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"tick"}, left.Timers)
}

func TestACancelledTimerNeverRuns(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		timer, err := timers.After(time.Minute, "flush", func() { t.Error("ran") })
		require.NoError(t, err)
		require.True(t, timer.Cancel())
		require.True(t, timer.Cancel(), "still never")
		require.Empty(t, timers.Pending())
		_, set := clock.Next()
		require.False(t, set)
		clock.Advance(time.Hour)
		settle(t, ex)
		require.True(t, (*Timer)(nil).Cancel())
	})
}

func TestATimerCanBeCancelledWhileItsMailWaits(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("a", j.mail("a")))
			timer, err := timers.After(time.Minute, "flush", func() { t.Error("ran") })
			require.NoError(t, err)
			clock.Advance(time.Minute)
			require.NoError(t, ex.Execute("b", j.mail("b")))
			require.Equal(t, []string{"a", "flush", "b"}, ex.Pending())
			require.True(t, timer.Cancel())
			require.Equal(t, []string{"a", "b"}, ex.Pending())
			require.True(t, timer.Cancel())
		})
		settle(t, ex)
		require.Equal(t, []string{"a", "b"}, j.read())
	})
}

func TestATimerThatRunsOrHasRunCannotBeCancelled(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var timer *Timer
		cancelled := true
		timer, err := timers.After(time.Minute, "flush", func() { cancelled = timer.Cancel() })
		require.NoError(t, err)
		clock.Advance(time.Minute)
		settle(t, ex)
		require.False(t, cancelled)
		require.False(t, timer.Cancel())
	})
}

func TestATimerOfADroppedMailCountsAsCancelled(t *testing.T) {
	var l Loop
	timer, err := NewTimers(&l, nil).After(0, "flush", func() { t.Error("ran") })
	require.NoError(t, err)
	left, err := l.Close(endedContext())
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"flush"}, left.Mails)
	require.True(t, timer.Cancel())
}

func TestTheAlarmIsSetForTheFirstTimerThatWaits(t *testing.T) {
	manual(t, func(t *testing.T, _ executor, timers *Timers, clock *ManualClock) {
		after := func(d time.Duration) *Timer {
			timer, err := timers.After(d, "t", func() {})
			require.NoError(t, err)
			return timer
		}
		next := func(d time.Duration) {
			t.Helper()
			at, set := clock.Next()
			require.True(t, set)
			require.Equal(t, d, at.Sub(noon))
		}
		after(3 * time.Second)
		next(3 * time.Second)
		middle := after(2 * time.Second)
		next(2 * time.Second)
		first := after(time.Second)
		next(time.Second)
		middle.Cancel()
		next(time.Second)
		first.Cancel()
		next(3 * time.Second)
		after(4 * time.Second)
		clock.Advance(3 * time.Second)
		next(4 * time.Second)
	})
}

func TestTimersCanBeClosedWhileTheirExecutorLivesOn(t *testing.T) {
	manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
		var j journal
		_, err := timers.After(time.Minute, "late", j.mail("late"))
		require.NoError(t, err)
		inside(t, ex, func() {
			_, err = timers.After(0, "due", j.mail("due"))
			require.NoError(t, err)
			require.Equal(t, []string{"late"}, timers.Close())
			require.Empty(t, timers.Close())
			require.Empty(t, ex.base().timers, "the executor does not keep it")
		})
		clock.Advance(time.Hour)
		settle(t, ex)
		require.Equal(t, []string{"due"}, j.read())
		_, err = timers.After(0, "too late", func() {})
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestTheMachinesClockFiresTimersOnTimeAndInOrder(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		timers := NewTimers(ex, nil)
		start := time.Now()
		var at []time.Duration
		inside(t, ex, func() {
			for _, d := range []time.Duration{3, 1, 2, 1} {
				_, err := timers.After(d*time.Hour, "t", func() { at = append(at, timers.Now().Sub(start)) })
				require.NoError(t, err)
			}
			for len(at) < 4 {
				require.NoError(t, ex.Yield(t.Context()))
			}
		})
		require.Equal(t, []time.Duration{time.Hour, time.Hour, 2 * time.Hour, 3 * time.Hour}, at)
	})
}

func TestCancelledAndClosedTimersLeaveNothingBehind(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		timers := NewTimers(ex, nil)
		for range 1000 {
			timer, err := timers.After(time.Hour, "t", func() {})
			require.NoError(t, err)
			require.True(t, timer.Cancel())
		}
		for range 1000 {
			_, err := timers.After(time.Hour, "t", func() {})
			require.NoError(t, err)
		}
		require.Less(t, runtime.NumGoroutine(), 100, "no goroutine is kept for a timer")
		left, err := ex.Close(t.Context())
		require.NoError(t, err)
		require.Len(t, left.Timers, 1000)
		require.False(t, timers.alarm.Stop(), "the clock's timer was still set")
	})
}

func TestATimerThatIsOverLetsGoOfItsFunction(t *testing.T) {
	for name, end := range map[string]func(ex executor, timer *Timer, clock *ManualClock){
		"cancelled": func(_ executor, timer *Timer, _ *ManualClock) { timer.Cancel() },
		"run":       func(_ executor, _ *Timer, clock *ManualClock) { clock.Advance(time.Hour) },
		"closed":    func(ex executor, _ *Timer, _ *ManualClock) { ex.Quiesce() },
	} {
		t.Run(name, func(t *testing.T) {
			manual(t, func(t *testing.T, ex executor, timers *Timers, clock *ManualClock) {
				timer, held := timerThatHoldsMemory(timers)
				require.NotNil(t, held.Value())
				end(ex, timer, clock)
				_, _ = ex.Close(t.Context())
				runtime.GC()
				require.Nil(t, held.Value())
				runtime.KeepAlive(timer)
			})
		})
	}
}

func TestACancelledTimerIsNotKept(t *testing.T) {
	timers := NewTimers(new(Locked), NewManualClock(noon))
	stays, err := timers.After(time.Minute, "stays", func() {})
	require.NoError(t, err)
	goes := cancelledTimer(t, timers)
	runtime.GC()
	require.Nil(t, goes.Value())
	runtime.KeepAlive(timers)
	require.True(t, stays.Cancel())
}

func cancelledTimer(t *testing.T, timers *Timers) weak.Pointer[Timer] {
	timer, err := timers.After(time.Hour, "goes", func() {})
	require.NoError(t, err)
	require.True(t, timer.Cancel())
	return weak.Make(timer)
}

func timerThatHoldsMemory(timers *Timers) (*Timer, weak.Pointer[[1 << 16]byte]) {
	memory := new([1 << 16]byte)
	timer, _ := timers.After(time.Minute, "t", func() { memory[0]++ })
	return timer, weak.Make(memory)
}

func TestManyTimersOfManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const goroutines, each = 8, 50
		var x Locked
		timers := NewTimers(&x, nil)
		ran, cancelled := 0, make(chan int, goroutines)
		for g := range goroutines {
			go func() {
				n := 0
				for i := range each {
					timer, err := timers.After(time.Duration(i%7)*time.Millisecond, "t", func() { ran++ })
					if err == nil && i%3 == g%3 && timer.Cancel() {
						n++
					}
					time.Sleep(time.Millisecond)
				}
				cancelled <- n
			}()
		}
		n := 0
		for range goroutines {
			n += <-cancelled
		}
		time.Sleep(time.Second)
		require.NotZero(t, n)
		inside(t, &x, func() { require.Equal(t, goroutines*each-n, ran) })
	})
}
