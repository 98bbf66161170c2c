package mailbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALoopRunsAMailOnlyWhereItsOwnerYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		var j journal
		go func() { _ = l.Execute("a", j.mail("a")) }()
		synctest.Wait()
		require.Empty(t, j.read())
		require.Equal(t, []string{"a"}, l.Pending())
		require.NoError(t, l.Yield(t.Context()))
		require.Equal(t, []string{"a"}, j.read())
	})
}

func TestALoopsOwnerNeedsNoTurnToYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		ran, err := l.TryYield()
		require.False(t, ran)
		require.NoError(t, err)
	})
}

func TestALoopsTurnsNest(t *testing.T) {
	var l Loop
	require.NoError(t, l.Enter("outer"))
	require.NoError(t, l.Enter("inner"))
	require.Equal(t, "outer > inner", l.Running())
	l.Leave()
	require.Equal(t, "outer", l.Running())
	l.Leave()
}

func TestRunReturnsWhenTheLoopIsClosedAndDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		var j journal
		go func() {
			for _, name := range []string{"a", "b", "c"} {
				time.Sleep(time.Second)
				_ = l.Execute(name, j.mail(name))
			}
			_ = l.Execute("last", func() {
				_ = l.Execute("after last", j.mail("after last"))
				l.Quiesce()
			})
		}()
		require.NoError(t, l.Run(t.Context()))
		require.Equal(t, []string{"a", "b", "c", "after last"}, j.read())
	})
}

func TestRunIsWokenByQuiesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		go func() {
			time.Sleep(time.Second)
			l.Quiesce()
		}()
		require.NoError(t, l.Run(t.Context()))
		require.NoError(t, l.Run(t.Context()), "and stays closed")
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Run(ctx), context.DeadlineExceeded)
	})
}

func TestRunStopsAtAPanicAndGoesOnWhenCalledAgain(t *testing.T) {
	var l Loop
	var j journal
	require.NoError(t, l.Execute("bad", func() { panic("oh") }))
	require.NoError(t, l.Execute("good", j.mail("good")))
	l.Quiesce()
	var pe *PanicError
	require.ErrorAs(t, l.Run(t.Context()), &pe)
	require.Equal(t, "bad", pe.Mail)
	require.Empty(t, j.read())
	require.NoError(t, l.Run(t.Context()))
	require.Equal(t, []string{"good"}, j.read())
}

func TestTheLoopRefusesAnotherGoroutineWhileItsOwnerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		done := make(chan error)
		go func() { done <- l.Run(context.Background()) }()
		synctest.Wait()
		require.ErrorIs(t, l.Yield(t.Context()), ErrOutside)
		_, err := l.TryYield()
		require.ErrorIs(t, err, ErrOutside)
		require.ErrorIs(t, l.Enter("write"), ErrOutside)
		require.ErrorIs(t, Do(&l, "write", func() { t.Error("ran outside") }), ErrOutside)
		l.Quiesce()
		require.NoError(t, <-done)
	})
}

func TestAMailThatEndsTheOwnersGoroutineLeavesTheLoopUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Loop
		var j journal
		require.NoError(t, l.Execute("exit", runtimeGoexit))
		require.NoError(t, l.Execute("next", j.mail("next")))
		go func() { _ = l.Run(context.Background()) }()
		synctest.Wait()
		require.Empty(t, l.Running())
		settle(t, &l)
		require.Equal(t, []string{"next"}, j.read())
	})
}
