package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/stream"
)

// lines is a source of numbered records: "0", "1" and so on; those in broken are "x".
type lines struct {
	total   int
	broken  map[int]bool
	once    bool // it can't be read again
	endless bool // after the last record it blocks

	pace time.Duration // each Read returns one record after so long; 0: up to ten at once

	split string // default "lines"
	next  int
}

func (s *lines) id() string { return cmp.Or(s.split, "lines") }

func (s *lines) Replayable() bool { return !s.once }
func (s *lines) Close() error     { return nil }

func (s *lines) Discover(context.Context) ([]stream.Split, error) {
	return []stream.Split{{ID: s.id()}}, nil
}

func (s *lines) Assign(splits []stream.Split) error {
	if p := splits[0].Position; p != nil {
		n, err := strconv.Atoi(string(p))
		s.next = n
		return err
	}
	return nil
}

func (s *lines) Revoke([]string) error { return errors.New("not in use") }

func (s *lines) Read(ctx context.Context, dst []stream.Record) (n int, err error) {
	if s.pace > 0 && s.next < s.total {
		select {
		case <-time.After(s.pace):
			dst = dst[:1]
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	for n = 0; n < min(len(dst), 10) && s.next < s.total; n++ {
		value := strconv.Itoa(s.next)
		if s.broken[s.next] {
			value = "x"
		}
		s.next++
		dst[n] = stream.Record{Split: s.id(), Position: []byte(strconv.Itoa(s.next)), Value: []byte(value)}
	}
	switch {
	case n > 0: // what it has it gives, also when ctx has ended
		return n, nil
	case s.endless:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return 0, io.EOF
}

// store is a destination. What it has lives on over the runs of a test.
type store struct {
	mu     sync.Mutex
	got    []string
	answer func(entry string, attempt int) asyncsink.Outcome // nil: stored
	trip   time.Duration
	hang   bool
}

func (s *store) Submit(ctx context.Context, b *asyncsink.Batch[string]) error {
	if s.hang {
		<-ctx.Done()
		return asyncsink.Outcome{Kind: asyncsink.Retry, Err: ctx.Err()} // it stored nothing, and says so
	}
	time.Sleep(s.trip) // of the bubble's clock
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range b.All() {
		o := asyncsink.Outcome{}
		if s.answer != nil {
			o = s.answer(e, b.Attempt(i))
		}
		if o.Kind == asyncsink.Delivered {
			s.got = append(s.got, e)
		} else {
			b.Set(i, o)
		}
	}
	return nil
}

func (s *store) has(t *testing.T, n int, but ...int) {
	t.Helper()
	counts := map[string]int{}
	for _, e := range s.got {
		counts[e]++
	}
	for i := range n {
		want := 1
		for _, b := range but {
			if b == i {
				want = 0
			}
		}
		require.Equal(t, want, counts[strconv.Itoa(i)], "copies of record %d", i)
	}
}

// deadLetters keeps what it is given.
type deadLetters struct {
	mu      sync.Mutex
	letters []DeadLetter
	err     error
	delay   time.Duration
}

func (d *deadLetters) Write(ctx context.Context, letters []DeadLetter) error {
	select {
	case <-time.After(d.delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.letters = append(d.letters, letters...)
	}
	return d.err
}

func (d *deadLetters) classes() (all []string) {
	for _, l := range d.letters {
		all = append(all, fmt.Sprintf("%s %s@%s %s", l.Class, l.Split, l.Position, l.Data))
	}
	return all
}

func convert(r stream.Record) (string, error) {
	if string(r.Value) == "x" {
		return "", errors.New("x is no number")
	}
	return string(r.Value), nil
}

func job(src *lines, dst *store, dir string) Job[string] {
	return Job[string]{
		Name: "test", Source: src, Convert: convert,
		Open: func(ctx context.Context, c asyncsink.Config) (*asyncsink.Writer[string], error) {
			return asyncsink.New(ctx, dst, asyncsink.Traits[string]{Size: func(e string) int { return len(e) }}, c)
		},
		State: State{Store: local(dir), Interval: 50 * time.Millisecond},
	}
}

// local is a store in a folder; without one there is none.
func local(dir string) checkpoint.Store {
	if dir == "" {
		return nil
	}
	s, err := checkpoint.OpenLocal(dir)
	if err != nil {
		panic(err)
	}
	return s
}

// checkpoints are all complete ones, the newest last.
func checkpoints(t *testing.T, dir string) []*checkpoint.Checkpoint {
	t.Helper()
	all, err := checkpoint.List(context.Background(), local(dir), checkpoint.Job{Name: "test"})
	require.NoError(t, err)
	return all
}

func run(t *testing.T, j Job[string], during func(*Runner[string])) Result {
	t.Helper()
	r, err := New(j)
	require.NoError(t, err)
	if during != nil {
		go during(r)
	}
	result := r.Run(context.Background())
	require.Equal(t, result.Accepted+result.Restored, result.Delivered+result.Dead+result.Left, "%+v", result)
	return result
}

// logged runs f with a log and returns its lines.
func logged(j *Job[string]) *bytes.Buffer {
	var b bytes.Buffer
	j.Logger = slog.New(slog.NewTextHandler(&syncWriter{w: &b}, nil))
	return &b
}

type syncWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

func count(b *bytes.Buffer, text string) int { return strings.Count(b.String(), text) }

// copies is how often each entry was stored.
func (s *store) copies() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, e := range s.got {
		counts[e]++
	}
	return counts
}
