package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
)

func TestBrokenRecordsGoToTheDeadLettersWithTheirPlace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		dead := deadLetters{delay: 20 * time.Millisecond}
		j := job(&lines{total: 100, broken: map[int]bool{3: true, 4: true, 99: true}}, &dst, dir)
		j.DeadLetters = &dead
		result := run(t, j, nil)
		require.NoError(t, result.Err)
		require.Equal(t, Result{Outcome: Done, Accepted: 100, Delivered: 97, Dead: 3}, result)
		require.Equal(t, []string{"broken lines@4 x", "broken lines@5 x", "broken lines@100 x"}, dead.classes())
		dst.has(t, 100, 3, 4, 99)
	})
}

func TestRejectedEntriesGoToTheDeadLettersWithTheirPlace(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		never := errors.New("never")
		dst := store{answer: func(e string, _ int) asyncsink.Outcome {
			if e == "42" {
				return asyncsink.Outcome{Kind: asyncsink.Rejected, Err: never}
			}
			return asyncsink.Outcome{}
		}}
		var dead deadLetters
		j := job(&lines{total: 100}, &dst, dir)
		j.DeadLetters = &dead
		result := run(t, j, nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 100, Delivered: 99, Dead: 1}, result)
		require.Equal(t, []string{"rejected lines@43 42"}, dead.classes())
		require.ErrorIs(t, dead.letters[0].Err, never)
		require.Equal(t, 1, dead.letters[0].Attempts)
	})
}

func TestWithoutDeadLettersABrokenRecordEndsTheJobBeforeIt(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		src := func() *lines { return &lines{total: 100, broken: map[int]bool{50: true}} }
		for range 2 { // and again: its position is kept
			result := run(t, job(src(), &dst, dir), nil)
			require.Equal(t, Failed, result.Outcome)
			var broken *BrokenRecordError
			require.ErrorAs(t, result.Err, &broken)
			require.Equal(t, "51", string(broken.Position))
			require.Zero(t, result.Left)
			dst.has(t, 50)
			require.Len(t, dst.got, 50)
		}
		mended := run(t, job(&lines{total: 100}, &dst, dir), nil)
		require.Equal(t, Result{Outcome: Done, Accepted: 50, Delivered: 50}, mended)
	})
}

func TestACheckpointPassesABrokenRecordOnlyOnceItsLetterIsDurable(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var dst store
		dead := deadLetters{delay: time.Hour} // it hangs
		j := job(&lines{total: 100, broken: map[int]bool{10: true}, endless: true}, &dst, dir)
		j.DeadLetters = &dead
		j.Deadline = time.Second
		log := logged(&j)
		result := run(t, j, func(r *Runner[string]) {
			time.Sleep(time.Minute)
			r.Stop()
		})
		require.Zero(t, count(log, "msg=checkpoint id="), "none could be taken")
		require.EqualValues(t, 1, result.Left)

		result = run(t, job(&lines{total: 100}, &dst, dir), nil)
		require.NoError(t, result.Err)
		require.EqualValues(t, 100, result.Accepted, "all is read again")
	})
}

func TestADeadLetterOutputThatFailsForGoodFailsTheJob(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		var dst store
		dead := deadLetters{err: full}
		j := job(&lines{total: 100, broken: map[int]bool{10: true}}, &dst, dir)
		j.DeadLetters = &dead
		result := run(t, j, nil)
		require.Equal(t, Failed, result.Outcome)
		require.ErrorIs(t, result.Err, full)
		require.ErrorAs(t, result.Err, new(*asyncsink.DeadLetterError))

		dead.err = nil
		j = job(&lines{total: 100, broken: map[int]bool{10: true}}, &dst, dir)
		j.DeadLetters = &dead
		result = run(t, j, nil)
		require.NoError(t, result.Err)
		require.Equal(t, []string{"broken lines@11 x"}, dead.classes())
	})
}
