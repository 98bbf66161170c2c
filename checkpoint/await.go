package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
)

// await calls f, and returns when ctx ends at the latest. A call that goes on then is left to its goroutine, hence f must
// not write what others read.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errNoAnswer}
		defer func() { done <- r }()
		r.v, r.err = f()
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// awaitErr is await for calls that return nothing else.
func awaitErr(ctx context.Context, f func() error) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

var (
	errTookPart = errors.New("the store said that it has all, and took a part")
	errNoAnswer = errors.New("the store ended its goroutine") // as a failing test does
)

// put is Store.Put, with fill on the goroutine of the caller: a call of the store that is left behind holds nothing of what
// fill reads.
func put(ctx context.Context, s Store, name string, fill func(io.Writer) error) error {
	r, w := io.Pipe()
	defer context.AfterFunc(ctx, func() { r.CloseWithError(ctx.Err()) })()
	var once sync.Once
	stored := make(chan error, 1)
	go func() {
		err := errNoAnswer
		defer func() {
			r.CloseWithError(cmp.Or(err, errTookPart))
			stored <- err
		}()
		err = s.Put(ctx, name, func(to io.Writer) error {
			err := errors.New("a store calls fill once")
			once.Do(func() { _, err = io.Copy(to, r) })
			return err
		})
	}()

	out := &sink{w: w}
	filled := errors.New("fill panicked")
	func() {
		defer func() { _ = w.CloseWithError(filled) }() // nil: the end
		filled = fill(out)
	}()
	if out.err != nil {
		return out.err
	}
	select {
	case err := <-stored:
		if filled != nil {
			return filled
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sink remembers that it was the store that failed.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}
