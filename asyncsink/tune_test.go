package asyncsink

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

type tuner struct{}

func (tuner) Submit(context.Context, *Batch[string]) error { return nil }
func (tuner) Open(_ context.Context, env Env) error {
	env.Tune(limits.Batch{Bytes: 10 * limits.MiB, EntryBytes: 2 * limits.MiB})
	return nil
}

// What Open tunes holds for the first Write, under a loop as well.
func TestLimitsThatOpenTunesHoldForTheFirstWrite(t *testing.T) {
	for _, ex := range []mailbox.Executor{nil, &mailbox.Loop{}} {
		t.Run(fmt.Sprintf("%T", ex), func(t *testing.T) {
			w, err := New(t.Context(), tuner{},
				Traits[string]{Size: func(s string) int { return len(s) }, Max: limits.Batch{EntryBytes: limits.MiB}},
				Config{Executor: ex, Batch: limits.Batch{Bytes: 10 * limits.MiB, EntryBytes: 10 * limits.MiB}})
			require.NoError(t, err)
			_, err = w.Write(t.Context(), strings.Repeat("x", 3<<19))
			require.NoError(t, err)
			_, err = w.Close(t.Context())
			require.NoError(t, err)
		})
	}
}

// A submitter that honours its context at the deadline is a time-out, whoever wakes up first.
func TestASubmitterThatReturnsAtItsDeadlineCountsAsTimedOut(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			hang := SubmitFunc[string](func(ctx context.Context, _ *Batch[string]) error {
				if n++; n > 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			})
			w, err := New(t.Context(), hang, Traits[string]{Size: func(s string) int { return len(s) }},
				Config{InFlight: limits.InFlight{Timeout: time.Second, Requests: 1}})
			require.NoError(t, err)
			_, err = w.Write(t.Context(), "x")
			require.NoError(t, err)
			_, err = w.Close(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1, w.Stats().TimedOut)
		})
	}
}
