package suites

import (
	"bytes"
	"context"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/statecodec"
)

// makeEntries makes n entries, each with data of its own.
func makeEntries(n, size int) []entry {
	all, names := make([]entry, n), keys(plainKeys)
	for i := range all {
		all[i] = entry{names[i%len(names)], make([]byte, size)}
	}
	return all
}

// holding is a writer that holds n entries, and up to most, of a destination that
// never answers. stop ends it.
func holding(n, most, size int) (w *asyncsink.Writer[entry], stop func(), err error) {
	ctx := context.Background()
	hangs := asyncsink.SubmitFunc[entry](func(ctx context.Context, _ *asyncsink.Batch[entry]) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	w, err = asyncsink.New(ctx, hangs, traits, asyncsink.Config{
		Executor: &mailbox.Loop{},
		Held:     limits.Held{Entries: limits.Entries(most), Bytes: 1024 * limits.GiB},
		InFlight: limits.InFlight{Timeout: time.Hour},
	})
	if err != nil {
		return nil, nil, err
	}
	names := keys(plainKeys)
	for i := range n {
		if _, err := w.Write(ctx, entry{names[i%len(names)], make([]byte, size)}); err != nil {
			return nil, nil, err
		}
	}
	return w, func() {
		now, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = w.Close(now) // it says that something is left
	}, nil
}

// encodeEntries writes n entries as one section, as a writer does that accepted them in a row.
func encodeEntries(e *statecodec.Encoder, n int, at func(i int) entry) error {
	err := e.Begin(statecodec.Section{
		Operator: "writer", Kind: statecodec.KindBuffer,
		Codec: traits.Codec.ID(), CodecVersion: traits.Codec.Version(), KeyGroups: statecodec.DefaultKeyGroups,
	})
	if err != nil {
		return err
	}
	x := statecodec.Entry{Writer: [16]byte{1}, Born: 1_700_000_000_000_000_000}
	for i := range n {
		one := at(i)
		if x.Data, err = traits.Codec.AppendEncode(x.Data[:0], one); err != nil {
			return err
		}
		x.Seq++
		x.KeyGroup = statecodec.KeyGroup(statecodec.KeyHash(one.key), statecodec.DefaultKeyGroups)
		if i%256 == 0 { // a writer looks at the clock that often
			x.Born += int64(time.Millisecond)
		}
		if err := e.Entry(&x); err != nil {
			return err
		}
	}
	return nil
}

// encodedState is the state of n entries that share their data.
func encodedState(n, size int) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(n * (size + keyBytes + 16))
	data, names := make([]byte, size), keys(plainKeys)
	err := encodeTo(&b, func(e *statecodec.Encoder) error {
		return encodeEntries(e, n, func(i int) entry { return entry{names[i%len(names)], data} })
	})
	return b.Bytes(), err
}
