package asyncsink

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

// benchmarkWrite is the cost of a record of 100 B from Write to settlement, to a
// destination that takes everything at once, with all limits, sizes and the
// ledger on. Run it with -cpu 1.
func benchmarkWrite[E any](b *testing.B, c Config, traits Traits[E], entry func(i int) E) {
	const much = 1e12
	c.Rate = limits.Rate{Records: much, Bytes: much, Requests: much}
	c.Retry = limits.Retry{Attempts: 100, Age: time.Hour}
	c.Held = limits.Held{Entries: 100_000}
	null := SubmitFunc[E](func(context.Context, *Batch[E]) error { return nil })
	w, err := New(b.Context(), null, traits, c)
	require.NoError(b, err)
	i, ctx := 0, b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(ctx, entry(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	_, err = w.Close(context.Background())
	require.NoError(b, err)
	s := w.Stats()
	require.EqualValues(b, i, s.Delivered.Entries)
}

var plain = Traits[[]byte]{Size: func(e []byte) int { return len(e) }}

func same() func(int) []byte {
	entry := make([]byte, 100)
	return func(int) []byte { return entry }
}

// keyed is an entry with a key of 13 B.
type keyed struct {
	key  string
	data []byte
}

// BenchmarkWrite: cooperative executor, unordered.
func BenchmarkWrite(b *testing.B) {
	benchmarkWrite(b, Config{Executor: &mailbox.Loop{}}, plain, same())
}

// BenchmarkWriteLocked: the default executor, which any goroutine may use.
func BenchmarkWriteLocked(b *testing.B) {
	benchmarkWrite(b, Config{}, plain, same())
}

// BenchmarkWritePerKey: cooperative, order per key.
func BenchmarkWritePerKey(b *testing.B) {
	for _, keys := range []int{1000, 100_000} {
		b.Run(strconv.Itoa(keys)+"-keys", func(b *testing.B) {
			entries := make([]keyed, keys)
			for i := range entries {
				entries[i] = keyed{strconv.Itoa(1_000_000_000_000 + i*7919%keys), make([]byte, 87)}
			}
			traits := Traits[keyed]{
				Size: func(e keyed) int { return len(e.key) + len(e.data) },
				Key:  func(e keyed) string { return e.key },
			}
			benchmarkWrite(b, Config{Executor: &mailbox.Loop{}, Order: PerKey}, traits,
				func(i int) keyed { return entries[i%keys] })
		})
	}
}
