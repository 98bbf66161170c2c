package mailbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMailsRunInTheOrderInWhichTheyWereHandedIn(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("a", j.mail("a")))
			require.NoError(t, ex.Execute("b", func() {
				j.add("b")
				require.NoError(t, ex.Execute("d", j.mail("d")))
				j.add("b ends")
			}))
			require.NoError(t, ex.Execute("c", j.mail("c")))
			require.Empty(t, j.read(), "none runs in the middle of the turn that hands it in")
		})
		settle(t, ex)
		require.Equal(t, []string{"a", "b", "b ends", "c", "d"}, j.read())
	})
}

func TestExecuteNeverWaits(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		hold, handedIn := make(chan struct{}), make(chan error, 1)
		spawn(ex, "slow", func() { <-hold })
		synctest.Wait()
		go func() { handedIn <- ex.Execute("fast", j.mail("fast")) }()
		synctest.Wait()
		require.Len(t, handedIn, 1, "Execute has returned while another goroutine is inside")
		require.NoError(t, <-handedIn)
		require.Empty(t, j.read())
		close(hold)
		synctest.Wait()
		settle(t, ex)
		require.Equal(t, []string{"fast"}, j.read())
	})
}

func TestYieldRunsOneMail(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("a", j.mail("a")))
			require.NoError(t, ex.Execute("b", j.mail("b")))
			require.NoError(t, ex.Yield(t.Context()))
			require.Equal(t, []string{"a"}, j.read())
			require.NoError(t, ex.Yield(t.Context()))
			require.Equal(t, []string{"a", "b"}, j.read())
		})
	})
}

func TestYieldWaitsForAMail(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		start := time.Now()
		inside(t, ex, func() {
			go func() {
				time.Sleep(time.Second)
				_ = ex.Execute("late", j.mail("late"))
			}()
			require.NoError(t, ex.Yield(t.Context()))
			require.Equal(t, []string{"late"}, j.read())
			require.Equal(t, time.Second, time.Since(start))
		})
	})
}

func TestYieldHonoursItsContext(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("checkpoint is due"))
		defer cancel()
		start := time.Now()
		inside(t, ex, func() {
			err := ex.Yield(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.EqualError(t, err, "mailbox: yield: context deadline exceeded: checkpoint is due")
			require.Equal(t, time.Minute, time.Since(start))
		})
		inside(t, ex, func() {}) // the turn was still held, and was left
	})
}

func TestYieldUnderAnEndedContextRunsNothing(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("a", j.mail("a")))
			require.ErrorIs(t, ex.Yield(endedContext()), context.Canceled)
			require.Empty(t, j.read())
			require.Equal(t, []string{"a"}, ex.Pending())
		})
		settle(t, ex)
		require.Equal(t, []string{"a"}, j.read())
	})
}

func TestTryYieldDoesNotWait(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			ran, err := ex.TryYield()
			require.NoError(t, err)
			require.False(t, ran)
			require.NoError(t, ex.Execute("a", j.mail("a")))
			ran, err = ex.TryYield()
			require.NoError(t, err)
			require.True(t, ran)
			require.Equal(t, []string{"a"}, j.read())
		})
	})
}

// A bounded buffer: what a sink does, in the same words for both executors. The owner writes more than there is room
// for; the answers that make room come from goroutines of their own.
func TestAWriterWaitsForRoomWhileAnswersComeIn(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		const room, entries = 3, 100
		held, most := 0, 0
		for range entries {
			inside(t, ex, func() {
				for held == room {
					require.NoError(t, ex.Yield(t.Context()))
				}
				held++
				most = max(most, held)
			})
			go func() {
				time.Sleep(time.Second)
				_ = ex.Execute("answer", func() { held-- })
			}()
		}
		inside(t, ex, func() {
			for held > 0 {
				require.NoError(t, ex.Yield(t.Context()))
			}
		})
		require.Equal(t, room, most)
	})
}

func TestDoRunsInsideAndReturnsThePanicOfItsOwnCode(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		ran := false
		require.NoError(t, Do(ex, "look", func() {
			ran = true
			require.Equal(t, "look", ex.Running())
		}))
		require.True(t, ran)
		var pe *PanicError
		require.ErrorAs(t, Do(ex, "look", func() { panic("oh") }), &pe)
		require.Equal(t, "look", pe.Mail)
		require.Empty(t, ex.Running())
		inside(t, ex, func() {}) // neither locked nor told again
	})
}

func TestBindHasTheNameBound(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		var run func(func()) = Bind(ex, "callback", func(err error) { j.add(err.Error()) })
		inside(t, ex, func() {
			run(j.mail("first"))
			run(j.mail("second"))
			require.Equal(t, []string{"callback", "callback"}, ex.Pending())
		})
		settle(t, ex)
		ex.Quiesce()
		run(j.mail("third"))
		require.Equal(t, []string{"first", "second", `mailbox: mail "callback" will never run: closed`}, j.read())
	})
}

func TestBindWithoutAHandlerPanicsRatherThanLoseAMail(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		run := Bind(ex, "callback", nil)
		ex.Quiesce()
		require.PanicsWithError(t, `mailbox: mail "callback" will never run: closed`, func() { run(func() {}) })
	})
}

func TestANilMailPanicsWhereItsAuthorIs(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		const want = `mailbox: mail "nothing" has a nil function`
		require.PanicsWithValue(t, want, func() { _ = ex.Execute("nothing", nil) })
		require.PanicsWithValue(t, want, func() { Submit[int](ex, "nothing", nil) })
		require.PanicsWithValue(t, want, func() { _, _ = NewTimers(ex, nil).After(0, "nothing", nil) })
	})
}

func TestLeaveWithoutEnterPanics(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		require.PanicsWithValue(t, "mailbox: Leave without Enter", ex.Leave)
		inside(t, ex, func() {})
	})
}

func TestEnteringAllocatesNothing(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			_ = ex.Enter("write")
			ex.Leave()
		}))
	})
}

func TestAPersonSeesWhatRunsAndWhatWaits(t *testing.T) {
	kind := map[string]string{"*mailbox.Loop": "loop", "*mailbox.Locked": "locked"}
	both(t, func(t *testing.T, ex executor) {
		kind := kind[fmt.Sprintf("%T", ex)]
		require.Equal(t, kind+": idle", ex.String())
		require.Empty(t, ex.Running())
		require.Empty(t, ex.Pending())
		inside(t, ex, func() {
			require.Equal(t, "test", ex.Running())
			require.NoError(t, ex.Execute("outer", func() {
				require.NoError(t, ex.Execute("inner", func() {
					require.Equal(t, "test > outer > inner", ex.Running())
					require.Equal(t, kind+": running test > outer > inner; waiting 1: last", ex.String())
				}))
				require.Equal(t, []string{"last", "inner"}, ex.Pending())
				require.NoError(t, ex.Execute("last", func() {}))
				require.NoError(t, ex.Yield(t.Context())) // last
				require.NoError(t, ex.Yield(t.Context())) // inner
				require.Equal(t, "test > outer", ex.Running())
			}))
			require.NoError(t, ex.Execute("last", func() {}))
			require.NoError(t, ex.Yield(t.Context()))
			for range 9 {
				require.NoError(t, ex.Execute("n", func() {}))
			}
			require.Equal(t, kind+": running test; waiting 10: last, n, n, n, n, n, n, n, ...", ex.String())
		})
		settle(t, ex)
		ex.Quiesce()
		require.Equal(t, kind+": idle; closed", ex.String())
	})
}
