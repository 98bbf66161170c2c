package pipeline

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/stream"
)

// With recover: replay a checkpoint holds positions only, and what was held is read again.
func TestReplayGoesOnFromTheLowWaterMark(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: time.Millisecond, answer: func(e string, _ int) asyncsink.Outcome {
			if e == "150" { // everything up to 149 settles
				return asyncsink.Outcome{Kind: asyncsink.Throttled}
			}
			return asyncsink.Outcome{}
		}}
		j := job(&lines{total: 1000, endless: true}, &dst, dir)
		j.State.Recover = Replay
		log := logged(&j)
		j.Deadline = time.Millisecond
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Minute)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.EqualValues(t, 1, result.Left)
		require.Contains(t, log.String(), "entries=0")
		for _, c := range checkpoints(t, dir) {
			require.Zero(t, c.Entries)
			require.Less(t, c.Bytes(), int64(500))
		}

		dst.answer = nil
		j = job(&lines{total: 1000}, &dst, dir)
		j.State.Recover = Replay
		again := run(t, j, nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 850, Delivered: 850}, again)
		require.Len(t, dst.copies(), 1000)
		more := run(t, j2(&lines{total: 1010, broken: map[int]bool{1009: true}}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 10, Delivered: 9, Dead: 1}, more)
		last := run(t, j2(&lines{total: 1010}, &dst, dir), nil)
		require.Zero(t, last.Accepted, "the broken record at the end is passed as well")
	})
}

func j2(src *lines, dst *store, dir string) Job[string] {
	j := job(src, dst, dir)
	j.State.Recover = Replay
	j.DeadLetters = &deadLetters{}
	return j
}

// What an earlier life took from the source and left as entries is kept as such until it has settled.
func TestReplayKeepsEntriesThatTheSourceDoesNotGiveAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 100, endless: true}, &dst, dir)
		j.Deadline = time.Millisecond
		run(t, j, func(r *Runner[string]) { time.Sleep(time.Second); r.Stop() })
		for range 3 { // lives that get nowhere
			j := j2(&lines{total: 100, endless: true}, &dst, dir)
			j.Deadline = time.Millisecond
			result := run(t, j, func(r *Runner[string]) { time.Sleep(time.Second); r.Stop() })
			require.EqualValues(t, 100, result.Left)
		}
		dst.hang = false
		require.EqualValues(t, 100, run(t, j2(&lines{total: 100}, &dst, dir), nil).Delivered)
		dst.has(t, 100)
	})
}

func TestReplayNeedsASourceThatCanBeReadAgain(t *testing.T) {
	j := job(&lines{once: true}, &store{}, t.TempDir())
	j.State.Recover = Replay
	_, err := New(j)
	var fault *limits.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "state.recover", fault.Field)
}

func TestEveryFaultOfTheStateIsReported(t *testing.T) {
	j := job(&lines{}, &store{}, "")
	j.State = State{Interval: 1, MinPause: -1, Timeout: 1, Tolerate: -1, Recover: "guess", Retained: 2000, From: &From{}}
	_, err := New(j)
	for _, field := range []string{"interval", "min_pause", "timeout", "tolerate", "recover", "retained", "from", "url"} {
		require.ErrorContains(t, err, "state."+field)
	}
}

// faulty is a store that can be made to fail or stall.
type faulty struct {
	checkpoint.Store
	fail  atomic.Bool
	stall atomic.Bool
	count atomic.Int64 // of what has failed
}

var errStore = errors.New("store is down")

func (f *faulty) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	if f.stall.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.fail.Load() {
		f.count.Add(1)
		return errStore
	}
	return f.Store.Put(ctx, name, fill)
}

func TestTooManyFailedCheckpointsEndTheJob(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 10 * time.Millisecond}
		f := &faulty{Store: local(dir)}
		j := job(&lines{total: 100_000}, &dst, dir)
		j.State.Store, j.State.Tolerate, j.Writer.Held = f, 3, limits.Held{Entries: 10}
		log := logged(&j)
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			f.fail.Store(true)
			for f.count.Load() < 2 { // which is tolerated
				time.Sleep(10 * time.Millisecond)
			}
			f.fail.Store(false)
			time.Sleep(time.Second)
			f.fail.Store(true)
		})
		var failed *CheckpointError
		require.ErrorAs(t, result.Err, &failed)
		require.Equal(t, 4, failed.Failed)
		require.ErrorIs(t, result.Err, errStore)
		require.Equal(t, Failed, result.Outcome)
		require.GreaterOrEqual(t, count(log, "checkpoint failed"), 5)
	})
}

