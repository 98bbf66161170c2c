package mailbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAClosedExecutorRefusesMailsByName(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		left, err := ex.Close(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		err = ex.Execute("late", func() { t.Error("ran") })
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, &ClosedError{Mail: "late"}, err)
		require.EqualError(t, err, `mailbox: mail "late" will never run: closed`)
		inside(t, ex, func() { // what was left can be read
			require.Equal(t, ErrClosed, ex.Yield(t.Context()))
			ran, err := ex.TryYield()
			require.False(t, ran)
			require.Equal(t, ErrClosed, err)
		})
	})
}

func TestMailsThatWaitWhenQuiescedStillRun(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			for _, name := range []string{"a", "b", "c"} {
				require.NoError(t, ex.Execute(name, j.mail(name)))
			}
			ex.Quiesce()
			ex.Quiesce()
			require.ErrorIs(t, ex.Execute("d", j.mail("d")), ErrClosed)
			require.NoError(t, ex.Yield(t.Context()))
			ran, err := ex.TryYield()
			require.NoError(t, err)
			require.True(t, ran)
		})
		left, err := ex.Close(t.Context())
		require.NoError(t, err)
		require.Empty(t, left.Mails)
		require.Equal(t, []string{"a", "b", "c"}, j.read())
	})
}

func TestCloseRunsWhatWaitsAndReportsEachPanic(t *testing.T) {
	var l Loop
	var j journal
	require.NoError(t, l.Execute("bad", explode))
	require.NoError(t, l.Execute("good", j.mail("good")))
	require.NoError(t, l.Execute("worse", explode))
	f := Submit(&l, "seven", seven)
	left, err := l.Close(t.Context())
	require.EqualError(t, err, "mailbox: mail \"bad\" panicked: oh\nmailbox: mail \"worse\" panicked: oh")
	require.Zero(t, left)
	require.Equal(t, []string{"good"}, j.read())
	v, err := f.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

// stuck has a turn that holds the executor and waits for the returned function, with mails "a" and "seven" behind it.
func stuck(t *testing.T, ex executor) (f *Future[int], end func()) {
	hold := make(chan struct{})
	spawn(ex, "stuck", func() { <-hold })
	synctest.Wait()
	require.NoError(t, ex.Execute("a", func() { t.Error("ran") }))
	return Submit(ex, "seven", seven), func() { close(hold) }
}

func TestMailsDroppedByCloseAreNamedAndTheirFuturesResolved(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		f, end := stuck(t, ex)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("shutdown deadline"))
		defer cancel()
		left, err := ex.Close(ctx)
		require.Equal(t, Left{Mails: []string{"a", "seven"}}, left)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "mailbox: close: mails that never ran, 2: a, seven: context deadline exceeded: shutdown deadline")
		_, err = f.Wait(t.Context())
		require.Equal(t, &ClosedError{Mail: "seven"}, err)
		require.Empty(t, ex.Pending())
		again, err := ex.Close(endedContext())
		require.Equal(t, left, again)
		require.NotContains(t, errorText(err), "never ran", "told once")
		end()
		synctest.Wait()
		_, err = ex.Close(t.Context())
		require.NoError(t, err)
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCloseOfALockedWaitsForWhatRunsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		_, end := stuck(t, &x)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := x.Close(ctx)
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorContains(t, err, "mailbox: close: has not ended, 1: stuck: context deadline exceeded")
		end()
	})
}

func TestCloseOfALockedWaitsForTurnsThatYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		go func() {
			_ = x.Execute("yields", func() {
				err := x.Yield(context.Background())
				j.add(err.Error())
				time.Sleep(time.Minute)
				j.add("ends")
			})
		}()
		synctest.Wait()
		left, err := x.Close(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		require.Equal(t, []string{"mailbox: closed", "ends"}, j.read())
		require.Equal(t, "locked: idle; closed", x.String())
	})
}

func TestCloseNamesATurnThatYieldsForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		hold := make(chan struct{})
		spawn(&x, "yields", func() { _ = x.Yield(context.Background()) })
		synctest.Wait()
		spawn(&x, "holds", func() { <-hold }) // so that the other cannot go on
		synctest.Wait()
		_, err := x.Close(endedContext())
		require.ErrorContains(t, err, "has not ended, 2: holds, yields")
		close(hold)
	})
}

func TestClosingConcurrentlyIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		timers := NewTimers(&x, nil)
		_, err := timers.After(time.Hour, "flush", func() {})
		require.NoError(t, err)
		hold, left := make(chan struct{}), make(chan Left, 3)
		spawn(&x, "busy", func() { <-hold })
		synctest.Wait()
		for range cap(left) {
			go func() {
				l, _ := x.Close(context.Background())
				left <- l
			}()
		}
		synctest.Wait()
		require.Empty(t, left)
		close(hold)
		for range cap(left) {
			require.Equal(t, Left{Timers: []string{"flush"}}, <-left)
		}
	})
}

// slowClock has alarms that take until hold is closed to stop.
type slowClock struct {
	SystemClock
	hold chan struct{}
}

type slowAlarm struct {
	Alarm
	hold chan struct{}
}

func (c slowClock) AfterFunc(d time.Duration, f func()) Alarm {
	return slowAlarm{c.SystemClock.AfterFunc(d, f), c.hold}
}

func (a slowAlarm) Stop() bool {
	<-a.hold
	return a.Alarm.Stop()
}

func TestASecondCloseWaitsUntilTheFirstHasStoppedTheTimers(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		clock := slowClock{hold: make(chan struct{})}
		_, err := NewTimers(ex, clock).After(time.Hour, "flush", func() {})
		require.NoError(t, err)
		left := make(chan Left, 1)
		go ex.Quiesce()
		synctest.Wait()
		go func() {
			l, _ := ex.Close(endedContext())
			left <- l
		}()
		synctest.Wait()
		require.Len(t, left, 0)
		close(clock.hold)
		require.Equal(t, Left{Timers: []string{"flush"}}, <-left)
	})
}

func TestALoopWhoseOwnerIsGoneCanStillBeClosed(t *testing.T) {
	var l Loop
	f := Submit(&l, "seven", seven)
	left, err := l.Close(endedContext())
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"seven"}, left.Mails)
	_, err = f.Wait(t.Context())
	require.ErrorIs(t, err, ErrClosed)
}

func TestClosingALoopBesideItsOwnerLeavesTheDrainToTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		done := make(chan error)
		go func() { done <- l.Run(context.Background()) }()
		synctest.Wait()
		_, err := l.Close(t.Context())
		if err != nil { // else the owner had woken up already, and there was nothing to drain
			require.ErrorIs(t, err, ErrOutside)
		}
		require.NoError(t, <-done)
		left, err := l.Close(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

func TestClosingStopsTimersAndNamesThem(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		clock := NewManualClock(time.Unix(0, 0))
		timers := NewTimers(ex, clock)
		for name, d := range map[string]time.Duration{"late": time.Hour, "early": time.Minute, "due": 0} {
			_, err := timers.After(d, name, func() {
				_, err := timers.After(time.Second, "from a mail", func() {})
				require.NoError(t, err)
			})
			require.NoError(t, err)
		}
		settle(t, ex)
		left, err := ex.Close(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"from a mail", "early", "late"}, left.Timers)
		_, set := clock.Next()
		require.False(t, set, "no alarm is left on the clock")
		_, err = timers.After(0, "too late", func() {})
		require.Equal(t, &ClosedError{Mail: "too late"}, err)
		_, err = NewTimers(ex, clock).After(0, "too late", func() {})
		require.Equal(t, &ClosedError{Mail: "too late"}, err)
	})
}

// The moment between the refusal of mails and the stop of timers, held still.
func TestATimerThatComesDueWhileTheExecutorClosesIsReported(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		clock := NewManualClock(time.Unix(0, 0))
		timers := NewTimers(ex, clock)
		timer, err := timers.After(time.Minute, "flush", func() { t.Error("ran") })
		require.NoError(t, err)
		setClosed := func(closed bool) {
			box := ex.base()
			box.mu.Lock()
			defer box.mu.Unlock()
			box.closed = closed
		}
		setClosed(true)
		clock.Advance(time.Hour)
		require.Equal(t, []string{"flush"}, timers.Pending())
		_, err = timers.After(0, "refused", func() { t.Error("ran") })
		require.Equal(t, &ClosedError{Mail: "refused"}, err)
		setClosed(false)
		left, err := ex.Close(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"flush"}, left.Timers)
		require.True(t, timer.Cancel())
	})
}
