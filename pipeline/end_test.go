package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

// A job that ends without a last checkpoint does not wait out one that nobody answers any more.
func TestAFailedOutputEndsTheJobAlsoWhileACheckpointIsWritten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j := job(&lines{total: 1000, pace: 10 * time.Millisecond, broken: map[int]bool{10: true}}, &store{}, dir)
		j.DeadLetters = &deadLetters{err: errors.New("gone for good")}
		j.State.Store = &slowStore{Store: local(dir), before: func() { time.Sleep(5 * time.Second) }}
		j.Deadline = time.Second
		begun := time.Now()
		r, err := New(j)
		require.NoError(t, err)
		result := r.Run(context.Background())
		require.Error(t, result.Err)
		require.Less(t, time.Since(begun), time.Minute)
	})
}

// A person must know which file is damaged, and what can be done.
func TestDamageOfEntriesNamesTheFileAndSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 2000)
		all := checkpoints(t, dir)
		c := all[len(all)-1]
		for _, f := range c.Files {
			if f.Role == checkpoint.RoleLog {
				spoil(t, dir, f, "\x03999")
				r, err := New(job(&lines{total: 2100}, &store{}, dir))
				require.NoError(t, err)
				result := r.Run(context.Background())
				require.ErrorContains(t, result.Err, f.Name)

			}
		}
	})
}