func TestAStoreThatStallsCostsOneCheckpointAndNoTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 10 * time.Millisecond}
		f := &faulty{Store: local(dir)}
		j := job(&lines{total: 2000}, &dst, dir)
		j.State.Store, j.State.Timeout, j.Writer.Held = f, 2*time.Second, limits.Held{Entries: 10}
		log := logged(&j)
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			f.stall.Store(true)
			time.Sleep(500 * time.Millisecond)
			f.stall.Store(false)
		})
		require.NoError(t, result.Err)
		require.EqualValues(t, 2000, result.Delivered)
		require.Equal(t, 1, count(log, "checkpoint failed"))
		require.Contains(t, log.String(), context.DeadlineExceeded.Error())
	})
}

// A failure of the sink after the checkpoint was begun fails that one: the one before it stays the newest.
func TestAFailureOfTheSinkFailsTheCheckpointThatIsBeingTaken(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Bool
		dst := store{trip: 10 * time.Millisecond}
		f := &faulty{Store: local(dir)}
		gone := errors.New("gone")
		dst.answer = func(string, int) asyncsink.Outcome {
			if begun.Load() {
				return asyncsink.Outcome{Kind: asyncsink.Fatal, Err: gone}
			}
			return asyncsink.Outcome{}
		}
		j := job(&lines{total: 100_000}, &dst, dir)
		j.State.Store, j.Writer.Held = &slowStore{Store: f, before: func() {
			if !begun.Swap(true) {
				time.Sleep(time.Second) // the sink fails meanwhile
			}
		}}, limits.Held{Entries: 10}
		log := logged(&j)
		result := run(t, j, nil)
		require.ErrorIs(t, result.Err, gone)
		require.Equal(t, 1, count(log, "checkpoint failed"))
		require.Contains(t, log.String(), "gone")
		require.Equal(t, 1, count(log, "msg=checkpoint "), "the last one, which holds what is left")
	})
}

type slowStore struct {
	checkpoint.Store
	before func()
}

func (s *slowStore) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	s.before()
	return s.Store.Put(ctx, name, fill)
}

func TestCheckpointsLeaveAPauseBetweenThem(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 10 * time.Millisecond}
		j := job(&lines{total: 1000, endless: true}, &dst, dir)
		j.State.Store = &slowStore{Store: local(dir), before: func() { time.Sleep(time.Second) }}
		j.State.MinPause, j.Writer.Held = 4*time.Second, limits.Held{Entries: 1}
		log := logged(&j)
		run(t, j, func(r *Runner[string]) { time.Sleep(10 * time.Second); r.Stop() })
		require.Equal(t, 3, count(log, "msg=checkpoint "), "at 0 s, 5 s and the last one")
	})
}

// left runs a job that delivers nothing, and leaves n records in its state.
func left(t *testing.T, dir, name string, n int) {
	dst := store{hang: true}
	j := job(&lines{total: n, endless: true}, &dst, dir)
	j.Name, j.Deadline = name, time.Millisecond
	result := run(t, j, func(r *Runner[string]) { time.Sleep(time.Second); r.Stop() })
	require.NoError(t, result.Err)
	require.EqualValues(t, n, result.Left)
}

func TestAJobGoesOnFromANamedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 30)
		first := checkpoints(t, dir)[0]
		dst := store{}
		j := job(&lines{total: 40}, &dst, dir)
		j.State.Retained = 5
		require.EqualValues(t, 40, run(t, j, nil).Delivered)
		for range 2 { // no-claim: as often as one likes
			dst = store{}
			j := job(&lines{total: 50}, &dst, dir)
			j.State.From = &From{ID: first.ID}
			result := run(t, j, nil)
			require.NoError(t, result.Err)
			require.EqualValues(t, 30, result.Restored)
			dst.has(t, 50)
		}
		ids := []uint64{}
		for _, c := range checkpoints(t, dir) {
			require.NoError(t, c.Verify(context.Background(), nil))
			ids = append(ids, c.ID)
		}
		require.Contains(t, ids, first.ID, "it is never touched")

		j = job(&lines{total: 50}, &dst, dir)
		j.State.From = &From{ID: 999}
		require.ErrorAs(t, run(t, j, nil).Err, new(*checkpoint.NotFoundError))
	})
}

