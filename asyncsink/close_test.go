package asyncsink

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestCloseDrainsWithoutWaitingForFullBatches(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Batch: limits.Batch{Age: time.Hour}})
		r.write("a", "b")
		start := time.Now()
		r.drain()
		require.Zero(t, time.Since(start))
		require.Equal(t, []string{"a", "b"}, r.to.got())
	})
}

func TestCloseReturnsWhatIsLeftAtItsDeadline(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			switch b.At(0) {
			case "a":
				return nil
			case "b":
				return Outcome{Kind: Retry, After: time.Hour}
			}
			return hang(ctx, b)
		})
		c := single()
		c.InFlight.Requests = 3
		r.open(c)
		r.write("a", "b", "c", "d", "e", "f")
		start := time.Now()
		left, err := r.Close(r.within(5 * time.Second))
		require.Equal(t, 5*time.Second, time.Since(start), "attempts were cancelled, and came back")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "writer writer: 5 entries are left")
		require.True(t, left.Final())
		defer left.Close()
		unsure := map[string]bool{}
		for _, h := range held(t, left) {
			unsure[h.Entry] = h.Unsure
		}
		require.Equal(t, map[string]bool{"b": false, "c": true, "d": true, "e": true, "f": false}, unsure)
		require.Len(t, r.to.requests(), 5, "nothing is sent once the attempts were cancelled")

		_, err = r.Close(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		_, err = r.Write(t.Context(), "g")
		require.ErrorIs(t, err, ErrClosed)
		_, err = r.Snapshot()
		require.ErrorIs(t, err, ErrClosed)
	})
}

// What is only buffered was not tried, and its attempts are not used up by a shutdown.
func TestCloseSendsNothingOnceItsDeadlineHasPassed(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.InFlight.Requests, c.Retry.Attempts = 2, 5
		dead := &deadLetters{}
		c.DeadLetters = dead
		r.open(c)
		all := entries(100, 100)
		r.write(all...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		left, err := r.Close(ctx)
		require.ErrorIs(t, err, context.Canceled)
		defer left.Close()
		require.Equal(t, all, names(t, left))
		require.Len(t, r.to.requests(), 2)
		for _, h := range held(t, left)[2:] {
			require.Zero(t, h.Attempts)
			require.False(t, h.Unsure)
			require.Empty(t, h.Class)
		}
		require.Empty(t, dead.times())
	})
}

func TestCloseDoesNotWaitForSubmittersThatIgnoreTheirContext(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		end := make(chan struct{})
		release := sync.OnceFunc(func() { close(end) })
		defer release()
		r.to.answers(func(context.Context, *Batch[string]) error { <-end; return nil })
		r.open(single())
		r.write("a")
		start := time.Now()
		left, err := r.Close(r.within(time.Second))
		require.Equal(t, time.Second+closeGrace, time.Since(start))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got := held(t, left)
		require.Len(t, got, 1)
		require.True(t, got[0].Unsure)

		s := r.Stats()
		require.Zero(t, s.InFlight)
		require.Equal(t, 1, s.Abandoned)
		release() // it is too late, and harms nobody
		r.settle()
		require.Equal(t, []string{"a"}, names(t, left))
		left.Close()
		left.Close()
	})
}

func TestCloseSaysThatASubmitterDidNotReturnAlthoughNothingIsLeft(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		end := make(chan struct{})
		defer close(end)
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Attempt(0) == 1 {
				<-end
			}
			return nil
		})
		c := single()
		c.InFlight.Timeout = time.Second
		r.open(c)
		r.write("a")
		left, err := r.Close(r.within(time.Minute))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "attempts that have not returned: 1")
		require.Nil(t, left)
		require.Equal(t, []string{"a"}, r.to.got())
	})
}

func TestCloseIsCleanWhenTheLastAnswersComeAsItCancels(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(ctx context.Context, _ *Batch[string]) error {
			<-ctx.Done()
			return nil // stored all the same
		})
		r.open(single())
		r.write("a")
		left, err := r.Close(r.within(time.Second))
		require.NoError(t, err)
		require.Nil(t, left)
	})
}

