package mailbox

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func explode() { panic("oh") }

func TestAPanicIsAnErrorWithNameValueAndStack(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		var j journal
		inside(t, ex, func() {
			require.NoError(t, ex.Execute("bad", explode))
			require.NoError(t, ex.Execute("good", j.mail("good")))
			err := ex.Yield(t.Context())
			var pe *PanicError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, "bad", pe.Mail)
			require.Equal(t, "oh", pe.Value)
			require.Contains(t, string(pe.Stack), "mailbox.explode")
			require.EqualError(t, err, `mailbox: mail "bad" panicked: oh`)
			require.Equal(t, "test", ex.Running())
			require.NoError(t, ex.Yield(t.Context()), "told once; the executor goes on")
			require.Equal(t, []string{"good"}, j.read())

			require.NoError(t, ex.Execute("bad", explode))
			ran, err := ex.TryYield()
			require.ErrorAs(t, err, &pe)
			require.True(t, ran)
		})
		inside(t, ex, func() {})
	})
}

// A mail may panic with the very errors that Yield returns for other reasons.
func TestAPanicIsNotMistakenForTheErrorThatItCarries(t *testing.T) {
	both(t, func(t *testing.T, ex executor) {
		for _, value := range []error{ErrClosed, ErrOutside, context.Canceled} {
			inside(t, ex, func() {
				require.NoError(t, ex.Execute("bad", func() { panic(value) }))
				err := ex.Yield(t.Context())
				require.Error(t, err)
				require.NotErrorIs(t, err, value)
			})
		}
	})
	var l Loop
	require.NoError(t, l.Execute("bad", func() { panic(ErrClosed) }))
	l.Quiesce()
	require.Error(t, l.Run(t.Context()), "not drained: panicked")
}

func TestAnUntoldPanicOfALockedIsToldOnceToWhoeverComesInside(t *testing.T) {
	ways := map[string]func(x *Locked) error{
		"Enter": func(x *Locked) error { return x.Enter("test") },
		"Do":    func(x *Locked) error { return Do(x, "test", func() { panic("f must not run") }) },
		"Close": func(x *Locked) error {
			_, err := x.Close(context.Background())
			return err
		},
	}
	for name, ask := range ways {
		t.Run(name, func(t *testing.T) {
			var x Locked
			require.NoError(t, x.Execute("bad", explode), "Execute's error says refused, and nothing else")
			require.EqualError(t, ask(&x), `mailbox: mail "bad" panicked: oh`)
			inside(t, &x, func() {})
		})
	}
}

func TestAPanicOnAnotherGoroutineIsToldToAYieldThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x Locked
		inside(t, &x, func() {
			go func() {
				synctest.Wait()
				_ = x.Execute("bad", explode)
			}()
			require.EqualError(t, x.Yield(t.Context()), `mailbox: mail "bad" panicked: oh`)
		})
		inside(t, &x, func() {
			go func() {
				_ = x.Execute("bad", explode)
			}()
			synctest.Wait()
			require.Equal(t, []string{"bad"}, x.Pending())
		})
		err := x.Enter("test") // Leave ran it
		require.EqualError(t, err, `mailbox: mail "bad" panicked: oh`)
		require.NoError(t, x.Execute("bad", explode))
		inside := make(chan error, 2)
		spawn(&x, "never entered", func() {})
		synctest.Wait() // it was told
		require.NoError(t, x.Enter("test"))
		x.base().mu.Lock()
		x.faults.add(errors.New("came while inside"))
		x.base().mu.Unlock()
		_, err = x.TryYield()
		inside <- err
		inside <- x.Execute("ok", func() {})
		x.Leave()
		require.EqualError(t, <-inside, "came while inside")
		require.NoError(t, <-inside)
	})
}

func TestUntoldPanicsAreKeptUpToALimitAndCountedBeyond(t *testing.T) {
	var x Locked
	for i := range 20 {
		require.NoError(t, x.Execute(fmt.Sprint("bad ", i), explode))
	}
	err := x.Enter("test")
	require.ErrorContains(t, err, `mail "bad 0" panicked`)
	require.ErrorContains(t, err, `mail "bad 15" panicked`)
	require.NotContains(t, err.Error(), "bad 16")
	require.ErrorContains(t, err, "mailbox: and 4 more mails panicked")
	var pe *PanicError
	require.ErrorAs(t, err, &pe)
	inside(t, &x, func() {})
}
