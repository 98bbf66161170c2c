package pipeline

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// slowLists is a store that takes its time to list data files.
type slowLists struct {
	checkpoint.Store
	by time.Duration
}

func (s *slowLists) List(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
	if strings.HasSuffix(prefix, "data/") {
		select {
		case <-time.After(s.by):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.List(ctx, prefix)
}

// leftInTwo leaves 1,500 entries of a job in one file of its only checkpoint, and as many in another.
func leftInTwo(t *testing.T, dir, name string) *checkpoint.Checkpoint {
	for _, n := range []int{1500, 3000} {
		dst := store{hang: true}
		j := job(&lines{total: n, endless: true}, &dst, dir)
		j.Name, j.Deadline, j.State.Retained = name, time.Millisecond, 1
		result := run(t, j, func(r *Runner[string]) { time.Sleep(time.Second); r.Stop() })
		require.EqualValues(t, n, result.Left)
	}
	all, err := checkpoint.List(context.Background(), local(dir), checkpoint.Job{Name: name})
	require.NoError(t, err)
	return all[len(all)-1]
}

// A claimed checkpoint is deleted only once its entries are read elsewhere.
func TestAClaimedCheckpointStaysUntilItsCopiesAreRead(t *testing.T) {
	for _, name := range []string{"old", "test"} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			c := leftInTwo(t, dir, name)
			require.Len(t, c.Files, 3)
			dst := store{trip: 500 * time.Millisecond}
			j := job(&lines{total: 3000}, &dst, dir)
			j.State.Store = &slowLists{local(dir), 20 * time.Second}
			j.State.From = &From{Name: c.Name(), Mode: checkpoint.Claim}
			j.State.Retained = 1
			j.Writer.Held, j.Writer.InFlight = limits.Held{Entries: 20}, limits.InFlight{Requests: 1}
			result := run(t, j, nil)
			require.NoError(t, result.Err, name)
			dst.has(t, 3000)
		})
	}
}
