package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var puts = []promise{
	{"put makes an object of every byte that fill writes", putKeepsEveryByte},
	{"put replaces an object of the name", putReplaces},
	{"an object that is replaced is read whole, old or new", putIsWhole},
	{"a fill that fails leaves what was there", failedFill},
	{"a fill that panics leaves what was there", panickingFill},
	{"a fill that ends its goroutine leaves what was there", exitingFill},
	{"a put whose ctx ends returns its error and leaves no part", canceledFill},
}

func putKeepsEveryByte(t *testing.T, e *env) {
	for _, n := range []int{0, 1, 4096, 1<<20 + 1, large} {
		b := content(1, n)
		e.put(t, "data/1", b)
		e.has(t, "data/1", b)
	}
	require.Equal(t, []string{"data/1"}, e.names(t, ""))
}

func putReplaces(t *testing.T, e *env) {
	for seed, n := range []int{100, 10, 0, 1000} {
		b := content(uint64(seed), n)
		e.put(t, "a", b)
		e.has(t, "a", b)
	}
	require.NoError(t, e.Create(t.Context(), "created", content(1, 10)))
	e.put(t, "created", content(2, 5))
	e.has(t, "created", content(2, 5))
}

func putIsWhole(t *testing.T, e *env) {
	versions := [][]byte{content(0, 100_000), content(1, 3), content(2, 70_000)}
	e.put(t, "a", versions[0])
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				got, err := e.read(context.WithoutCancel(t.Context()), "a")
				if err != nil {
					t.Errorf("read while it is replaced: %v", err)
					return
				}
				if !bytes.Equal(got, versions[0]) && !bytes.Equal(got, versions[1]) && !bytes.Equal(got, versions[2]) {
					t.Errorf("read while it is replaced: %d bytes that are no version", len(got))
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := range 30 {
		if err := e.Put(t.Context(), "a", writing(versions[n%3])); err != nil {
			t.Errorf("replace it: %v", err)
		}
	}
	close(done)
	readers.Wait()
}

var errFill = errors.New("fill failed")

// unfilled puts an object by fills that do not come to their end, over nothing and over an object, early and late.
func unfilled(t *testing.T, e *env, end func() error, put func(func() error) error) {
	old := content(1, 500)
	e.put(t, "old", old)
	for _, written := range []int{0, 10, large} {
		for _, name := range []string{"new", "old"} {
			require.Error(t, put(func() error {
				return e.Put(t.Context(), name, func(w io.Writer) error {
					if err := writing(content(2, written))(w); err != nil {
						return err
					}
					return end()
				})
			}), "%s after %d bytes", name, written)
			e.has(t, "old", old)
			_, err := e.read(t.Context(), "new")
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.Equal(t, []string{"old"}, e.names(t, ""))
		}
	}
	e.put(t, "new", old) // the name is as good as before
	e.has(t, "new", old)
}

func failedFill(t *testing.T, e *env) {
	unfilled(t, e, func() error { return errFill }, func(put func() error) error {
		err := put()
		require.ErrorIs(t, err, errFill, "the fill's error passes")
		return err
	})
}

func panickingFill(t *testing.T, e *env) {
	unfilled(t, e, func() error { panic(errFill) }, func(put func() error) (err error) {
		defer func() { err, _ = recover().(error) }()
		return put()
	})
}

func exitingFill(t *testing.T, e *env) {
	unfilled(t, e, func() error { runtime.Goexit(); return nil }, func(put func() error) error {
		err := errFill
		var goroutine sync.WaitGroup
		goroutine.Go(func() { err = put() })
		goroutine.Wait()
		return err
	})
}

func canceledFill(t *testing.T, e *env) {
	old, replacement := content(1, 500), content(2, large)
	e.put(t, "a", old)
	for _, written := range []int{0, 10, large} {
		ctx, cancel := context.WithCancel(t.Context())
		err := e.Put(ctx, "a", func(w io.Writer) error {
			if err := writing(replacement[:written])(w); err != nil {
				return err
			}
			cancel()
			return writing(replacement[written:])(w)
		})
		require.ErrorIs(t, err, context.Canceled)
		got, err := e.read(t.Context(), "a") // the effect is unknown, but not half of it
		require.NoError(t, err)
		require.True(t, bytes.Equal(got, old) || bytes.Equal(got, replacement), "%d bytes that are no version", len(got))
		e.put(t, "a", old)
	}
}
