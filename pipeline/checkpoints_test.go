package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// A destination that throttles everything for good: checkpoints are complete all the same, and so is the
// stop. The buffer is full of what the destination handed back.
func TestCheckpointsEndUnderLastingThrottling(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: time.Millisecond, answer: func(string, int) asyncsink.Outcome {
			return asyncsink.Outcome{Kind: asyncsink.Throttled}
		}}
		j := job(&lines{total: 1000}, &dst, dir)
		j.Writer.Held, j.Writer.Batch = limits.Held{Entries: 300}, limits.Batch{Entries: 50}
		j.Deadline = time.Second
		log := logged(&j)
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Minute)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.Contains(t, log.String(), "msg=checkpoint id=2 entries=300")
		require.Contains(t, log.String(), "msg=checkpoint id=3 entries=300", "the last one; the first was taken while the job ran")
		require.Equal(t, Result{Outcome: Stopped, Accepted: 300, Left: 300}, result)

		dst.answer = nil
		result = run(t, job(&lines{total: 1000}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 700, Restored: 300, Delivered: 1000}, result)
		dst.has(t, 1000)
	})
}

// What goes wrong with a checkpoint fails that one: the one before it stays the newest, and the next holds
// everything again.
func TestAFailedCheckpointIsTheOnlyOneThatFails(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 300 * time.Millisecond}
		spoilt := &spoiltCodec{}
		j := job(&lines{total: 30}, &dst, dir)
		j.Writer.Batch, j.Writer.InFlight = limits.Batch{Entries: 1}, limits.InFlight{Requests: 1} // 9 s for all
		j.Writer.Held = limits.Held{Entries: 3}                                                    // so that each checkpoint has something to write
		j.Open = func(ctx context.Context, c asyncsink.Config) (*asyncsink.Writer[string], error) {
			return asyncsink.New(ctx, &dst, asyncsink.Traits[string]{Size: func(e string) int { return len(e) }, Codec: spoilt}, c)
		}
		log := logged(&j)
		seen := make(chan string, 3)
		result := run(t, j, func(*Runner[string]) {
			for _, spoil := range []bool{true, false, false} {
				time.Sleep(2 * time.Second)
				seen <- newest(t, dir)
				spoilt.now.Store(spoil)
			}
			checkNewest(t, dir)
		})
		require.NoError(t, result.Err)
		require.Equal(t, Result{Outcome: Done, Accepted: 30, Delivered: 30}, result)
		before, meanwhile, after := <-seen, <-seen, <-seen
		require.Equal(t, before, meanwhile)
		require.Greater(t, after, meanwhile)
		require.Positive(t, count(log, "checkpoint failed: the one before it stays the newest"))
		require.Contains(t, log.String(), errSpoilt.Error())
	})
}

var errSpoilt = errors.New("spoilt")

// spoiltCodec is one that fails for a while.
type spoiltCodec struct {
	statecodec.String
	now atomic.Bool
}

func (c *spoiltCodec) AppendEncode(dst []byte, e string) ([]byte, error) {
	if c.now.Load() {
		return nil, errSpoilt
	}
	return c.String.AppendEncode(dst, e)
}

// newest is the name of the newest complete checkpoint.
func newest(t *testing.T, dir string) string {
	all := checkpoints(t, dir)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Path()
}
