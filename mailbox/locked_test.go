package mailbox

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// runtimeGoexit is a mail that ends its goroutine, as a failed requirement of a test does.
func runtimeGoexit() { runtime.Goexit() }

func TestALockedMailHasRunWhenExecuteReturnsIfNobodyIsInside(t *testing.T) {
	var x Locked
	var j journal
	require.NoError(t, x.Execute("a", func() {
		require.NoError(t, x.Execute("nested", j.mail("nested")))
		j.add("a")
	}))
	require.Equal(t, []string{"a", "nested"}, j.read())
	require.Equal(t, "locked: idle", x.String())
}

func TestWhoeverLeavesTheLockRunsWhatWasHandedInBeforeAnybodyElseEnters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		inside(t, &x, func() {
			spawn(&x, "next", j.mail("next"))
			synctest.Wait()
			require.Equal(t, "locked: running test; entering 1: next", x.String())
			go func() {
				_ = x.Execute("a", func() {
					j.add("a")
					_ = x.Execute("b", j.mail("b"))
				})
			}()
			synctest.Wait()
		})
		require.Equal(t, []string{"a", "b"}, j.read()[:2])
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "next"}, j.read())
	})
}

func TestAYieldThatWaitsLetsOthersEnterButReturnsForAMailOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		spawn(&x, "test", func() {
			j.add("yields")
			_ = x.Yield(context.Background())
			j.add("goes on")
		})
		synctest.Wait()
		require.Equal(t, "locked: idle; yielding 1: test", x.String())
		inside(t, &x, j.mail("entered"))
		synctest.Wait()
		require.Equal(t, []string{"yields", "entered"}, j.read())
		require.NoError(t, x.Execute("mail", j.mail("mail")))
		synctest.Wait()
		require.Equal(t, []string{"yields", "entered", "mail", "goes on"}, j.read())
	})
}

func TestAMailWakesEveryoneWhoYieldsAndTheyGoOnOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		const goroutines = 10
		free, passed := 0, 0
		for range goroutines {
			spawn(&x, "test", func() {
				for free == 0 {
					_ = x.Yield(context.Background())
				}
				free--
				passed++
			})
		}
		synctest.Wait()
		for i := range goroutines {
			require.NoError(t, x.Execute("free one", func() { free++ }))
			synctest.Wait()
			inside(t, &x, func() { require.Equal(t, i+1, passed) })
		}
	})
}

func TestAYieldWhoseContextEndsHasTheLockAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inside(t, &x, func() {
			spawn(&x, "test", func() { time.Sleep(time.Hour) }) // has it when ctx ends
			start := time.Now()
			require.ErrorIs(t, x.Yield(ctx), context.DeadlineExceeded)
			require.Equal(t, time.Hour, time.Since(start))
			require.Equal(t, "test", x.Running())
		})
	})
}

func TestAMailRunInPlaceWakesTheOthersWhoYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		spawn(&x, "waits", func() {
			_ = x.Yield(context.Background())
			j.add("goes on")
		})
		synctest.Wait()
		inside(t, &x, func() {
			require.NoError(t, x.Execute("a", j.mail("a")))
			require.NoError(t, x.Yield(t.Context()))
		})
		synctest.Wait()
		require.Equal(t, []string{"a", "goes on"}, j.read())
	})
}

func TestATurnThatYieldsTakesItsTraceAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		spawn(&x, "outer", func() {
			_ = x.Execute("inner", func() {
				_ = x.Yield(context.Background())
				j.add(x.Running())
			})
			_ = x.Yield(context.Background()) // runs inner in place
			j.add(x.Running())
		})
		synctest.Wait()
		require.Equal(t, "locked: idle; yielding 1: outer > inner", x.String())
		inside(t, &x, func() { require.Equal(t, "test", x.Running()) })
		require.NoError(t, x.Execute("mail", func() { j.add(x.Running()) }))
		synctest.Wait()
		require.Equal(t, []string{"mail", "outer > inner", "outer"}, j.read())
	})
}

func TestAMailMayYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		go func() {
			_ = x.Execute("waits", func() {
				_ = x.Yield(context.Background())
				j.add("goes on")
			})
		}()
		synctest.Wait()
		require.Equal(t, "locked: idle; yielding 1: waits", x.String())
		require.NoError(t, x.Execute("a", j.mail("a")))
		synctest.Wait()
		require.Equal(t, []string{"a", "goes on"}, j.read())
	})
}

func TestYieldingOutsideALockedIsRefused(t *testing.T) {
	var x Locked
	require.ErrorIs(t, x.Yield(t.Context()), ErrOutside)
	_, err := x.TryYield()
	require.ErrorIs(t, err, ErrOutside)
	inside(t, &x, func() {})
}

func TestGoroutinesEnterInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		var j journal
		inside(t, &x, func() {
			for _, name := range []string{"a", "b", "c"} {
				spawn(&x, name, j.mail(name))
				synctest.Wait()
			}
			require.Equal(t, "locked: running test; entering 3: a, b, c", x.String())
		})
		synctest.Wait()
		require.Equal(t, []string{"a", "b", "c"}, j.read())
	})
}

// The waiter is made by hand, since no schedule makes one slow to wake up for certain.
func TestAWaiterThatWasOvertakenIsHandedTheNextTurn(t *testing.T) {
	var x Locked
	require.NoError(t, x.Enter("first"))
	e := &entrant{name: "waiter", wake: make(chan struct{}, 1)}
	x.turn.head, x.turn.tail = e, e
	x.turn.freeze()
	x.Leave()
	require.Len(t, e.wake, 1, "woken")
	require.NoError(t, x.Enter("overtakes"))
	<-e.wake
	e.overtaken = true // as acquire does when it finds the turn taken
	x.Leave()
	require.True(t, e.owns)
	require.Len(t, e.wake, 1)
	require.True(t, x.turn.held(), "nobody can come between")
	require.Nil(t, x.turn.head)
	x.Leave()
	require.Equal(t, "locked: idle", x.String())
}

func TestAfterAnythingElseHasSettledTheLockIsCheapAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		inside(t, &x, func() {
			spawn(&x, "waits", func() {})
			require.NoError(t, x.Execute("bad", func() { panic("oh") }))
			synctest.Wait()
		})
		synctest.Wait()
		require.Error(t, x.Enter("told"))
		spawn(&x, "test", func() { _ = x.Yield(context.Background()) })
		synctest.Wait()
		require.NoError(t, x.Execute("wakes", func() {}))
		synctest.Wait()
		require.Zero(t, x.turn.word.Load())
	})
}

func TestExecuteAllocatesNothingIfNobodyIsInside(t *testing.T) {
	var x Locked
	n := 0
	mail := func() { n++ }
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = x.Execute("count", mail) }))
	require.Equal(t, 101, n)
}

func TestAMailThatEndsItsGoroutineFreesTheLock(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, x *Locked){
		"on the goroutine that hands it in": func(t *testing.T, x *Locked) {
			_ = x.Execute("exit", runtimeGoexit)
		},
		"on the goroutine that leaves": func(t *testing.T, x *Locked) {
			_ = Do(x, "test", func() { _ = x.Execute("exit", runtimeGoexit) })
		},
		"in place": func(t *testing.T, x *Locked) {
			_ = Do(x, "test", func() {
				_ = x.Execute("exit", runtimeGoexit)
				_ = x.Yield(context.Background())
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var x Locked
				var j journal
				returned := false
				go func() {
					defer func() { _ = x.Execute("next", j.mail("next")) }()
					run(t, &x)
					returned = true
				}()
				synctest.Wait()
				require.False(t, returned)
				require.Equal(t, []string{"next"}, j.read())
				require.Equal(t, "locked: idle", x.String())
				if name != "in place" { // there, the yielding turn ended with the mail
					require.EqualError(t, x.Enter("told"), `mailbox: mail "exit" ended its goroutine (runtime.Goexit)`)
				}
				inside(t, &x, func() {})
			})
		})
	}
}
