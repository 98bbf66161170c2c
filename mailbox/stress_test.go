package mailbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// ledger counts what became of mails. Its plain fields are touched inside only: the race detector proves the
// exclusion, and the sum that nothing was lost.
type ledger struct {
	accepted, refused, cancelled, panicked atomic.Int64

	ran      int64
	inside   bool
	lastOf   map[int]int // by producer
	unsorted bool
}

func (l *ledger) mail(producer, number int) func() {
	return func() {
		if l.inside {
			panic("two mails at a time")
		}
		l.inside = true
		l.ran++
		l.unsorted = l.unsorted || number <= l.lastOf[producer]
		l.lastOf[producer] = number
		l.inside = false
	}
}

// produce hands in mails of every sort until the executor refuses one.
func (l *ledger) produce(producer int, ex Executor, timers *Timers) {
	rng := rand.New(rand.NewPCG(1, uint64(producer)))
	for number := 1; ; number++ {
		var err error
		mail := l.mail(producer, number)
		switch rng.IntN(8) {
		case 0:
			var timer *Timer
			if timer, err = timers.After(0, "timer", mail); err == nil && rng.IntN(2) == 0 && timer.Cancel() {
				l.cancelled.Add(1)
			}
		case 1:
			f := Submit(ex, "submitted", func() (int, error) { mail(); return number, nil })
			var v int
			if v, err = f.Wait(context.Background()); err == nil && v != number {
				panic("another's result")
			}
		case 2:
			err = ex.Execute("panics", func() { mail(); panic("oh") })
			if err == nil {
				l.panicked.Add(1)
			}
		default:
			err = ex.Execute("executed", mail)
		}
		if err != nil {
			l.refused.Add(1)
			return
		}
		l.accepted.Add(1)
	}
}

func (l *ledger) check(t *testing.T, left Left, toldPanics int64) {
	require.Empty(t, left.Mails)
	require.Equal(t, l.accepted.Load()-l.cancelled.Load(), l.ran)
	require.Equal(t, l.panicked.Load(), toldPanics)
	require.False(t, l.unsorted, "the mails of one producer ran out of order")
	require.NotZero(t, l.ran)
}

const producers = 4

func TestNothingIsLostOrRunTwiceOnALoopUnderLoad(t *testing.T) { synctest.Test(t, loopUnderLoad) }

func loopUnderLoad(t *testing.T) {
	var loop Loop
	l := ledger{lastOf: map[int]int{}}
	timers := NewTimers(&loop, nil)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() { l.produce(p, &loop, timers) })
	}
	told := int64(0)
	for {
		err := loop.Run(t.Context())
		if err == nil {
			break
		}
		told++
		if l.ran > 20_000 {
			loop.Quiesce()
		}
	}
	wg.Wait()
	left, err := loop.Close(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, producers, l.refused.Load())
	l.check(t, left, told)
}

func TestNothingIsLostOrRunTwiceOnALockedUnderLoad(t *testing.T) { synctest.Test(t, lockedUnderLoad) }

func lockedUnderLoad(t *testing.T) {
	var x Locked
	l := ledger{lastOf: map[int]int{}}
	timers := NewTimers(&x, nil)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() { l.produce(p, &x, timers) })
	}
	var told atomic.Int64
	for range 4 { // writers that enter, and yield
		wg.Go(func() {
			for {
				err := x.Enter("write")
				for err == nil {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					before := l.ran
					err = x.Yield(ctx)
					cancel()
					if l.ran == before && err == nil {
						panic("yielded for nothing")
					}
					if l.ran > 20_000 {
						x.Quiesce()
					}
					x.Leave()
					if err == nil || errors.Is(err, context.DeadlineExceeded) {
						err = x.Enter("write")
					}
				}
				told.Add(panicsIn(err))
				if err == ErrClosed {
					return
				}
			}
		})
	}
	wg.Wait()
	left, err := x.Close(t.Context())
	told.Add(panicsIn(err))
	require.EqualValues(t, producers, l.refused.Load())
	require.NoError(t, x.Enter("read"))
	defer x.Leave()
	l.check(t, left, told.Load())
	require.Zero(t, x.turn.head)
	require.Empty(t, x.parked)
}

// panicsIn counts the panics that err tells of, with those only counted.
func panicsIn(err error) (n int64) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			n += panicsIn(e)
		}
		return n
	}
	if _, ok := err.(*PanicError); ok {
		return 1
	}
	if more, ok := err.(*morePanics); ok {
		return int64(more.count)
	}
	return 0
}
