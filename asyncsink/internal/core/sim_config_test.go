package core

import (
	"math/rand/v2"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// randomConfig draws what a schedule runs with: small limits, so that they are hit.
func (w *world) randomConfig() Config[item] {
	c := Config[item]{
		Limits: limits.Set{
			Batch: limits.Batch{
				Entries: limits.Entries(1 + w.rand.IntN(8)), Bytes: limits.Bytes(200 + w.rand.IntN(600)),
				Age: w.ms(1, 30), EntryBytes: limits.Bytes(100 + w.rand.IntN(100)),
			},
			Held:     limits.Held{Entries: limits.Entries(4 + w.rand.IntN(60)), Bytes: limits.Bytes(400 + w.rand.IntN(4000))},
			InFlight: limits.InFlight{Requests: limits.Requests(1 + w.rand.IntN(6)), Timeout: w.ms(20, 60)},
			Retry:    limits.Retry{Base: w.ms(1, 10), Cap: w.ms(10, 50)},
		},
		Order:         Order(w.seed % 3),
		Relation:      Relation(w.seed / 3 % 3),
		OnRejected:    OnRejected(w.rand.IntN(3)),
		StopAmbiguous: w.chance(0.3),
		DeadLetters:   !w.chance(0.1),
		Settlement:    true,
		Size:          func(e item) int { return e.size },
		Hash:          func(e item) uint64 { return uint64(e.key) },
		Rand:          rand.New(rand.NewPCG(w.seed, 1)),
	}
	l := &c.Limits
	c.OwnsRetries = w.chance(0.15) || c.Relation == Pipelined && (c.Order != Unordered || w.chance(0.5))
	if w.chance(0.3) {
		l.InFlight.Controller = limits.Static
	}
	if w.chance(0.3) {
		l.InFlight.Entries = limits.Entries(1 + w.rand.IntN(12))
		l.InFlight.Floor = 1
	}
	if w.chance(0.3) {
		l.InFlight.Bytes = l.Batch.Bytes + limits.Bytes(w.rand.IntN(400))
	}
	if w.chance(0.2) {
		l.Rate.Records = limits.RecordsPerSecond(200 + w.rand.IntN(2000))
		l.Rate.RecordBurst = limits.Entries(1 + w.rand.IntN(10))
	}
	if w.chance(0.2) {
		l.Rate.Bytes = limits.BytesPerSecond(20_000 + w.rand.IntN(100_000))
		l.Rate.ByteBurst = limits.Bytes(50 + w.rand.IntN(1000))
	}
	if w.chance(0.2) {
		l.Rate.Requests = limits.RequestsPerSecond(50 + w.rand.IntN(500))
		l.Rate.RequestBurst = limits.Requests(1 + w.rand.IntN(3))
	}
	if w.chance(0.35) {
		l.Retry.Attempts = 1 + w.rand.IntN(5)
	}
	if w.chance(0.35) {
		l.Retry.Age = w.ms(30, 200)
	}
	c.Limits = l.WithDefaults()
	return c
}

// tune changes limits while requests are out and entries wait, down as well as up.
func (w *world) tune() {
	l := w.config.Limits
	l.Batch.Entries = limits.Entries(1 + w.rand.IntN(8))
	if w.chance(0.3) {
		l.Batch.Bytes = limits.Bytes(100 + w.rand.IntN(600))
		l.InFlight.Bytes = max(l.InFlight.Bytes, l.Batch.Bytes)
	}
	l.Batch.EntryBytes = min(l.Batch.Bytes, l.Held.Bytes, limits.Bytes(60+w.rand.IntN(140)))
	l.InFlight.Timeout = w.ms(20, 60)
	if w.chance(0.3) {
		l.InFlight.Requests = limits.Requests(1 + w.rand.IntN(6))
		l.InFlight.Entries = l.InFlight.Floor + limits.Entries(w.rand.IntN(12))
	}
	if w.chance(0.3) {
		l.Held.Entries = limits.Entries(4 + w.rand.IntN(60))
		l.Held.Bytes = max(l.Batch.EntryBytes, limits.Bytes(400+w.rand.IntN(4000)))
	}
	if w.chance(0.3) {
		l.Rate.Records, l.Rate.RecordBurst = limits.RecordsPerSecond(w.rand.IntN(2000)), limits.Entries(1+w.rand.IntN(10))
	}
	if err := l.Validate(); err != nil {
		w.fail("tuned limits: %v", err)
	}
	w.core.Tune(w.now, l)
}
