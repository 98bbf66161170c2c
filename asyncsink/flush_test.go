package asyncsink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestFlushSendsWhatIsHeldAndWaitsForIt(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			time.Sleep(time.Second)
			if b.Attempt(0) == 1 {
				b.Set(0, Outcome{Kind: Retry, After: 3 * time.Second})
			}
			return nil
		})
		r.open(Config{Batch: limits.Batch{Age: time.Hour}})
		r.write("a", "b")
		start := time.Now()
		left, err := r.Flush(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		require.Equal(t, 5*time.Second, time.Since(start))
		require.Equal(t, []string{"b", "a"}, r.to.got())
		r.write("c") // it goes on
		r.drain()
	})
}

func TestFlushOfNothingReturnsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{})
		left, err := r.Flush(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

func TestFlushReturnsWhatIsLeftWhenItsContextEndsAndLosesNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		r.open(single())
		r.write("a", "b")
		open <- struct{}{}
		left, err := r.Flush(r.within(time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, left)
		close(open)
		r.drain()
		require.Len(t, r.to.got(), 2)
	})
}

func TestFlushDoesNotWaitForWhatIsWrittenMeanwhile(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			if b.At(0) == "later" {
				return hang(ctx, b)
			}
			time.Sleep(time.Second)
			return nil
		})
		r.open(single())
		r.write("a")
		flushed := make(chan error, 1)
		go func() {
			_, err := r.Flush(t.Context())
			flushed <- err
		}()
		synctest.Wait()
		r.write("later")
		start := time.Now()
		require.NoError(t, <-flushed)
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestManyFlushesAreAllAnswered(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Second); return nil })
		c := single()
		c.InFlight.Requests = 1
		r.open(c)
		flushed := make(chan error)
		for _, e := range entries(20, 20) {
			r.write(e)
			go func() {
				_, err := r.Flush(t.Context())
				flushed <- err
			}()
		}
		for range 20 {
			require.NoError(t, <-flushed)
		}
	})
}

func TestFlushOfAWriterThatStopsReturnsItsErrorAndWhatIsHeld(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		gone := errors.New("gone")
		r.to.answers(func(context.Context, *Batch[string]) error {
			time.Sleep(time.Second)
			return Outcome{Kind: Fatal, Err: gone}
		})
		r.open(single())
		r.write("a", "b")
		left, err := r.Flush(t.Context())
		var stopped *StoppedError
		require.ErrorAs(t, err, &stopped)
		require.ErrorIs(t, err, gone)
		require.Equal(t, 2, left)
	})
}

func TestFlushOfAClosedWriterDoesNotWait(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(single())
		r.write("a")
		left, _ := r.Close(r.within(time.Second))
		defer left.Close()
		n, err := r.Flush(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, 1, n)
	})
}

func TestAFlushThatWaitsReturnsWhenTheWriterIsClosed(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(single())
		r.write("a")
		flushed := make(chan error, 1)
		go func() {
			_, err := r.Flush(t.Context())
			flushed <- err
		}()
		synctest.Wait()
		left, _ := r.Close(r.within(time.Second))
		left.Close()
		require.ErrorIs(t, <-flushed, ErrClosed)
	})
}

func TestFlushSendsAllThatIsTakenBackFromAnEarlierLife(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(25, 25)...)
		c := Config{Restore: from(state)}
		c.Held.Entries, c.Batch.Age = 10, time.Hour // so that neither a full batch nor age sends it
		r.open(c)
		start := time.Now()
		left, err := r.Flush(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
		require.Zero(t, time.Since(start))
		require.Equal(t, entries(25, 25), r.to.got())
	})
}

// The context ends as the last answer comes: what has settled was flushed.
func TestFlushIsCleanWhenItsContextEndsWithTheLastAnswer(t *testing.T) {
	for range 30 { // either of the two may be seen first
		locked(t, func(t *testing.T, r *rig) {
			open := make(gate)
			r.to.answers(open.answer)
			r.open(single())
			r.write("a")
			ctx, cancel := context.WithCancel(t.Context())
			flushed := make(chan error, 1)
			go func() {
				_, err := r.Flush(ctx)
				flushed <- err
			}()
			synctest.Wait()
			require.NoError(t, r.enter("test"))
			close(open)
			synctest.Wait() // the answer waits for the lock
			cancel()
			r.leave()
			require.NoError(t, <-flushed)
		})
	}
}

func TestAFlushThatHasEndedHurriesNothingAnyMore(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(25, 25)...)
		open := make(gate)
		r.to.answers(open.answer)
		c := Config{Restore: from(state)}
		c.Held.Entries, c.Batch.Age = 10, time.Hour
		r.open(c)
		left, err := r.Flush(r.within(time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 25, left)
		time.Sleep(time.Second)
		close(open)
		r.pass(time.Minute)
		require.Len(t, r.to.got(), 10)
	})
}