func TestAJobGoesOnFromTheCheckpointOfAnotherOne(t *testing.T) {
	for _, mode := range []checkpoint.Mode{checkpoint.NoClaim, checkpoint.Claim} {
		for _, elsewhere := range []bool{false, true} {
			dir, other := t.TempDir(), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				if !elsewhere {
					other = dir
				}
				left(t, other, "old", 300)
				theirs, err := checkpoint.List(context.Background(), local(other), checkpoint.Job{Name: "old"})
				require.NoError(t, err)
				c := theirs[len(theirs)-1]
				name := strings.TrimPrefix(c.Path(), other+"/")

				dst := store{hang: true}
				j := job(&lines{total: 400, endless: true}, &dst, dir)
				j.State.From = &From{Name: name, In: local(other), Mode: mode}
				j.Writer.Held, j.Deadline = limits.Held{Entries: 20}, time.Millisecond
				result := run(t, j, func(r *Runner[string]) { time.Sleep(time.Second); r.Stop() })
				require.NoError(t, result.Err)
				require.EqualValues(t, 300, result.Restored)
				require.EqualValues(t, 300, result.Left)

				_, err = checkpoint.At(context.Background(), local(other), name)
				if mode == checkpoint.Claim {
					require.ErrorIs(t, err, os.ErrNotExist, "claimed, and subsumed")
				} else {
					require.NoError(t, err)
					require.NoError(t, c.Verify(context.Background(), nil))
				}
				dst.hang = false
				result = run(t, job(&lines{total: 400}, &dst, dir), nil)
				require.NoError(t, result.Err)
				dst.has(t, 400)
			})
		}
	}
}

func TestDamagedEntriesAreLeftOutOnlyWhenToldTo(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 2000)
		all := checkpoints(t, dir)
		c := all[len(all)-1]
		damaged := 0
		for _, f := range c.Files {
			path := filepath.Join(dir, "test", "0", f.Name)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			if len(data) > 5000 {
				data[len(data)/2] ^= 1
				require.NoError(t, os.WriteFile(path, data, 0o600))
				damaged++
			}
		}
		require.Equal(t, 1, damaged)

		dst := store{}
		refused := run(t, job(&lines{total: 2100}, &dst, dir), nil)
		require.ErrorAs(t, refused.Err, new(*checkpoint.DamagedError))
		require.ErrorContains(t, refused.Err, "data/")

		j := job(&lines{total: 2100}, &dst, dir)
		j.State.SkipDamaged = true
		log := logged(&j)
		result, err := New(j)
		require.NoError(t, err)
		got := result.Run(context.Background())
		require.NoError(t, got.Err)
		require.Equal(t, got.Accepted+got.Restored, got.Delivered, "the books balance without what is lost")
		require.Less(t, got.Restored, int64(2000))
		require.Contains(t, log.String(), "a part of the state is damaged and was left out")
		again := run(t, job(&lines{total: 2100}, &dst, dir), nil)
		require.NoError(t, again.Err, "what was left out is in no checkpoint any more")
		kept, err := filepath.Glob(filepath.Join(dir, "test", "0", "quarantine", "*"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		require.Len(t, dst.copies(), int(got.Delivered))
	})
}

func TestAnotherProcessThatTakesTheStateOverEndsTheJob(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 10 * time.Millisecond}
		j := job(&lines{total: 100_000}, &dst, dir)
		unlocked := struct{ checkpoint.Store }{local(dir)} // as remote stores are
		j.State.Store, j.Writer.Held = unlocked, limits.Held{Entries: 10}
		result := run(t, j, func(*Runner[string]) {
			time.Sleep(time.Second)
			h, err := checkpoint.Open(context.Background(), unlocked, checkpoint.Job{Name: "test"}, checkpoint.Options{})
			require.NoError(t, err)
			require.NoError(t, h.Close())
		})
		require.ErrorAs(t, result.Err, new(*checkpoint.StaleEpochError))
		require.Equal(t, Failed, result.Outcome)
	})
}

func TestASpillLogLiesBesideTheCheckpoints(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 5000, endless: true}, &dst, dir)
		j.Writer.Held, j.Writer.Spill.Bytes, j.Deadline = limits.Held{Entries: 100}, 1<<20, time.Millisecond
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			require.EqualValues(t, 4900, r.Stats().Spilled.Entries)
			_, err := os.Stat(filepath.Join(dir, "test", "0", "spill", "LOCK"))
			require.NoError(t, err)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.EqualValues(t, 5000, result.Left)
		dst.hang = false
		result = run(t, job(&lines{total: 5000}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Restored: 5000, Delivered: 5000}, result)
		dst.has(t, 5000)
	})
}

func TestPositionsAreReadFromAStateFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		left(t, dir, "test", 30)
		c := checkpoints(t, dir)[0]
		f, err := c.Open(context.Background(), c.State())
		require.NoError(t, err)
		defer f.Close()
		splits, err := Positions(f)
		require.NoError(t, err)
		require.Equal(t, []stream.Split{{ID: "lines", Position: []byte("30")}}, splits)
	})
	for blob, want := range map[string]string{"\x09file": "a position of the source", "": "a position of the source"} {
		_, err := positionOf([]byte(blob))
		require.ErrorContains(t, err, want)
	}
	_, err := Positions(strings.NewReader("no state"))
	require.Error(t, err)
}
