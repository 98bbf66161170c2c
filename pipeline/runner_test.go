package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

func TestAJobEndsWithItsSourceAndEverythingSettled(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		result := run(t, job(&lines{total: 1234}, &dst, dir), nil)
		require.NoError(t, result.Err)
		require.Equal(t, Result{Outcome: Done, Accepted: 1234, Delivered: 1234}, result)
		dst.has(t, 1234)

		again := run(t, job(&lines{total: 1234}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done}, again, "a job that is done has nothing left to read")
		dst.has(t, 1234)

		longer := run(t, job(&lines{total: 1300}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 66, Delivered: 66}, longer)
		dst.has(t, 1300)
	})
}

func TestCheckpointsAreTakenWhileRequestsAreOut(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 400 * time.Millisecond}
		j := job(&lines{total: 5000}, &dst, dir)
		j.Writer.Held = limits.Held{Entries: 500}
		log := logged(&j)
		result := run(t, j, nil)
		require.NoError(t, result.Err)
		dst.has(t, 5000)
		require.GreaterOrEqual(t, count(log, "msg=checkpoint id="), 5, "one for each answer that changed something")
		require.Contains(t, log.String(), "entries=500", "with what was in flight")
	})
}

func TestStopDrainsAndSavesNothingWhenAllSettles(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 100 * time.Millisecond}
		result := run(t, job(&lines{total: 300, endless: true}, &dst, dir), func(r *Runner[string]) {
			time.Sleep(150 * time.Millisecond)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.Equal(t, Result{Outcome: Stopped, Accepted: 300, Delivered: 300}, result)
	})
}

func TestWhatIsLeftAtTheDeadlineIsSavedAndGoesFirstNextTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 300, endless: true}, &dst, dir)
		j.Deadline = 5 * time.Second
		begun := time.Now()
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.Equal(t, Stopped, result.Outcome)
		require.EqualValues(t, 300, result.Left)
		require.WithinDuration(t, begun.Add(6*time.Second), time.Now(), 2*time.Second)

		dst.hang = false
		j = job(&lines{total: 400}, &dst, dir)
		j.Writer.InFlight.Requests = 1 // so that arrival is the order of sending
		log := logged(&j)
		result = run(t, j, nil)
		require.NoError(t, result.Err)
		require.Equal(t, Result{Outcome: Done, Accepted: 100, Restored: 300, Delivered: 400}, result,
			"the destination said that it stored nothing, so nothing is a possible duplicate")
		require.Contains(t, log.String(), "msg=restored checkpoint=")
		require.Contains(t, log.String(), "entries=300 position=300")
		dst.has(t, 400)
		require.Equal(t, "0", dst.got[0])
	})
}

func TestASecondStopSavesAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 300, endless: true}, &dst, dir)
		j.Deadline = time.Hour
		begun := time.Now()
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.EqualValues(t, 300, result.Left)
		require.Less(t, time.Since(begun), 10*time.Second)
	})
}

func TestStopWhileAWriteWaitsForRoomTakesNoFurtherRecord(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 300}, &dst, dir)
		j.Writer.Held = limits.Held{Entries: 25}
		j.Deadline = time.Second
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.EqualValues(t, 25, result.Accepted)
		require.EqualValues(t, 25, result.Left)
		dst.hang = false
		result = run(t, job(&lines{total: 300}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 275, Restored: 25, Delivered: 300}, result)
		dst.has(t, 300)
	})
}

func TestAFatalDestinationFailsTheJobAndLosesNothing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		noStream := errors.New("no such stream")
		dst := store{answer: func(string, int) asyncsink.Outcome {
			return asyncsink.Outcome{Kind: asyncsink.Fatal, Err: noStream}
		}}
		result := run(t, job(&lines{total: 300}, &dst, dir), nil)
		require.Equal(t, Failed, result.Outcome)
		require.ErrorIs(t, result.Err, noStream)
		require.NotZero(t, result.Left)

		dst.answer = nil
		result = run(t, job(&lines{total: 300}, &dst, dir), nil)
		require.NoError(t, result.Err)
		dst.has(t, 300)
	})
}

func TestWithoutStateWhatIsLeftIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 30}, &dst, "")
		j.Deadline = time.Second
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.Equal(t, Failed, result.Outcome)
		require.ErrorIs(t, result.Err, ErrLeftUnsaved)
	})
}

func TestASourceThatCannotBeReadAgainSaysSoAndKeepsWhatItCheckpointed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 30, once: true, endless: true}, &dst, dir)
		j.Deadline = time.Second
		log := logged(&j)
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.Contains(t, log.String(), "cannot be replayed")
		require.EqualValues(t, 30, result.Left)
		dst.hang = false
		result = run(t, job(&lines{once: true}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Restored: 30, Delivered: 30}, result)
	})
}

