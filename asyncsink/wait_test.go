package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// blocked writes an entry on a goroutine of its own, which is parked when
// blocked returns. The result comes on the channel.
func (r *rig) blocked(ctx context.Context, e string) <-chan error {
	r.t.Helper()
	result := make(chan error, 1)
	go func() {
		_, err := r.Write(ctx, e)
		result <- err
	}()
	synctest.Wait()
	require.Empty(r.t, result, "the write of %s waits", e)
	return result
}

// full is a writer of which a cap of n is reached, and its destination's gate.
func (r *rig) full(n int) gate {
	open := make(gate)
	r.to.answers(open.answer)
	c := single()
	c.Held.Entries = limits.Entries(n)
	c.InFlight.Timeout = time.Hour
	c.Settlement = true
	r.open(c)
	for i := range n {
		r.write(fmt.Sprint("held ", i))
	}
	return open
}

func TestABlockedWriteHoldsNoLock(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := r.full(1)
		waits := r.blocked(t.Context(), "waits")

		_, err := r.TryWrite("other")
		require.ErrorIs(t, err, ErrFull)
		require.Equal(t, []string{"held 0"}, names(t, r.snap()))
		require.EqualValues(t, 1, r.Stats().Accepted.Entries)
		require.Empty(t, r.AppendSettled(nil))
		left, err := r.Flush(r.within(time.Second))
		require.Equal(t, 1, left)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, waits)

		close(open)
		require.NoError(t, <-waits)
		r.drain()
	})
}

func TestBlockedWritesAreServedInTheirOrder(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := r.full(1)
		var want []string
		var results []<-chan error
		for i := range 20 {
			e := fmt.Sprint("waits ", i)
			want = append(want, e)
			results = append(results, r.blocked(t.Context(), e))
		}
		for i, result := range results {
			open <- struct{}{}
			synctest.Wait()
			require.NoError(t, <-result, "write %d", i)
			for _, later := range results[i+1:] {
				require.Empty(t, later)
			}
		}
		close(open)
		r.drain()
		require.Equal(t, want, r.to.got()[1:])
	})
}

func TestTryWriteDoesNotOvertakeABlockedWrite(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Batch.EntryBytes, c.Held.Bytes, c.InFlight.Requests = 10, 10, 1
		r.open(c)
		r.write("12345678")
		big := r.blocked(t.Context(), "123456")
		_, err := r.TryWrite("1") // there is room for it
		require.ErrorIs(t, err, ErrFull)
		small := r.blocked(t.Context(), "1")

		close(open)
		require.NoError(t, <-big)
		require.NoError(t, <-small)
		r.drain()
		require.Equal(t, []string{"12345678", "123456", "1"}, r.to.got())
	})
}

func TestAWriteThatGivesUpPassesItsTurnOn(t *testing.T) {
	for name, which := range map[string]int{"the first": 0, "one in the middle": 1, "the last": 2} {
		t.Run(name, func(t *testing.T) {
			locked(t, func(t *testing.T, r *rig) {
				open := r.full(1)
				ctx, cancel := context.WithCancel(t.Context())
				var results []<-chan error
				for i := range 3 {
					if i == which {
						results = append(results, r.blocked(ctx, "gives up"))
					} else {
						results = append(results, r.blocked(t.Context(), fmt.Sprint(i)))
					}
				}
				cancel()
				require.ErrorIs(t, <-results[which], context.Canceled)
				close(open)
				for i, result := range results {
					if i != which {
						require.NoError(t, <-result)
					}
				}
				r.drain()
				require.Len(t, r.to.got(), 3)
			})
		})
	}
}

// The first of those that wait is woken by an answer and gives up before it
// has looked: the room that it was woken for must not get lost.
func TestRoomFoundByAWriteThatGivesUpGoesToTheNext(t *testing.T) {
	for range 50 { // either of the two may win
		locked(t, func(t *testing.T, r *rig) {
			open := r.full(1)
			ctx, cancel := context.WithCancel(t.Context())
			first, second := r.blocked(ctx, "first"), r.blocked(t.Context(), "second")
			go cancel()
			close(open)
			if err := <-first; err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
			require.NoError(t, <-second)
			r.drain()
		})
	}
}

