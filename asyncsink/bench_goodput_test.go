package asyncsink

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

// virtualDestination answers every request after a round trip of virtual time,
// fails a share of its entries at random, whatever the load, and refuses a
// request as a whole when more than capacity requests are at it.
type virtualDestination struct {
	core     *core.Core[[]byte]
	rand     *rand.Rand
	kind     core.Kind // of the entries that fail
	share    float64
	capacity int // requests; 0: any number
	trip     time.Duration

	now      core.Time
	flying   []virtualRequest // in the order of their answers
	requests int
	refused  int
}

type virtualRequest struct {
	batch   *core.Batch[[]byte]
	at      core.Time
	refused bool
}

// run offers as much as is taken until the virtual time has passed, and
// returns how many entries were delivered in it.
func (d *virtualDestination) run(t time.Duration) int64 {
	before, end := d.core.Ledger.Delivered.Entries, d.now.Add(t)
	entry := make([]byte, 100)
	for d.now < end {
		for {
			if _, err := d.core.Offer(d.now, entry); err != nil {
				break
			}
		}
		wake := d.pump()
		if len(d.flying) > 0 {
			wake = min(wake, d.flying[0].at)
		}
		d.now = max(d.now, min(wake, end))
		d.answer()
	}
	return d.core.Ledger.Delivered.Entries - before
}

func (d *virtualDestination) pump() core.Time {
	for {
		switch a := d.core.Next(d.now); a.Kind {
		case core.Send:
			d.requests++
			r := virtualRequest{a.Batch, d.now.Add(d.trip), d.capacity > 0 && len(d.flying) >= d.capacity}
			if r.refused {
				d.refused++
			}
			d.flying = append(d.flying, r)
		case core.Wait:
			return a.Until
		}
	}
}

func (d *virtualDestination) answer() {
	for len(d.flying) > 0 && d.flying[0].at <= d.now {
		r := d.flying[0]
		d.flying = d.flying[1:]
		if r.refused {
			d.core.Done(d.now, r.batch, core.Outcome{Kind: core.Throttled}, nil)
			continue
		}
		var fails []core.Failure
		for i := range r.batch.Entries {
			if d.rand.Float64() < d.share {
				fails = append(fails, core.Failure{Index: i, Outcome: core.Outcome{Kind: d.kind}})
			}
		}
		d.core.Done(d.now, r.batch, core.Outcome{}, fails)
	}
}

func newVirtual(share float64, kind core.Kind, capacity int) *virtualDestination {
	set := limits.Set{
		Held:     limits.Held{Entries: 100_000},
		InFlight: limits.InFlight{Requests: 50},
		Retry:    limits.Retry{Base: time.Millisecond}, // a round trip
	}.WithDefaults()
	return &virtualDestination{
		core: core.New(core.Config[[]byte]{
			Limits: set, Size: func(b []byte) int { return len(b) }, Rand: rand.New(rand.NewPCG(1, 1)),
		}),
		rand: rand.New(rand.NewPCG(2, 2)), kind: kind, share: share, capacity: capacity, trip: time.Millisecond,
	}
}

// BenchmarkPartialFailure is goodput with a share of the entries failing, as a
// percentage of that without failures, in virtual time: batches of 500, 50
// requests in flight, a round trip of 1 ms, 100,000 entries held. The ceiling is
// what is left of the attempts. Where a capacity is given, the destination
// refuses requests above it, and the share of those is reported too.
func BenchmarkPartialFailure(b *testing.B) {
	for _, kind := range []core.Kind{core.Throttled, core.Retry} {
		for _, share := range []float64{0.10, 0.25, 0.40} {
			for _, capacity := range []int{0, 20, 5} {
				b.Run(fmt.Sprintf("%v=%.0f%%/capacity=%d", kind, 100*share, capacity), func(b *testing.B) {
					for b.Loop() {
						clean := newVirtual(0, kind, capacity)
						clean.run(time.Second)
						failing := newVirtual(share, kind, capacity)
						failing.run(time.Second)
						failing.requests, failing.refused = 0, 0
						most := clean.run(time.Second)
						goodput := 100 * float64(failing.run(time.Second)) / float64(most)
						b.ReportMetric(goodput, "goodput-%")
						b.ReportMetric(goodput/(1-share), "of-ceiling-%")
						b.ReportMetric(100*float64(failing.refused)/float64(failing.requests), "refused-%")
						b.ReportMetric(float64(most)/1000, "clean-k/s")
						b.ReportMetric(0, "ns/op")
					}
				})
			}
		}
	}
}
