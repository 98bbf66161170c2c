package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// DeadLetters is the output for entries that are given up.
type DeadLetters interface {
	// Write stores the letters and returns nil once they are durable, or an error when ctx ends. Until then they stay
	// in the ledger, against the caps on what is held, and in snapshots. One call is out at a
	// time. After an error the same letters come again, five times in all with back-offs from
	// 100 ms doubling; then the writer stops with a [*DeadLetterError]. A crash in between
	// makes letters come twice.
	Write(ctx context.Context, letters []DeadLetter) error
}

// DeadLetter is one entry that was given up.
type DeadLetter struct {
	Seq       Seq
	ID        ID
	Restored  bool      // an earlier life had accepted it
	Time      time.Time // when it was given up
	FirstSeen time.Time // when it was first accepted
	Class     string    // rejected, attempts, age, too_large or diverted
	Err       error     // the last outcome's cause
	Attempts  int
	Key       string // "" when the traits have no Key
	Data      []byte
}

const (
	deadLetterTries   = 5
	deadLetterBackoff = 100 * time.Millisecond
)

// bury hands a lot to the output, on a goroutine of its own.
func (w *Writer[E]) bury(dead []core.Dead[E]) {
	w.running++
	go func() {
		var letters []DeadLetter // made here, since the traits' functions may be slow, or panic
		err := WriteLetters(w.attempts, w.log, len(dead), func(ctx context.Context) error {
			if letters == nil {
				letters = w.letters(dead)
			}
			return w.config.DeadLetters.Write(ctx, letters)
		})
		w.report("dead letters written", func() { w.buried(err) })
	}()
}

func (w *Writer[E]) letters(dead []core.Dead[E]) []DeadLetter {
	letters := make([]DeadLetter, len(dead))
	for i, d := range dead {
		letters[i] = w.letter(d)
	}
	return letters
}

func (w *Writer[E]) letter(d core.Dead[E]) DeadLetter {
	l := DeadLetter{
		Seq: d.Seq, ID: d.ID, Restored: d.ID.Writer != w.id, Time: w.clock.at(d.Death.Time), FirstSeen: w.clock.at(d.Born),
		Class: d.Death.Class, Err: d.Death.Err, Attempts: d.Attempts,
	}
	if w.traits.Key != nil {
		l.Key = w.traits.Key(d.Entry)
	}
	if w.traits.Data != nil {
		l.Data = w.traits.Data(d.Entry)
	} else if data, err := w.traits.Codec.AppendEncode(nil, d.Entry); err == nil {
		l.Data = data
	} else {
		l.Err = fmt.Errorf("%w (and it can't be encoded: %w)", l.Err, err)
	}
	return l
}

func (w *Writer[E]) buried(err error) {
	w.running--
	w.tick()
	switch {
	case err == nil:
		w.core.Buried()
	case w.attempts.Err() != nil: // shutting down: they stay in the last snapshot
	default:
		w.core.Stop(err)
	}
	w.pump()
	if w.closed {
		w.stir()
	}
}

// WriteLetters calls write until it returns nil: five times at most, with
// back-offs that double from 100 ms, each failure logged. The error is the
// context's or a [*DeadLetterError]; a panic or runtime.Goexit counts as a failure. It is for
// whoever writes dead letters besides a writer, by the same rule.
func WriteLetters(ctx context.Context, log *slog.Logger, letters int, write func(context.Context) error) error {
	for try, wait := 1, deadLetterBackoff; ; try, wait = try+1, 2*wait {
		err := noPanic(ctx, write)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case try == deadLetterTries:
			return &DeadLetterError{letters, err}
		}
		log.Warn("dead-letter output failed", "error", err, "letters", letters, "try", try)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func noPanic(ctx context.Context, write func(context.Context) error) error {
	result := make(chan error, 1)
	go func() { // of its own, which runtime.Goexit may end
		err := errors.New("dead-letter output ended its goroutine")
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("dead-letter output panicked: %v", v)
			}
			result <- err
		}()
		err = write(ctx)
	}()
	return <-result
}
