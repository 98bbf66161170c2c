package asyncsink

import (
	"context"
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

// benchmarkWrite is the cost of a record of 100 B from Write to settlement, to a
// destination that takes everything at once, with all limits, sizes and the
// ledger on. Run it with -cpu 1.
func benchmarkWrite(b *testing.B, c Config, traits Traits[[]byte], entry func(i int) []byte) {
	const much = 1e12
	c.Rate = limits.Rate{Records: much, Bytes: much, Requests: much}
	c.Retry = limits.Retry{Attempts: 100}
	c.Held = limits.Held{Entries: 100_000}
	traits.Size = func(e []byte) int { return len(e) }
	null := SubmitFunc[[]byte](func(context.Context, *Batch[[]byte]) error { return nil })
	w, err := New(b.Context(), null, traits, c)
	require.NoError(b, err)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(b.Context(), entry(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	_, err = w.Close(context.Background())
	require.NoError(b, err)
	s := w.Stats()
	require.EqualValues(b, i, s.Delivered.Entries)
}

func same(int) func(int) []byte {
	entry := make([]byte, 100)
	return func(int) []byte { return entry }
}

// BenchmarkWrite: cooperative executor, unordered.
func BenchmarkWrite(b *testing.B) {
	benchmarkWrite(b, Config{Executor: &mailbox.Loop{}}, Traits[[]byte]{}, same(0))
}

// BenchmarkWriteLocked: the default executor, which any goroutine may use.
func BenchmarkWriteLocked(b *testing.B) {
	benchmarkWrite(b, Config{}, Traits[[]byte]{}, same(0))
}

// BenchmarkWritePerKey: cooperative, order per key.
func BenchmarkWritePerKey(b *testing.B) {
	for _, keys := range []int{1000, 100_000} {
		b.Run(strconv.Itoa(keys)+"-keys", func(b *testing.B) {
			entries := make([][]byte, keys)
			for i := range entries {
				entries[i] = make([]byte, 100)
				binary.LittleEndian.PutUint64(entries[i], uint64(i)*0x9E3779B97F4A7C15)
				copy(entries[i], strconv.Itoa(i*7919%keys+1_000_000_000))
			}
			traits := Traits[[]byte]{Key: func(e []byte) string { return string(e[:13]) }}
			benchmarkWrite(b, Config{Executor: &mailbox.Loop{}, Order: PerKey}, traits,
				func(i int) []byte { return entries[i%keys] })
		})
	}
}
