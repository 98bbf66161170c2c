package pipeline

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// slowCreates is a store that takes its time over the n-th manifest, and says so.
type slowCreates struct {
	checkpoint.Store
	n     atomic.Int64
	begun chan struct{}
}

func (s *slowCreates) Create(ctx context.Context, name string, data []byte) error {
	if strings.Contains(name, "/chk-") && s.n.Add(-1) == 0 {
		close(s.begun)
		time.Sleep(10 * time.Second)
	}
	return s.Store.Create(ctx, name, data)
}

// A stop that comes while a slow checkpoint writes small files again as one saves what is left.
func TestAStopDuringASlowCheckpointSavesWhatIsLeft(t *testing.T) {
	for n := int64(17); n < 21; n++ {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			first := make(chan struct{})
			j := job(&lines{total: 100, once: true, pace: 50 * time.Millisecond}, &store{}, dir)
			j.Open = func(ctx context.Context, c asyncsink.Config) (*asyncsink.Writer[string], error) {
				return asyncsink.New(ctx, submitter(func(ctx context.Context, b *asyncsink.Batch[string]) error {
					if b.At(0) == "0" {
						<-first
						return nil
					}
					<-ctx.Done()
					return asyncsink.Outcome{Kind: asyncsink.Retry, Err: ctx.Err()}
				}), asyncsink.Traits[string]{Size: func(e string) int { return len(e) }}, c)
			}
			s := &slowCreates{Store: local(dir), begun: make(chan struct{})}
			s.n.Store(1 + n) // the first is the epoch's
			j.State.Store, j.Deadline, j.State.Retained = s, time.Second, 1
			j.Writer.Batch = limits.Batch{Entries: 1}
			j.Writer.InFlight = limits.InFlight{Requests: 1000, Timeout: time.Hour, Controller: limits.Static}
			result := run(t, j, func(r *Runner[string]) {
				<-s.begun
				close(first)
				time.Sleep(100 * time.Millisecond)
				r.Stop()
			})
			require.NoError(t, result.Err, "slow: checkpoint %d", n)
		})
	}
}

type submitter func(context.Context, *asyncsink.Batch[string]) error

func (f submitter) Submit(ctx context.Context, b *asyncsink.Batch[string]) error { return f(ctx, b) }