func TestTheStateOfARunningJobIsLocked(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		run(t, job(&lines{total: 30, endless: true}, &dst, dir), func(r *Runner[string]) {
			time.Sleep(time.Second)
			second := run(t, job(&lines{total: 30}, &dst, dir), nil)
			require.Equal(t, Failed, second.Outcome)
			require.ErrorAs(t, second.Err, new(*checkpoint.LockedError))
			r.Stop()
		})
	})
}

func TestAllFaultsOfAJobAreReportedAtOnce(t *testing.T) {
	_, err := New(Job[string]{Deadline: -1, State: State{Interval: time.Microsecond}})
	for _, field := range []string{"name", "source", "convert", "open", "shutdown.deadline", "state.interval"} {
		require.ErrorContains(t, err, field+": ")
	}
}

func TestAnEndedContextStopsAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		r, err := New(job(&lines{total: 30, endless: true}, &dst, dir))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		result := r.Run(ctx)
		require.NoError(t, result.Err)
		require.Equal(t, Stopped, result.Outcome)
		require.EqualValues(t, 30, result.Left)
	})
}

func TestACheckpointHoldsARecordOrItsPositionNeverBoth(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: time.Millisecond}
		j := job(&lines{total: 20_000, endless: true}, &dst, dir)
		j.State.Interval = time.Millisecond // one falls due in the middle of nearly every lot
		j.Writer.Held = limits.Held{Entries: 300}
		j.Writer.Batch.Entries = 7
		r, err := New(j)
		require.NoError(t, err)
		checked := 0
		go func() {
			for range 100 {
				time.Sleep(time.Millisecond)
				checked += checkNewest(t, dir)
			}
			r.Stop()
		}()
		require.NoError(t, r.Run(context.Background()).Err)
		require.Greater(t, checked, 10)
	})
}

// checkNewest reads the newest checkpoint: what it holds lies before its position, each once.
func checkNewest(t *testing.T, dir string) int {
	all := checkpoints(t, dir)
	if len(all) == 0 {
		return 0
	}
	c := all[len(all)-1]
	file, err := c.Open(context.Background(), c.State())
	if errors.Is(err, fs.ErrNotExist) {
		return 0 // pruned in between
	}
	require.NoError(t, err)
	defer file.Close()
	var p positions
	_, err = readState(file, "sink", false, &p)
	require.NoError(t, err)
	position, err := strconv.Atoi(p.String())
	require.NoError(t, err)
	seen := map[string]bool{}
	for e, err := range c.Contents(context.Background(), nil) {
		if errors.Is(err, fs.ErrNotExist) {
			return 0
		}
		require.NoError(t, err)
		n, err := strconv.Atoi(string(e.Data))
		require.NoError(t, err)
		require.Less(t, n, position, "held, and to be read again")
		require.False(t, seen[string(e.Data)], "held twice")
		seen[string(e.Data)] = true
	}
	require.Len(t, seen, int(c.Entries))
	return 1
}

func TestAStopLosesNothingThatASourceWithoutReplayHasGiven(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		src := &lines{total: 2000, once: true, endless: true}
		j := job(src, &dst, dir)
		j.Writer.Held = limits.Held{Entries: 25}
		j.Deadline = time.Second
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.Equal(t, Stopped, result.Outcome)
		require.EqualValues(t, src.next, result.Left, "all that was taken from the source is saved")

		dst.hang = false
		result = run(t, job(&lines{once: true}, &dst, dir), nil)
		require.NoError(t, result.Err)
		dst.has(t, src.next)
	})
}

func TestAStateOfAnotherSourceIsRefused(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		run(t, job(&lines{total: 10}, &dst, dir), nil)
		result := run(t, job(&lines{total: 10, split: "others"}, &dst, dir), nil)
		require.ErrorAs(t, result.Err, new(*UnknownSplitError))
	})
}

func TestAStopWhileOpeningIsAStop(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		j := job(&lines{total: 10}, &dst, dir)
		j.Open = func(ctx context.Context, _ asyncsink.Config) (*asyncsink.Writer[string], error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		require.Equal(t, Result{Outcome: Stopped}, result)
	})
}

func TestABrokenRecordThatCannotBeReadAgainEndsTheJobAndTheRestIsKept(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{}
		src := &lines{total: 30, once: true, endless: true, broken: map[int]bool{5: true, 7: true}}
		j := job(src, &dst, dir)
		log := logged(&j)
		result := run(t, j, nil)
		require.Equal(t, Failed, result.Outcome)
		require.ErrorAs(t, result.Err, new(*BrokenRecordError))
		require.Equal(t, 2, count(log, "is dropped"), "said for each, since it can't be read again")
		dst.has(t, src.next, 5, 7)
	})
}
