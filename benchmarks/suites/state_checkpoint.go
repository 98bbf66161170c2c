package suites

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/benchmarks/harness"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
)

var checkpointFigures = []harness.Figure{
	{Name: "ms_per_checkpoint", Label: "ms a checkpoint", Better: harness.Lower},
	{Name: "bytes_per_checkpoint", Label: "bytes a checkpoint", Better: harness.Lower},
}

// checkpoint is a whole checkpoint of a backlog to a store in memory, and one that writes what has changed since the last:
// 1 % was delivered, and as much has come.
func (s states) checkpoint(name string, size int) harness.Case {
	with := fmt.Sprint("-size=", size)
	full := s.own("Full", "checkpoint", million, with, "-full")
	full.Peer = true
	return harness.Case{
		Name: name,
		About: fmt.Sprintf("A checkpoint of %s entries of %d B to a store in memory, through checkpoint.History: all of it, and what is new when 1 %% has changed.",
			number(million/s.divide), size),
		Figures:    checkpointFigures,
		Contenders: []harness.Contender{s.own("Incremental, 1 % changed", "checkpoint", million, with), full},
	}
}

type checkpoints struct {
	n, size, warm, repeats int
	full                   bool

	w       *asyncsink.Writer[entry]
	pass    chan struct{} // lets one request through
	names   []string
	history *checkpoint.History
	store   *memory
	files   map[string]checkpoint.File // of the newest checkpoint
}

func checkpointProgram(f *flag.FlagSet) func() (figures, error) {
	c := &checkpoints{}
	f.IntVar(&c.n, "n", million, "`entries` held")
	f.IntVar(&c.size, "size", 100, "`bytes` of an entry's data")
	f.IntVar(&c.warm, "warm", 2, "`repetitions` before those that are measured")
	f.IntVar(&c.repeats, "repeats", 5, "`repetitions` that are measured")
	f.BoolVar(&c.full, "full", false, "write all of it each time")
	return c.figures
}

const perRequest = 100

func (c *checkpoints) figures() (_ figures, err error) {
	ctx := context.Background()
	c.store, c.names, c.pass = newMemory(), keys(plainKeys), make(chan struct{})
	if c.history, err = checkpoint.Open(ctx, c.store, checkpoint.Job{Name: "benchmarks"}, checkpoint.Options{}); err != nil {
		return nil, err
	}
	gate := asyncsink.SubmitFunc[entry](func(ctx context.Context, _ *asyncsink.Batch[entry]) error {
		select {
		case <-c.pass:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	c.w, err = asyncsink.New(ctx, gate, traits, asyncsink.Config{
		Batch:    limits.Batch{Entries: perRequest},
		Held:     limits.Held{Entries: limits.Entries(2*c.n + 1000), Bytes: 1024 * limits.GiB},
		InFlight: limits.InFlight{Requests: 1, Timeout: time.Hour, Controller: limits.Static},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		now, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = c.w.Close(now) // it says that something is left
	}()
	if err := c.write(c.n); err != nil {
		return nil, err
	}
	if _, err := c.take(ctx); err != nil {
		return nil, err
	}
	var took time.Duration
	var bytes int64
	for i := range c.warm + c.repeats {
		if err := c.change(max(c.n/100, perRequest)); err != nil {
			return nil, err
		}
		before := c.store.written
		d, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		if i >= c.warm {
			took, bytes = took+d, bytes+c.store.written-before
		}
	}
	n := float64(c.repeats)
	return figures{"ms_per_checkpoint": took.Seconds() * 1e3 / n, "bytes_per_checkpoint": float64(bytes) / n}, nil
}

func (c *checkpoints) write(n int) error {
	for i := range n {
		if _, err := c.w.Write(context.Background(), entry{c.names[i%len(c.names)], make([]byte, c.size)}); err != nil {
			return err
		}
	}
	return nil
}

// change lets n entries be delivered and writes as many.
func (c *checkpoints) change(n int) error {
	left := c.w.Held() - n/perRequest*perRequest
	for range n / perRequest {
		c.pass <- struct{}{}
	}
	for c.w.Held() > left {
		time.Sleep(100 * time.Microsecond)
	}
	return c.write(n)
}

// take takes a checkpoint, as a runner does.
func (c *checkpoints) take(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	s, err := c.w.Snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	var changes *asyncsink.Changes[entry]
	shared := sharing{c, nil, map[string]checkpoint.File{}}
	_, err = c.history.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) (err error) {
		encode := s.Encode
		if shared.d = d; !c.full {
			if changes, err = s.Changes(ctx, shared); err != nil {
				return err
			}
			encode = changes.Encode
		}
		f, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error {
			e, err := statecodec.NewEncoder(w, statecodec.Header{Job: "benchmarks", Instance: "0", Checkpoint: d.ID(), Epoch: d.Epoch()})
			if err != nil {
				return err
			}
			return errors.Join(encode(e), e.Close())
		})
		shared.files[f.Name] = f
		return err
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	c.files = shared.files
	if changes != nil {
		for name, f := range c.files {
			if f.Role == checkpoint.RoleState {
				changes.Saved(name)
			}
		}
	}
	return took, nil
}

// sharing is a draft, as a snapshot shares files with it.
type sharing struct {
	c     *checkpoints
	d     *checkpoint.Draft
	files map[string]checkpoint.File
}

// Share implements asyncsink.Files. Nothing is spilled here, so that each file has a name.
func (x sharing) Share(_ context.Context, f asyncsink.File) (string, error) {
	got := x.c.files[f.Name]
	got.Role = checkpoint.RoleLog
	x.files[got.Name] = got
	return got.Name, x.d.Share(got)
}
