package asyncsink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/statecodec"
)

// lines are strings that weigh what they are long.
var lines = asyncsink.Traits[string]{Size: func(line string) int { return len(line) }}

// printer is a destination that takes everything.
var printer = asyncsink.SubmitFunc[string](func(_ context.Context, b *asyncsink.Batch[string]) error {
	for _, line := range b.All() {
		fmt.Println("stored", line)
	}
	return nil
})

// down is a destination that does not answer.
var down = asyncsink.SubmitFunc[string](func(ctx context.Context, b *asyncsink.Batch[string]) error {
	<-ctx.Done()
	return ctx.Err()
})

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A function is a connector, too.
func ExampleSubmitFunc() {
	ctx := context.Background()
	w := must(asyncsink.New(ctx, printer, lines, asyncsink.Config{}))
	must(w.Write(ctx, "hello"))
	must(w.Close(ctx))
	// Output: stored hello
}

// Flush waits for what was written so far; the writer goes on.
func ExampleWriter_Flush() {
	ctx := context.Background()
	w := must(asyncsink.New(ctx, printer, lines, asyncsink.Config{}))
	must(w.Write(ctx, "a"))
	left, err := w.Flush(ctx)
	fmt.Println(left, err)
	must(w.Write(ctx, "b"))
	must(w.Close(ctx))
	// Output:
	// stored a
	// 0 <nil>
	// stored b
}

// TryWrite lets the caller decide what to do at a cap.
func ExampleWriter_TryWrite() {
	ctx := context.Background()
	w := must(asyncsink.New(ctx, down, lines, asyncsink.Config{Held: limits.Held{Entries: 2}}))
	for _, line := range []string{"a", "b", "c"} {
		if _, err := w.TryWrite(line); errors.Is(err, asyncsink.ErrFull) {
			fmt.Println("no room for", line)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	left, _ := w.Close(ctx)
	left.Close()
	// Output: no room for c
}

// What a destination that is down left behind is delivered in another life.
func ExampleWriter_Snapshot() {
	ctx := context.Background()
	first := must(asyncsink.New(ctx, down, lines, asyncsink.Config{Name: "orders"}))
	must(first.Write(ctx, "a"))
	must(first.Write(ctx, "b"))

	snapshot := must(first.Snapshot()) // at any time, and without waiting
	var state bytes.Buffer
	enc := must(statecodec.NewEncoder(&state, statecodec.Header{Job: "shop", Checkpoint: 1}))
	if err := errors.Join(snapshot.Encode(enc), enc.Close()); err != nil {
		fmt.Println(err)
	}
	snapshot.Close()

	second := must(asyncsink.New(ctx, printer, lines, asyncsink.Config{
		Name: "orders",
		Restore: &asyncsink.Restore{Checkpoint: 1, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(state.Bytes())), nil
		}},
	}))
	must(second.Write(ctx, "c"))
	must(second.Close(ctx))
	s := second.Stats()
	fmt.Println("restored", s.Restored.Entries, "possible duplicates", s.PossibleDuplicates.Entries)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	left, _ := first.Close(ended)
	left.Close()
	// Output:
	// stored a
	// stored b
	// stored c
	// restored 2 possible duplicates 2
}

// Close returns what its context left no time for.
func ExampleWriter_Close() {
	ctx := context.Background()
	w := must(asyncsink.New(ctx, down, lines, asyncsink.Config{Name: "orders"}))
	must(w.Write(ctx, "a"))

	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	left, err := w.Close(ctx)
	fmt.Println(err)
	defer left.Close()
	for entry, err := range left.All() {
		fmt.Println(entry.Entry, "unsure:", entry.Unsure, err)
	}
	// Output:
	// writer orders: 1 entries are left: context deadline exceeded
	// a unsure: true <nil>
}

// A source that acknowledges what is done pulls ranges of sequences.
func ExampleWriter_AppendSettled() {
	ctx := context.Background()
	w := must(asyncsink.New(ctx, printer, lines, asyncsink.Config{Settlement: true}))
	must(w.Write(ctx, "a"))
	must(w.Write(ctx, "b"))
	must(w.Flush(ctx))
	<-w.Settled()
	for _, r := range w.AppendSettled(nil) {
		fmt.Printf("acknowledge %d to %d\n", r.First, r.Last)
	}
	must(w.Close(ctx))
	// Output:
	// stored a
	// stored b
	// acknowledge 1 to 2
}

// All faults of a configuration come at once.
func ExampleConfig_Validate() {
	err := asyncsink.Config{
		Name:  "orders",
		Batch: limits.Batch{Entries: -1},
		Retry: limits.Retry{Attempts: -5},
	}.Validate()
	var c *asyncsink.ConfigError
	if errors.As(err, &c) {
		for _, fault := range c.Errs {
			var f *limits.Fault
			if errors.As(fault, &f) && (f.Field == "batch.entries" || f.Field == "retry.attempts") {
				fmt.Println(f)
			}
		}
	}
	// Output:
	// batch.entries: -1: must be 1 to 1000000
	// retry.attempts: -5: must be 0 to 60000
}

// With a loop one goroutine owns the writer and all that runs in it.
func ExampleConfig_loop() {
	ctx := context.Background()
	quiet := asyncsink.SubmitFunc[string](func(context.Context, *asyncsink.Batch[string]) error { return nil })
	var loop mailbox.Loop
	w := must(asyncsink.New(ctx, quiet, lines, asyncsink.Config{Executor: &loop}))
	must(w.Write(ctx, "a"))
	if err := loop.Execute("mine", func() { fmt.Println("a mail of my own, held:", w.Held()) }); err != nil {
		fmt.Println(err)
	}
	must(w.Flush(ctx)) // waits for the answer, and so lets mails run
	fmt.Println("held:", w.Held())
	must(w.Close(ctx))
	// Output:
	// a mail of my own, held: 1
	// held: 0
}

// fixedLimits is a connector that learns its service's limits when it is opened.
type fixedLimits struct {
	asyncsink.SubmitFunc[string]
}

func (fixedLimits) Open(_ context.Context, env asyncsink.Env) error {
	env.Tune(limits.Batch{Entries: 2}) // at any time later, too
	env.Count("looked up", 1)
	return nil
}

// A connector that connects or looks something up first has an Open.
func ExampleOpener() {
	ctx := context.Background()
	connector := fixedLimits{func(_ context.Context, b *asyncsink.Batch[string]) error {
		fmt.Println(b.Len(), "entries")
		return nil
	}}
	w := must(asyncsink.New(ctx, connector, lines, asyncsink.Config{InFlight: limits.InFlight{Requests: 1}}))
	for _, line := range []string{"a", "b", "c"} {
		must(w.Write(ctx, line))
	}
	must(w.Close(ctx))
	fmt.Println("looked up", w.Stats().Connector["looked up"])
	// Output:
	// 2 entries
	// 1 entries
	// looked up 1
}
