package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// hiccup is a store one of whose reads breaks in the middle.
type hiccup struct {
	checkpoint.Store
	opened atomic.Int64
	at     int64
}

var errReset = errors.New("connection reset by peer")

func (s *hiccup) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := s.Store.Open(ctx, name)
	if strings.Contains(name, "/data/") && s.opened.Add(1) == s.at && err == nil {
		return &breaking{r, 10_000}, nil
	}
	return r, err
}

type breaking struct {
	io.ReadCloser
	left int
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errReset
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Entries are taken back for as long as an outage lasts, and a connection does not last as long.
func TestAReadThatBreaksIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 9_000)
		dst := store{trip: 10 * time.Millisecond}
		j := job(&lines{total: 9_000}, &dst, dir)
		j.State.Store = &hiccup{Store: local(dir), at: 3}
		j.Writer.Held = limits.Held{Entries: 100}
		result := run(t, j, nil)
		require.NoError(t, result.Err)
		dst.has(t, 9_000)
	})
}

// slowDeletes is a store as a bucket is: each deletion is a request.
type slowDeletes struct{ checkpoint.Store }

func (s slowDeletes) Delete(ctx context.Context, name string) error {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Store.Delete(ctx, name)
}

// What a crash has left is removed beside the checkpoints, not instead of them.
func TestSweepingHoldsNoCheckpointUp(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 1)
		s := local(dir)
		for i := range 2000 {
			name := fmt.Sprintf("test/0/data/1-%d", 1000+i)
			require.NoError(t, s.Put(context.Background(), name, func(io.Writer) error { return nil }))
			require.NoError(t, os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now()))
		}
		dst := store{trip: 10 * time.Millisecond}
		j := job(&lines{total: 100_000}, &dst, dir)
		type locker struct {
			slowDeletes
			checkpoint.Locker
		}
		j.State.Store = locker{slowDeletes{s}, s.(checkpoint.Locker)}
		j.Writer.Held = limits.Held{Entries: 10}
		log := logged(&j)
		run(t, j, func(r *Runner[string]) { time.Sleep(20 * time.Second); r.Stop() })
		require.Greater(t, count(log, "msg=checkpoint "), 10, "in 20 s, one each 50 ms")
	})
}
