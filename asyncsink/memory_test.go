package asyncsink

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// reachable is what the heap holds now, in bytes.
func reachable() int64 {
	runtime.GC()
	runtime.GC() // what the first one only made free
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Payloads are kept while they are held and no longer: below twice the cap through an outage, about
// nothing after a drain. A snapshot keeps what it shows, until its Close.
func TestMemoryStaysBelowTwiceTheCapAndGoesBackAfterADrain(t *testing.T) {
	const entry, held, pooled = limits.KiB, 16 * limits.MiB, 4 * limits.MiB
	for _, order := range []Order{Unordered, PerKey} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				var down atomic.Bool
				down.Store(true)
				before := reachable()
				grown := func() limits.Bytes { return limits.Bytes(reachable() - before) }
				submit := SubmitFunc[string](func(context.Context, *Batch[string]) error {
					if down.Load() {
						return Outcome{Kind: Throttled}
					}
					return nil
				})
				r.openTo(submit, Config{
					Order: order, Held: limits.Held{Entries: 1_000_000, Bytes: held},
					InFlight: limits.InFlight{Controller: limits.Static}, Retry: limits.Retry{Base: time.Second},
				})
				payload := strings.Repeat("x", int(entry)-16)
				n := 0
				next := func() string { n++; return fmt.Sprintf("%07d:%s", n, payload) + "........" }
				for err := error(nil); err == nil; {
					_, err = r.TryWrite(next())
				}
				r.pass(10 * time.Second) // it fails again and again
				require.EqualValues(t, held/entry, r.Held())
				full := grown()
				require.Greater(t, full, held)
				require.Less(t, full, 2*held)

				shows := r.snap()
				down.Store(false)
				for range 4 * int(held/entry) {
					r.write(next())
				}
				_, err := r.Flush(t.Context())
				require.NoError(t, err)
				require.Greater(t, grown(), held, "the snapshot's")
				require.Len(t, names(t, shows), int(held/entry))
				shows.Close()
				r.settle()
				left := grown()
				t.Logf("full %d kB, drained %d kB", full/1000, left/1000)
				require.Less(t, left, pooled, "what is pooled does not depend on the backlog")
				r.drain()
			})
		})
	}
}

// With one entry in a thousand that never settles, memory is what those and their chunks need, whatever has passed.
func TestStragglersRetainAsMuchMemoryAsTheyNeed(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				const passed, each, perStraggler = 500_000, 1000, 10 * limits.KiB
				before := reachable()
				submit := SubmitFunc[string](func(_ context.Context, b *Batch[string]) error {
					for i, e := range b.All() {
						if strings.HasPrefix(e, "stuck") {
							b.Set(i, Outcome{Kind: Retry, After: 100 * time.Hour})
						}
					}
					return nil
				})
				r.openTo(submit, Config{
					Order: order, Held: limits.Held{Entries: 5000}, InFlight: limits.InFlight{Controller: limits.Static},
				})
				payload := strings.Repeat("x", 200)
				for i := range passed {
					kind := "goes"
					if i%each == 0 {
						kind = "stuck"
					}
					r.write(fmt.Sprintf("%s%d:%s", kind, i, payload))
				}
				r.pass(time.Minute)
				require.Equal(t, passed/each, r.Held())
				require.Less(t, limits.Bytes(reachable()-before), passed/each*perStraggler)
			})
		})
	}
}
