package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheOutcomeIsReadOverTheWholeErrorChain(t *testing.T) {
	cause := errors.New("cause")
	live := context.Background()
	ended, cancel := context.WithCancel(live)
	cancel()
	for name, c := range map[string]struct {
		err  error
		ctx  context.Context
		want Kind
	}{
		"nil":                        {nil, live, Delivered},
		"an outcome":                 {Outcome{Kind: Throttled, Err: cause}, live, Throttled},
		"wrapped":                    {fmt.Errorf("put: %w", Outcome{Kind: Fatal, Err: cause}), live, Fatal},
		"joined":                     {errors.Join(errors.New("other"), Outcome{Kind: Rejected, Err: cause}), live, Rejected},
		"an outcome at the deadline": {Outcome{Kind: Retry, Err: cause}, ended, Retry},
		"any other error":            {cause, live, Retry},
		"any other at the deadline":  {cause, ended, Ambiguous},
		"the context's":              {context.Cause(ended), ended, Ambiguous},
		"another context's":          {context.DeadlineExceeded, live, Retry},
		"a cause that was delivered": {Outcome{Err: cause}, live, Retry},
		"delivered, as an error":     {Outcome{}, live, Delivered},
	} {
		t.Run(name, func(t *testing.T) {
			o := outcomeOf(c.err, c.ctx).core()
			require.Equal(t, c.want, o.Kind)
			if c.want != Delivered {
				require.Error(t, o.Err)
			}
		})
	}
}

func TestAnOutcomeIsAnErrorThatNamesItsKindAndWrapsItsCause(t *testing.T) {
	cause := errors.New("slow down")
	o := Outcome{Kind: Throttled, Err: cause}
	require.EqualError(t, o, "throttled: slow down")
	require.ErrorIs(t, o, cause)
	require.EqualError(t, Outcome{Kind: CredentialExpired}, "credential expired")
}

func TestAnEntryThatWasSetWithACauseAndNoKindIsNotTakenForDelivered(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Attempt(0) == 1 {
				b.Set(0, Outcome{Err: errors.New("the kind was forgotten")})
			}
			return nil
		})
		r.open(single())
		r.write("a")
		r.drain()
		require.Len(t, r.to.requests(), 2)
	})
}

func TestTheNextAttemptIsNoEarlierThanTheHint(t *testing.T) {
	for name, answer := range map[string]func(b *Batch[string], o Outcome) error{
		"of a request": func(_ *Batch[string], o Outcome) error { return fmt.Errorf("put: %w", o) },
		"of an entry":  func(b *Batch[string], o Outcome) error { b.Set(0, o); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(func(_ context.Context, b *Batch[string]) error {
					if b.Attempt(0) == 1 {
						return answer(b, Outcome{Kind: Throttled, After: time.Minute})
					}
					return nil
				})
				r.open(single())
				r.write("a")
				r.drain()
				sent := r.to.requests()
				require.Len(t, sent, 2)
				require.Equal(t, time.Minute, sent[1].at.Sub(sent[0].at))
			})
		})
	}
}

func TestFailedAttemptsGoAgainAfterABackOffThatDoubles(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(fail(Outcome{Kind: Retry, Err: errors.New("down")}))
		c := single()
		c.Retry.Base, c.Retry.Cap = time.Second, 8*time.Second
		r.open(c)
		r.write("a")
		r.pass(200 * time.Second)
		sent := r.to.requests()
		require.Greater(t, len(sent), 20, "it goes on")
		for i := 1; i < len(sent); i++ {
			most := min(8*time.Second, time.Second<<min(i-1, 3))
			require.LessOrEqual(t, sent[i].at.Sub(sent[i-1].at), most, "try %d", i)
			require.Equal(t, []int{i + 1}, sent[i].attempts)
		}
	})
}

func TestAFatalOutcomeStopsTheWriterWithItsCause(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		denied := errors.New("access denied")
		r.to.answers(fail(Outcome{Kind: Fatal, Err: denied}))
		r.open(single())
		r.write("a")
		r.settle()
		for range 2 { // for good
			_, err := r.Write(t.Context(), "b")
			require.ErrorIs(t, err, denied)
			require.ErrorContains(t, err, "writer writer stopped")
			_, err = r.TryWrite("b")
			require.ErrorIs(t, err, denied)
			require.ErrorIs(t, r.EndOfInput(), denied)
			left, err := r.Flush(t.Context())
			require.ErrorIs(t, err, denied)
			require.Equal(t, 1, left)
		}
		require.Equal(t, []string{"a"}, names(t, r.snap()), "a stopped writer can still be snapshotted")
		left, err := r.Close(t.Context())
		require.ErrorIs(t, err, denied)
		got := held(t, left)
		require.Len(t, got, 1)
		require.False(t, got[0].Unsure)
		left.Close()
		require.Len(t, r.to.requests(), 1, "nothing more was sent")
	})
}

func TestAnExpiredCredentialDoesNotCountAgainstTheAttempts(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		n := 0
		r.to.answers(func(context.Context, *Batch[string]) error {
			if n++; n <= 5 {
				return Outcome{Kind: CredentialExpired}
			}
			return nil
		})
		c := single()
		c.Retry.Attempts = 2
		r.open(c)
		r.write("a")
		r.drain()
		require.Equal(t, []int{1}, r.to.requests()[5].attempts)
	})
}