func TestNoWakeUpIsLostByManyWritersAtATinyCap(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		const writers, each = 40, 50
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
			if rand.IntN(10) == 0 {
				return errors.New("again")
			}
			return nil
		})
		c := single()
		c.Held.Entries, c.Retry.Base, c.Retry.Cap = 2, time.Millisecond, time.Millisecond
		r.open(c)
		var wrote sync.WaitGroup
		var accepted atomic.Int64
		for range writers {
			wrote.Go(func() {
				for i := range each {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if i%3 == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
					}
					if _, err := r.Write(ctx, "e"); err == nil {
						accepted.Add(1)
					} else if i%3 != 0 || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("write: %v", err)
					}
					cancel()
				}
			})
		}
		wrote.Wait() // a lost wake-up would leave all goroutines asleep: the bubble reports it
		r.drain()
		s := r.Stats()
		require.Equal(t, accepted.Load(), s.Accepted.Entries)
		require.Equal(t, accepted.Load(), s.Delivered.Entries)
		require.Zero(t, r.waiting.n)
	})
}

func TestBlockedTimeIsThatOfAllCallers(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := r.full(1)
		a, b := r.blocked(t.Context(), "a"), r.blocked(t.Context(), "b")
		time.Sleep(time.Second)
		open <- struct{}{}
		require.NoError(t, <-a)
		time.Sleep(time.Second)
		close(open)
		require.NoError(t, <-b)
		r.drain()
		require.Equal(t, 3*time.Second, r.Stats().Blocked)
	})
}

func TestEveryBlockedWriteReturnsWhenTheWriterEndsOrStops(t *testing.T) {
	gone := errors.New("no such stream")
	for name, c := range map[string]struct {
		end  func(r *rig, open gate)
		want error
	}{
		"end of input": {func(r *rig, _ gate) { require.NoError(r.t, r.EndOfInput()) }, ErrClosed},
		"close":        {func(r *rig, _ gate) { _, _ = r.Close(r.within(time.Second)) }, ErrClosed},
		"stop": {func(r *rig, open gate) {
			r.to.answers(nil)
			r.stopLater(gone)
		}, gone},
	} {
		t.Run(name, func(t *testing.T) {
			locked(t, func(t *testing.T, r *rig) {
				open := r.full(1)
				var results []<-chan error
				for range 5 {
					results = append(results, r.blocked(t.Context(), "waits"))
				}
				c.end(r, open)
				for _, result := range results {
					require.ErrorIs(t, <-result, c.want)
				}
				_, err := r.TryWrite("later")
				require.ErrorIs(t, err, c.want)
				require.EqualValues(t, 1, r.Stats().Accepted.Entries)
			})
		})
	}
}

func TestAWriteThatWaitsOnALoopReturnsWhenTheWriterStops(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		gone := errors.New("no such stream")
		r.to.answers(func(context.Context, *Batch[string]) error {
			time.Sleep(time.Second)
			return Outcome{Kind: Fatal, Err: gone}
		})
		c := single()
		c.Held.Entries = 1
		r.open(c)
		r.write("a")
		_, err := r.Write(t.Context(), "b")
		var stopped *StoppedError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, "writer", stopped.Writer)
		require.ErrorIs(t, err, gone)
	})
}

// A stopped writer says so at once, also while blocked writes have not left yet.
func TestTryWriteTellsOfTheStopWhileOthersStillWait(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := r.full(1)
		waits := r.blocked(t.Context(), "waits")
		gone := errors.New("gone")
		require.NoError(t, r.enter("test"))
		r.stop(gone) // those that wait can't leave before the lock is free
		r.leave()
		_, err := r.TryWrite("other")
		require.ErrorIs(t, err, gone)
		require.ErrorIs(t, <-waits, gone)
		close(open)
	})
}

func TestTheQueueOfBlockedWritesKeepsItsOrderWhateverIsRemoved(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q waiters
		var want []*waiter
		for range 30 {
			if len(want) > 0 && random.IntN(2) == 0 {
				i := random.IntN(len(want))
				q.remove(want[i])
				q.remove(want[i]) // not there any more
				want = slices.Delete(want, i, i+1)
			} else {
				w := &waiter{wake: make(chan struct{}, 1)}
				q.push(w)
				want = append(want, w)
			}
			var got []*waiter
			for w := q.first; w != nil; w = w.next {
				got = append(got, w)
			}
			require.Equal(t, len(want), q.n)
			require.Len(t, got, len(want))
			for i := range got {
				require.Same(t, want[i], got[i])
			}
			if len(want) == 0 {
				require.Nil(t, q.last)
			} else {
				require.Same(t, want[len(want)-1], q.last)
			}
			q.wakeFirst()
			q.wakeFirst() // does not wait when nobody has looked yet
		}
	}
}
