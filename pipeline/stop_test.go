package pipeline

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestAStopWhileLettersAreAwaitedIsAStop(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{trip: 10 * time.Millisecond}
		j := job(&lines{total: 100000, broken: map[int]bool{1000: true, 2: true}, endless: true}, &dst, dir)
		j.Writer.Held.Entries = 100
		j.DeadLetters = &deadLetters{delay: 2 * time.Second}
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(500 * time.Millisecond)
			r.Stop()
		})
		require.NoError(t, result.Err)
		require.Equal(t, Stopped, result.Outcome)
	})
}

func TestLettersThatCannotBeSavedAreAnError(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		j := job(&lines{total: 100, broken: map[int]bool{20: true}, endless: true, once: true}, &dst, dir)
		j.DeadLetters = &deadLetters{delay: time.Hour}
		j.State.Interval = time.Minute
		j.Deadline = time.Second
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(500 * time.Millisecond)
			r.Stop()
		})
		require.Equal(t, Failed, result.Outcome)
		require.ErrorIs(t, result.Err, ErrLeftUnsaved, "no checkpoint can hold a record that is no entry")
		require.EqualValues(t, 1, result.Left)
	})
}

func TestTheStateOfAnotherWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		j := job(&lines{total: 300, endless: true}, &dst, dir)
		j.Writer.Name = "old"
		j.Deadline = time.Second
		run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Second)
			r.Stop()
		})
		dst.hang = false
		j = job(&lines{total: 400}, &dst, dir)
		j.Writer.Name = "new"
		require.ErrorAs(t, run(t, j, nil).Err, new(*UnknownOperatorError))

		j = job(&lines{total: 400}, &dst, dir)
		j.Writer.Name = "old"
		require.NoError(t, run(t, j, nil).Err)
		dst.has(t, 400)
	})
}

func TestWhatAStopKeepsStandsBehindWhatAnEarlierLifeLeft(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		dst := store{hang: true}
		life := func(src *lines, held int, stop bool) Result {
			j := job(src, &dst, dir)
			j.Writer.Order = asyncsink.Total
			j.Writer.Held.Entries = 1000
			if held > 0 {
				j.Writer.Held.Entries = limits.Entries(held)
			}
			j.Deadline = time.Second
			return run(t, j, func(r *Runner[string]) {
				if stop {
					time.Sleep(time.Second)
					r.Stop()
				}
			})
		}
		life(&lines{total: 300, once: true, endless: true}, 1000, true)
		life(&lines{total: 350, next: 300, once: true, endless: true}, 100, true)
		dst.hang = false
		life(&lines{once: true}, 1000, false)
		seen, last := map[string]bool{}, -1
		for i, e := range dst.got {
			n, _ := strconv.Atoi(e)
			if !seen[e] && n < last {
				t.Errorf("first occurrence of %d stands at %d, behind %d", n, i, last)
				break
			}
			seen[e], last = true, max(last, n)
		}
		require.Len(t, dst.got, 350)
	})
}
