//go:build unix

package core

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// benchEntry is what a Kinesis entry is about: a key and a header.
type benchEntry struct {
	key  uint64
	data []byte
}

// mill offers and settles entries as fast as it can, with a given number held.
type mill struct {
	b      *testing.B
	core   *Core[benchEntry]
	rand   *rand.Rand
	now    Time
	keys   uint64
	failed float64 // share of the entries of an answer
	fails  []Failure
	out    []*Batch[benchEntry] // oldest first
	data   []byte
}

func newMill(b *testing.B, held int, order Order, keys uint64) *mill {
	const requests = 50
	m := &mill{
		b: b, keys: keys, now: second, rand: rand.New(rand.NewPCG(1, 2)), data: make([]byte, 100),
		out: make([]*Batch[benchEntry], 0, requests),
	}
	m.core = New(Config[benchEntry]{
		Limits: limits.Set{
			Held:     limits.Held{Entries: limits.Entries(held), Bytes: 1024 * limits.GiB},
			InFlight: limits.InFlight{Requests: requests, Entries: limits.Entries(max(500, min(requests*500, held/2))), Controller: limits.Static},
		}.WithDefaults(),
		Order: order,
		Size:  func(e benchEntry) int { return len(e.data) + 16 },
		Hash:  func(e benchEntry) uint64 { return e.key * 0x9e3779b97f4a7c15 },
		Rand:  m.rand,
	})
	for range 2*held + 100_000 { // full, and warm
		m.offer()
	}
	b.ReportAllocs()
	b.ResetTimer()
	return m
}

// spin runs one for as long as the benchmark wants, and reports the CPU time:
// wall time says little on a machine that others use.
func spin(b *testing.B, one func()) {
	before := cpuTime(b)
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// offer offers one entry; while there is no room, the oldest request is answered.
func (m *mill) offer() {
	e := benchEntry{data: m.data}
	if m.keys > 0 {
		e.key = m.rand.Uint64N(m.keys)
	}
	for {
		_, err := m.core.Offer(m.now, e)
		if err == nil {
			break
		}
		if err != ErrFull {
			m.b.Fatal(err)
		}
		m.answer()
	}
	if m.core.Noticeable() {
		m.pump()
	}
}

// answer answers the oldest request or, when none is out, lets time pass.
func (m *mill) answer() {
	m.now = m.now.Add(20 * time.Microsecond)
	if len(m.out) == 0 {
		m.now = m.now.Add(10 * ms)
		m.pump()
		return
	}
	b := m.out[0]
	m.out = m.out[:copy(m.out, m.out[1:])]
	m.fails = m.fails[:0]
	if m.failed > 0 {
		for i := range b.Entries {
			if m.rand.Float64() < m.failed {
				m.fails = append(m.fails, Failure{i, Outcome{Kind: Throttled}})
			}
		}
	}
	m.core.Done(m.now, b, Outcome{}, m.fails)
	m.pump()
}

func (m *mill) pump() {
	for {
		switch a := m.core.Next(m.now); a.Kind {
		case Send:
			m.out = append(m.out, a.Batch)
		case Wait:
			return
		}
	}
}

// BenchmarkHeld is an entry's way from Offer to settled behind a backlog. The goal:
// within 2.5 times from 1 k to 10 M held.
func BenchmarkHeld(b *testing.B) {
	for _, held := range []int{1000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			m := newMill(b, held, Unordered, 0)
			spin(b, m.offer)
		})
	}
}

// BenchmarkFailing is the same with a tenth of the entries throttled.
func BenchmarkFailing(b *testing.B) {
	m := newMill(b, 100_000, Unordered, 0)
	m.failed = 0.1
	spin(b, m.offer)
}

// BenchmarkKeys is the same in order of keys: with few of them nearly all entries
// are parked behind others.
func BenchmarkKeys(b *testing.B) {
	for _, keys := range []uint64{1000, 100_000, 1_000_000} {
		for _, failed := range []float64{0, 0.1} {
			b.Run(fmt.Sprintf("%d/failing=%v", keys, failed), func(b *testing.B) {
				m := newMill(b, 100_000, PerKey, keys)
				m.failed = failed
				spin(b, m.offer)
			})
		}
	}
}

// BenchmarkSnapshotPause is how long the owner is held up by a snapshot. The
// entry after it is part of the pause: it copies the state that it changes.
func BenchmarkSnapshotPause(b *testing.B) {
	for _, held := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			m := newMill(b, held, Unordered, 0)
			spin(b, func() {
				s := m.core.Snapshot()
				m.offer()
				m.core.Release(s)
			})
		})
	}
}
