package pipeline

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/stream"
)

// inLots gives as many records at once as there is room for, as real sources do.
type inLots struct{ lines }

func (s *inLots) Read(ctx context.Context, dst []stream.Record) (n int, err error) {
	for n < len(dst) && s.next < s.total {
		k, err := s.lines.Read(ctx, dst[n:])
		if err != nil {
			return n, err
		}
		n += k
	}
	if n == 0 {
		return s.lines.Read(ctx, dst)
	}
	return n, nil
}

var errBusy = errors.New("busy")

// What settles of an earlier life and of this one comes as one range where they are neighbours.
func TestReplayKeepsOldEntriesWhoseNeighboursOfThisLifeSettle(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 20)
		dst := store{trip: 10 * time.Millisecond, answer: func(e string, _ int) asyncsink.Outcome {
			if n, _ := strconv.Atoi(e); n < 19 {
				return asyncsink.Outcome{Kind: asyncsink.Retry, Err: errBusy}
			}
			return asyncsink.Outcome{}
		}}
		src := &inLots{lines{total: 200, endless: true}}
		j := job(&src.lines, &dst, dir)
		j.Source = src
		j.State.Recover, j.Deadline = Replay, time.Millisecond
		j.Writer.Batch, j.Writer.Held = limits.Batch{Entries: 20}, limits.Held{Entries: 40}
		j.Writer.InFlight = limits.InFlight{Requests: 1}
		result := run(t, j, func(r *Runner[string]) { time.Sleep(time.Minute); r.Stop() })
		require.NoError(t, result.Err)
		require.EqualValues(t, 19, result.Left)
		require.EqualValues(t, 19, checkpoints(t, dir)[len(checkpoints(t, dir))-1].Entries, "old entries are in no checkpoint")

		dst.answer = nil
		result = run(t, job(&lines{total: 200}, &dst, dir), nil)
		require.NoError(t, result.Err)
		for i := range 200 {
			require.NotZero(t, dst.copies()[strconv.Itoa(i)], "record %d is lost", i)
		}
	})
}
