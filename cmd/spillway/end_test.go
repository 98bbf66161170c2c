package main

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/pipeline"
	"github.com/spillway-go/spillway/statecodec"
)

func TestTheExitStatusSaysWhetherTheStateWasRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{&checkpoint.StaleEpochError{Epoch: 1, Newer: 2}, 4},
		{fmt.Errorf("restore: %w", &checkpoint.NotFoundError{ID: 7}), 4},
		{&checkpoint.DamagedError{Err: fs.ErrNotExist}, 4},
		{&statecodec.NewerError{}, 4},
		{&checkpoint.LockedError{}, 4},
		{&checkpoint.OtherJobError{}, 4},
		{&blobstore.NotExclusiveError{}, 4},
		{errors.Join(fs.ErrPermission, &checkpoint.StaleEpochError{}), 4},
		{&pipeline.CheckpointError{Failed: 3, Err: &checkpoint.DamagedError{Err: fs.ErrNotExist}}, 1},
		{&blobstore.Error{Op: "list", Err: fs.ErrPermission}, 1},
		{fs.ErrNotExist, 1},
		{config.Faults{{Field: "name"}}, 2},
	} {
		require.Equal(t, c.want, status(pipeline.Result{Outcome: pipeline.Failed, Err: c.err}), "%v", c.err)
	}
}

func TestAnErrorThatSaysMoreThanThoseItJoinsStaysWhole(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	both := fmt.Errorf("%w: 7 of them: %w", a, b)
	require.Equal(t, []error{a, both, b}, flatten(errors.Join(a, errors.Join(both, b))))
	require.Empty(t, flatten(nil))
}

func TestProgressFollowsThePlan(t *testing.T) {
	p := progress{bytes: new(atomic.Int64), total: 1000}
	require.NoError(t, p.reads(500, func() error { p.bytes.Add(200); return nil }), "less than planned")
	require.Equal(t, "verified  50%   500B of 1000B   100B/s   5s left", p.line(p.done(), 100, false))
	require.NoError(t, p.reads(400, func() error { p.bytes.Add(600); return nil }), "more than planned")
	require.Equal(t, "verified  90%   [##################..]   900B of 1000B   0B/s", p.line(p.done(), 0, true))
	p.bytes.Add(1000)
	require.Equal(t, "verified 100%   [####################]   1000B of 1000B   9B/s", p.line(p.done(), 9, true))
	require.Equal(t, "verified 100%   0B of 0B   0B/s", new(progress).line(0, 0, false))
}
