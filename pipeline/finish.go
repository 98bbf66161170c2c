package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/asyncsink"
)

var background = context.Background()

// finish drains what it may, saves what is left and closes everything.
func (r *Runner[E]) finish(err error) Result {
	ctx, cancel := context.WithTimeout(r.hard, r.job.Deadline)
	defer cancel()
	unwritten := r.finishLetters(ctx)
	left, closeErr := r.writer.Close(ctx)
	r.letters.end()
	saveErr := r.save(left, unwritten)
	if left != nil {
		left.Close()
	}

	s := r.writer.Stats()
	result := Result{
		Outcome:  Done,
		Accepted: s.Accepted.Entries + r.broken.Load() + int64(unwritten), Restored: s.Found,
		Delivered: s.Delivered.Entries, Dead: s.Dead.Entries + r.broken.Load(), Left: int64(unwritten),
		PossibleDuplicates: s.PossibleDuplicates.Entries,
	}
	if left != nil {
		result.Left += int64(left.Len())
	}
	if r.stops.Load() > 0 {
		result.Outcome = Stopped
	}
	if left == nil || isStopped(closeErr) { // that entries are left is no error once they are saved
		err = errors.Join(err, unless(err, closeErr))
	}
	result.Err = errors.Join(err, r.letters.failed(), saveErr)
	_, loopErr := r.loop.Close(background)
	result.Err = errors.Join(result.Err, loopErr)
	return result
}

func isStopped(err error) bool { return errors.As(err, new(*asyncsink.StoppedError)) }

// unless drops the writer's sticky error where it is known already.
func unless(known, err error) error {
	if isStopped(known) && isStopped(err) {
		return nil
	}
	return err
}

// finishLetters waits for the letters of records, and returns how many could not be written.
func (r *Runner[E]) finishLetters(ctx context.Context) int {
	for r.letters.len() > 0 && r.letters.failed() == nil {
		if r.loop.Yield(ctx) != nil {
			break
		}
	}
	return r.letters.len()
}

// save takes the final checkpoint. With letters of records unwritten it would
// pass them; a source that can be read again then goes on from the one before.
func (r *Runner[E]) save(left *asyncsink.Snapshot[E], unwritten int) error {
	lost := unwritten
	if left != nil {
		lost += left.Len()
	}
	if r.state == nil {
		if lost > 0 && !r.job.Source.Replayable() || left != nil {
			return fmt.Errorf("%w: %d: configure state to keep them", ErrLeftUnsaved, lost)
		}
		return nil
	}
	if unwritten > 0 && r.job.Source.Replayable() {
		return r.state.wait(r)
	}
	if _, err := r.state.last(r, left); err != nil {
		if lost == 0 {
			return fmt.Errorf("the last checkpoint failed, so what was delivered since the one before it will be delivered again: %w", err)
		}
		return fmt.Errorf("%w: %d: %w", ErrLeftUnsaved, lost, err)
	}
	if unwritten > 0 { // no checkpoint can hold a record that is no entry
		return fmt.Errorf("%w: %d broken records, which the dead-letter output did not take in time", ErrLeftUnsaved, unwritten)
	}
	return nil
}

func (r *Runner[E]) execute(name string, mail func()) {
	_ = r.loop.Execute(name, mail) // refused only when the run is over
}

func (r *Runner[E]) yield() error             { return r.loop.Yield(r.reading) }
func (r *Runner[E]) context() context.Context { return r.hard }
func (r *Runner[E]) buried(records int)       { r.broken.Add(int64(records)) }
