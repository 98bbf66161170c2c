package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func benchConfig() Config[[]byte] {
	return Config[[]byte]{
		Limits: limits.Set{Held: limits.Held{Entries: 100_000}, InFlight: limits.InFlight{Requests: 50}}.WithDefaults(),
		Size:   func(b []byte) int { return len(b) },
		Rand:   rand.New(rand.NewPCG(1, 2)),
	}
}

func BenchmarkOfferToSettle(b *testing.B) {
	c := New(benchConfig())
	e := make([]byte, 100)
	now := Time(1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Offer(now, e); err != nil {
			b.Fatal(err)
		}
		if !c.Noticeable() {
			continue
		}
		now = now.Add(time.Microsecond)
		for {
			a := c.Next(now)
			if a.Kind == Send {
				c.Done(now, a.Batch, Outcome{}, nil)
			} else if a.Kind == Wait {
				break
			}
		}
	}
}
