package suites

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// spillProgram writes entries to a writer that has no room in memory, and makes what it
// has spilled durable once.
func spillProgram(f *flag.FlagSet) func() (figures, error) {
	p := &plain{}
	p.flags(f)
	return func() (figures, error) {
		bytes := 0
		once := func() (err error) {
			bytes, err = p.spill()
			return err
		}
		for range p.warm {
			if err := once(); err != nil {
				return nil, err
			}
		}
		m := newMeter()
		for range p.repeats {
			if err := once(); err != nil {
				return nil, err
			}
		}
		return perPayload(m, p.n, p.size, p.repeats, bytes), nil
	}
}

func (p *plain) spill() (bytes int, err error) {
	dir, err := os.MkdirTemp(p.dir, "spillway-benchmarks-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	w, err := asyncsink.New(ctx, never, traits, asyncsink.Config{
		Held: limits.Held{Entries: 100}, InFlight: limits.InFlight{Timeout: time.Hour},
		Spill: asyncsink.Spill{Dir: filepath.Join(dir, "log"), Bytes: 64 * limits.GiB},
	})
	if err != nil {
		return 0, err
	}
	defer closeNow(w)
	names, data := keys(plainKeys), make([]byte, p.size)
	for i := range p.n {
		if _, err := w.Write(ctx, entry{names[i%len(names)], data}); err != nil {
			return 0, err
		}
	}
	s, err := w.Snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	files, rest := &synced{}, &counter{w: io.Discard}
	c, err := s.Changes(ctx, files)
	if err != nil {
		return 0, err
	}
	err = encodeTo(rest, c.Encode) // what is in memory only
	return files.bytes + rest.n, err
}

// never answers.
var never = asyncsink.SubmitFunc[entry](func(ctx context.Context, _ *asyncsink.Batch[entry]) error {
	<-ctx.Done()
	return context.Cause(ctx)
})

func closeNow(w *asyncsink.Writer[entry]) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if left, _ := w.Close(now); left != nil { // it says that something is left
		left.Close()
	}
}

// synced makes spilled files durable, as a store in a folder does.
type synced struct{ bytes int }

// Share implements asyncsink.Files.
func (s *synced) Share(_ context.Context, f asyncsink.File) (string, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return "", err
	}
	s.bytes += int(f.Size)
	return f.Path, errors.Join(file.Sync(), file.Close())
}

// restoreProgram takes entries back into a writer's memory from a file that a checkpoint
// shares; with -decode, it only decodes the file.
func restoreProgram(f *flag.FlagSet) func() (figures, error) {
	p := &plain{}
	decode := f.Bool("decode", false, "only decode")
	p.flags(f)
	return func() (_ figures, err error) {
		dir, err := os.MkdirTemp(p.dir, "spillway-benchmarks-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		bytes, err := p.checkpoint(dir)
		if err != nil {
			return nil, err
		}
		once := func() error { return p.restore(dir) }
		if *decode {
			once = func() error { return decodeFile(filepath.Join(dir, "first")) }
		}
		return p.measure(bytes, once)
	}
}

// checkpoint writes a file of all entries, and a state that shares it.
func (p *plain) checkpoint(dir string) (bytes int, err error) {
	w, stop, err := holding(p.n, p.n, p.size)
	if err != nil {
		return 0, err
	}
	defer stop()
	for _, name := range []string{"first", "second"} {
		s, err := w.Snapshot()
		if err != nil {
			return 0, err
		}
		c, err := s.Changes(context.Background(), &synced{})
		if err != nil {
			return 0, err
		}
		file, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		counted := &counter{w: file}
		if err := errors.Join(encodeTo(counted, c.Encode), file.Sync(), file.Close()); err != nil {
			return 0, err
		}
		if c.Saved(name); bytes == 0 {
			bytes = counted.n
		}
		s.Close()
	}
	return bytes, nil
}

type counter struct {
	w io.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

func (p *plain) restore(dir string) error {
	open := func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }
	w, err := asyncsink.New(context.Background(), never, traits, asyncsink.Config{
		Held: limits.Held{Entries: limits.Entries(p.n + 1), Bytes: 1024 * limits.GiB}, InFlight: limits.InFlight{Timeout: time.Hour},
		Restore: &asyncsink.Restore{Name: "second", Open: func() (io.ReadCloser, error) { return open("second") }, File: open},
	})
	if err != nil {
		return err
	}
	defer closeNow(w)
	for w.Stats().Restored.Entries < int64(p.n) {
		if err := w.Err(); err != nil {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil
}

func decodeFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	dec, err := statecodec.NewDecoder(file, statecodec.Caps{})
	if err != nil {
		return err
	}
	for {
		if _, err := dec.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var e statecodec.Entry
		for err = dec.Entry(&e); err == nil; err = dec.Entry(&e) {
		}
		if err != io.EOF {
			return err
		}
	}
}
