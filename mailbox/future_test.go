package mailbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func seven() (int, error) { return 7, nil }

func TestAResultAwaitedInsideComesByYielding(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("before", j.mail("before")))
			f := Submit(ex, "seven", seven)
			require.NoError(t, ex.Execute("after", j.mail("after")))
			v, err := f.Yield(t.Context())
			require.NoError(t, err)
			require.Equal(t, 7, v)
			require.Equal(t, []string{"before"}, j.read(), "yields until the result is there and no longer")
			v, err = f.Yield(endedContext())
			require.NoError(t, err, "a result that is there needs no context")
			require.Equal(t, 7, v)
		})
	})
}

func TestAMailMayAwaitAnother(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		inside(t, ex, func() {
			v, err := Submit(ex, "outer", func() (int, error) {
				v, err := Submit(ex, "inner", seven).Yield(t.Context())
				return v + 1, err
			}).Yield(t.Context())
			require.NoError(t, err)
			require.Equal(t, 8, v)
		})
	})
}

func TestAResultMayComeFromAnotherGoroutine(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		got := make(chan int, 1)
		go func() {
			time.Sleep(time.Second)
			v, _ := Submit(ex, "seven", seven).Wait(context.Background())
			got <- v
		}()
		inside(t, ex, func() { require.NoError(t, ex.Yield(t.Context())) })
		require.Equal(t, 7, <-got)
	})
}

func TestAnErrorOfTheFunctionIsTheFuturesError(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		full := errors.New("full")
		inside(t, ex, func() {
			v, err := Submit(ex, "fails", func() (int, error) { return 3, full }).Yield(t.Context())
			require.Equal(t, full, err)
			require.Equal(t, 3, v)
		})
	})
}

func TestAWaitFromOutsideOnlyWaits(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		hold := make(chan struct{})
		spawn(ex, "busy", func() { <-hold })
		synctest.Wait()
		f := Submit(ex, "seven", seven)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `mailbox: no result of mail "seven" yet: `)
		select {
		case <-f.Done():
			t.Fatal("done before it ran")
		default:
		}
		close(hold)
		synctest.Wait()
		settle(t, ex)
		<-f.Done()
		v, err := f.Wait(ctx)
		require.NoError(t, err, "asked again, with a context that has ended: the result is there")
		require.Equal(t, 7, v)
	})
}

func TestAPanicIsToldToTheFutureOnly(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		inside(t, ex, func() {
			v, err := Submit(ex, "bad", func() (int, error) { panic("oh") }).Yield(t.Context())
			var pe *PanicError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, "bad", pe.Mail)
			require.Equal(t, "oh", pe.Value)
			require.Contains(t, string(pe.Stack), "TestAPanicIsToldToTheFutureOnly")
			require.Zero(t, v)
		})
		_, err := ex.Close(t.Context())
		require.NoError(t, err)
	})
}

func TestAResultAwaitedWhileAnotherMailPanicsCanBeAskedForAgain(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("bad", func() { panic("oh") }))
			f := Submit(ex, "seven", seven)
			_, err := f.Yield(t.Context())
			require.EqualError(t, err, `mailbox: no result of mail "seven" yet: mailbox: mail "bad" panicked: oh`)
			v, err := f.Yield(t.Context())
			require.NoError(t, err)
			require.Equal(t, 7, v)
		})
	})
}

func TestASubmissionToAClosedExecutorIsResolvedAtOnce(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		ex.Quiesce()
		f := Submit(ex, "seven", seven)
		<-f.Done()
		_, err := f.Wait(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Equal(t, &ClosedError{Mail: "seven"}, err)
		inside(t, ex, func() {
			_, err := f.Yield(t.Context())
			require.Equal(t, &ClosedError{Mail: "seven"}, err)
		})
	})
}

func TestAFunctionThatEndsItsGoroutineResolvesItsFuture(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		f := make(chan *Future[int], 1)
		spawn(ex, "test", func() {
			f <- Submit(ex, "exit", func() (int, error) {
				runtimeGoexit()
				return 1, nil
			})
			_ = ex.Yield(context.Background())
		})
		synctest.Wait()
		_, err := (<-f).Wait(t.Context())
		require.EqualError(t, err, `mailbox: mail "exit" ended its goroutine (runtime.Goexit)`)
	})
}
