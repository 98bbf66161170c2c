package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
)

// metered is a store that counts what is read.
type metered struct {
	checkpoint.Store
	bytes atomic.Int64
}

// Open implements checkpoint.Store.
func (m *metered) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := m.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return &meteredReader{r, &m.bytes}, nil
}

// String is what the store calls itself, in messages.
func (m *metered) String() string { return storeName(m.Store) }

func storeName(s checkpoint.Store) string {
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return ""
}

type meteredReader struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.bytes.Add(int64(n))
	return n, err
}

// progress shows how far reading is.
type progress struct {
	bytes *atomic.Int64 // read so far
	total int64         // that will be, as planned
	ahead atomic.Int64  // bytes that were planned and not read, less those that were read and not planned
}

// reads does what was planned to read so many bytes.
func (p *progress) reads(planned int64, do func() error) error {
	before := p.bytes.Load()
	err := do()
	p.ahead.Add(planned - (p.bytes.Load() - before))
	return err
}

// show shows it until the returned function is called, which waits for that.
func (p *progress) show(ctx context.Context, s *screen) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	meter := newMeter(s)
	go func() {
		defer close(ended)
		refresh(ctx, s, func() {
			done := p.done()
			line := p.line(done, meter.rate(time.Now(), done), s.width != nil)
			if s.width != nil {
				s.draw(line)
				return
			}
			fmt.Fprintln(s, line)
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// done is how much of what was planned has been read.
func (p *progress) done() int64 { return min(p.bytes.Load()+p.ahead.Load(), p.total) }

const barWidth = 20

func (p *progress) line(done int64, rate float64, bar bool) string {
	share := 1.0
	if p.total > 0 {
		share = min(1, max(0, float64(done)/float64(p.total)))
	}
	parts := []string{fmt.Sprintf("verified %3.0f%%", 100*share)}
	if bar {
		full := int(share * barWidth)
		parts = append(parts, "["+strings.Repeat("#", full)+strings.Repeat(".", barWidth-full)+"]")
	}
	parts = append(parts, size(done)+" of "+size(p.total), size(int64(rate))+"/s")
	if rate > 0 && done < p.total {
		parts = append(parts, span(time.Duration(float64(p.total-done)/rate*float64(time.Second)))+" left")
	}
	return strings.Join(parts, separator)
}
