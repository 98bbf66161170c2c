package pipeline

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// stallsOpening is a store whose reads of data files hang from the n-th on, until their contexts end.
type stallsOpening struct {
	checkpoint.Store
	from, opened atomic.Int64
}

func (s *stallsOpening) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.Contains(name, "/data/") && s.opened.Add(1) >= s.from.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Open(ctx, name)
}

// A store that hangs while the state is read does not keep the job from being stopped.
func TestAStopWhileTheStateIsReadIsAStop(t *testing.T) {
	for from := range int64(3) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			left(t, dir, "test", 30)
			var dst store
			s := &stallsOpening{Store: local(dir)}
			s.from.Store(from + 1)
			j := job(&lines{total: 30}, &dst, dir)
			j.State.Store = s
			r, err := New(j)
			require.NoError(t, err)
			ended := make(chan Result, 1)
			go func() { ended <- r.Run(context.Background()) }()
			time.Sleep(time.Second)
			r.Stop()
			r.Stop()
			select {
			case result := <-ended:
				require.NotEqual(t, Done, result.Outcome)
			case <-time.After(time.Hour):
				t.Errorf("the %d. read hangs: two stops have not ended the job in an hour", from+1)
				panic("hangs")
			}
		})
	}
}

// A third Stop ends the job, whatever the store does.
func TestAThirdStopEndsAJobWhoseStoreHangs(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		f := &faulty{Store: local(dir)}
		j := job(&lines{total: 100, endless: true}, &dst, dir)
		j.State.Store, j.Writer.Held, j.Deadline = f, limits.Held{Entries: 10}, time.Second
		var stopped time.Time
		run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			f.stall.Store(true)
			stopped = time.Now()
			r.Stop()
			time.Sleep(5 * time.Second)
			r.Stop()
			time.Sleep(5 * time.Second)
			r.Stop()
		})
		require.Less(t, time.Since(stopped), time.Minute)
	})
}