func TestASecondCloseIsToldSoWhileTheFirstStillDrains(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		s := &lifecycle{destination: r.to}
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(20 * time.Second); return nil })
		r.openTo(s, single())
		r.write("a")
		first := make(chan error, 1)
		go func() {
			_, err := r.Close(t.Context())
			first <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err := r.Close(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Zero(t, time.Since(start))
		require.NoError(t, <-first)
		require.Equal(t, 1, s.closed)
	})
}

func TestCloseOfAStoppedWriterWaitsForItsAttemptsAndKeepsTheRest(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		gone := errors.New("gone")
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.At(0) == "a" {
				time.Sleep(time.Second)
				return Outcome{Kind: Fatal, Err: gone}
			}
			time.Sleep(10 * time.Second)
			return nil
		})
		c := single()
		c.InFlight.Requests = 2
		r.open(c)
		r.write("a", "b", "c")
		start := time.Now()
		left, err := r.Close(t.Context())
		require.ErrorIs(t, err, gone)
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Equal(t, []string{"b"}, r.to.got())
		require.Equal(t, []string{"a", "c"}, names(t, left))
		left.Close()
	})
}

func TestCloseIsNotHeldBackByADeadLetterOutputThatHangs(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context) error{
		"and honours its context":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"or fails again and again":  func(ctx context.Context) error { return errors.New("disk full") },
		"or panics again and again": func(ctx context.Context) error { panic("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				dead := r.burying(single())
				dead.answers(answer)
				r.write("bad")
				start := time.Now()
				left, err := r.Close(r.within(250 * time.Millisecond))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Less(t, time.Since(start), 250*time.Millisecond+closeGrace)
				var stopped *StoppedError
				require.NotErrorAs(t, err, &stopped, "it was not the output's last failure")
				got := held(t, left)
				require.Len(t, got, 1)
				require.Equal(t, "rejected", got[0].Class)
				left.Close()
			})
		})
	}
}

func TestTheSubmitterIsClosedLastAndItsErrorIsTold(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		s := &lifecycle{destination: r.to, closeErr: errors.New("socket")}
		r.openTo(s, single())
		r.write("a")
		left, err := r.Close(t.Context())
		require.ErrorIs(t, err, s.closeErr)
		require.Nil(t, left)
		require.Equal(t, 1, s.closed)
		require.Equal(t, 1, s.storedAtClose, "after the last answer")
		_, err = r.Close(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, 1, s.closed)
	})
}

func TestClosingAnIdleWriterLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{})
		r.drain()
	})
}

// lifecycle is a destination that is opened and closed.
type lifecycle struct {
	*destination
	open     func(ctx context.Context, env Env) error
	closeErr error

	closed, storedAtClose int
}

func (l *lifecycle) Open(ctx context.Context, env Env) error {
	if l.open == nil {
		return nil
	}
	return l.open(ctx, env)
}

func (l *lifecycle) Close(context.Context) error {
	l.closed++
	l.storedAtClose = len(l.got())
	return l.closeErr
}

// An attempt that a shutdown cut short is not its entry's last: the next life tries it again.
func TestCloseGivesUpNothingForTheAttemptsThatItCuts(t *testing.T) {
	for name, answer := range map[string]func(ctx context.Context, b *Batch[string]) error{
		"that come back": hang,
		"that do not": func(context.Context, *Batch[string]) error {
			time.Sleep(10 * time.Second)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(answer)
				c := single()
				c.Retry.Attempts, c.Retry.Age = 1, time.Second
				r.open(c)
				r.write("a")
				left, err := r.Close(r.within(2 * time.Second))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				var stopped *StoppedError
				require.NotErrorAs(t, err, &stopped)
				got := held(t, left)
				require.Len(t, got, 1)
				require.Empty(t, got[0].Class)
				require.True(t, got[0].Unsure)
				left.Close()
				time.Sleep(time.Minute)
			})
		})
	}
}
