package asyncsink

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// Sixteen requests are out at once, each with callbacks of its own on several goroutines; most entries
// fail a few times first. What can never be stored is in the dead letters, once, and all else is stored, once.
func TestTheDeadLettersAreExactlyTheEntriesThatFailedUnderConcurrentCallbacks(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(func(_ context.Context, b *Batch[string]) error {
					time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
					var callbacks sync.WaitGroup
					for i, e := range b.All() {
						callbacks.Go(func() {
							switch {
							case b.Attempt(i) <= 2 && rand.IntN(2) == 0:
								b.Set(i, Outcome{Kind: Retry})
							case strings.HasPrefix(e, "bad"):
								b.Set(i, Outcome{Kind: Rejected, Err: errBad})
							}
						})
					}
					callbacks.Wait()
					return nil
				})
				c := Config{
					Order: order, Batch: limits.Batch{Entries: 20, Age: time.Millisecond},
					InFlight: limits.InFlight{Requests: 16, Controller: limits.Static}, Retry: limits.Retry{Base: time.Millisecond},
				}
				dead := r.burying(c)
				var good, bad []string
				for i, e := range entries(3000, 200) {
					if i%7 == 3 {
						e = "bad " + e
						bad = append(bad, e)
					} else {
						good = append(good, e)
					}
					r.write(e)
				}
				r.drain()
				require.ElementsMatch(t, bad, dead.got())
				require.ElementsMatch(t, good, r.to.got())
				require.Positive(t, r.Stats().Retried.Entries)
			})
		})
	}
}
