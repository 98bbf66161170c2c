package asyncsink

import "errors"

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
	if w.queue.waiting() { // behind what waits on disk
		return w.spill(e, true)
	}
	return w.core.Keep(w.now, e)
}
