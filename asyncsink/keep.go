package asyncsink

import (
	"errors"
	"io"
)

// Keep accepts an entry although a cap on what is held is reached, and although
// the writer has stopped, so that it is in the last snapshot. It is for callers
// that go down with a few entries that they can't get again; how many is theirs to
// bound. The error is [*EntryTooLargeError] or [ErrClosed].
func (w *Writer[E]) Keep(e E) (Seq, error) {
	if err := w.enter("keep"); err != nil {
		return 0, err
	}
	defer w.leave()
	w.tick()
	if seq, err := w.offer(e); err == nil || errors.As(err, new(*EntryTooLargeError)) {
		return seq, err
	}
	if w.ended || w.closed {
		return 0, ErrClosed
	}
	if err := w.retakeAll(); err != nil {
		return 0, err
	}
	return w.core.Keep(w.now, e)
}

// retakeAll takes back what an earlier life left without looking at the caps,
// since it stands before what is to be kept.
func (w *Writer[E]) retakeAll() error {
	for w.backlog != nil {
		h, err := w.backlog.next()
		switch err {
		case nil:
			w.core.Retake(w.now, h)
			w.backlog.taken++
		case io.EOF:
			w.fed()
		default:
			return &StateError{w.name, err}
		}
	}
	return nil
}
