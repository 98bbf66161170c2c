package suites

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

// write is the way of records from Write to settled; peers/flink/Write.java is the peer.
type write struct {
	executor, order, destination string
	n, warm, size, keys, failing int

	key      []string
	requests atomic.Int64
	failed   atomic.Int64
}

func writeProgram(f *flag.FlagSet) func() (figures, error) {
	w := &write{}
	f.StringVar(&w.executor, "executor", "loop", "loop or lock")
	f.StringVar(&w.order, "order", "unordered", "unordered or per-key")
	f.StringVar(&w.destination, "destination", "null", "null, which answers at once, or delay, which does after 1 ms")
	f.IntVar(&w.n, "n", 1_000_000, "`records` a run")
	f.IntVar(&w.warm, "warm", 2, "`runs` before the one that is measured")
	f.IntVar(&w.size, "size", 100, "`bytes` of an entry's data")
	f.IntVar(&w.keys, "keys", 100_000, "different `keys` of 16 B, drawn at random, with -order=per-key")
	f.IntVar(&w.failing, "failing", 0, "`percent` of the entries of each request")
	return w.figures
}

func (w *write) figures() (figures, error) {
	if w.order == "unordered" {
		w.keys = plainKeys
	}
	w.key = keys(w.keys)
	for range w.warm {
		if err := w.run(); err != nil {
			return nil, err
		}
	}
	w.requests.Store(0)
	w.failed.Store(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := newMeter()
	if err := w.run(); err != nil {
		return nil, err
	}
	wall, cpu := m.stop()
	runtime.ReadMemStats(&after)
	n := float64(w.n)
	return figures{
		"records":                    n,
		"cpu_ns_per_record":          float64(cpu) / n,
		"records_per_second":         n / wall.Seconds(),
		"allocations_per_record":     float64(after.Mallocs-before.Mallocs) / n,
		"allocated_bytes_per_record": float64(after.TotalAlloc-before.TotalAlloc) / n,
		"entries_per_request":        (n + float64(w.failed.Load())) / float64(w.requests.Load()),
		"retried_per_record":         float64(w.failed.Load()) / n,
	}, nil
}

// run writes n records and waits until all are delivered.
func (w *write) run() error {
	config, err := w.config()
	if err != nil {
		return err
	}
	submit, err := w.submitter()
	if err != nil {
		return err
	}
	ctx := context.Background()
	writer, err := asyncsink.New(ctx, submit, traits, config)
	if err != nil {
		return err
	}
	data, draw := make([]byte, w.size), rand.New(rand.NewPCG(1, 2))
	for i := range w.n {
		k := i & (plainKeys - 1)
		if config.Order == asyncsink.PerKey {
			k = draw.IntN(len(w.key))
		}
		if _, err := writer.Write(ctx, entry{w.key[k], data}); err != nil {
			return err
		}
	}
	if _, err := writer.Close(ctx); err != nil {
		return err
	}
	if s := writer.Stats(); s.Delivered.Entries != int64(w.n) {
		return fmt.Errorf("delivered %d of %d", s.Delivered.Entries, w.n)
	}
	return nil
}

func (w *write) config() (asyncsink.Config, error) {
	c := asyncsink.Config{
		// As many as Flink's writer may hold: 10,000 buffered and 50 requests in flight.
		Held:     limits.Held{Entries: 35_000},
		InFlight: limits.InFlight{Requests: 50},
		Seed:     1,
	}
	switch w.executor {
	case "loop":
		c.Executor = &mailbox.Loop{}
	case "lock":
	default:
		return c, fmt.Errorf("executor: %s: must be loop or lock", w.executor)
	}
	switch w.order {
	case "unordered":
	case "per-key":
		c.Order = asyncsink.PerKey
	default:
		return c, fmt.Errorf("order: %s: must be unordered or per-key", w.order)
	}
	return c, nil
}

func (w *write) submitter() (asyncsink.RequestSubmitter[entry], error) {
	switch w.destination {
	case "null":
		return asyncsink.SubmitFunc[entry](func(context.Context, *asyncsink.Batch[entry]) error {
			w.requests.Add(1)
			return nil
		}), nil
	case "delay":
		return asyncsink.SubmitFunc[entry](func(_ context.Context, b *asyncsink.Batch[entry]) error {
			w.requests.Add(1)
			time.Sleep(time.Millisecond)
			if w.failing > 0 {
				w.fail(b)
			}
			return nil
		}), nil
	}
	return nil, fmt.Errorf("destination: %s: must be null or delay", w.destination)
}

var throttled = asyncsink.Outcome{Kind: asyncsink.Throttled, Err: errors.New("too many entries a second")}

// fail has some of the entries fail: by SplitMix64 of the request's number and their place, as in the peer.
func (w *write) fail(b *asyncsink.Batch[entry]) {
	failed := 0
	for i := range b.Len() {
		z := (b.Number()<<20 | uint64(i)) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if (z^z>>31)%100 < uint64(w.failing) {
			b.Set(i, throttled)
			failed++
		}
	}
	w.failed.Add(int64(failed))
}
