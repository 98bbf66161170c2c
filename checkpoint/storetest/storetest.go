// Package storetest is for tests of stores and for those who write one: what every [checkpoint.Store] must do, as tests,
// and a store that fails, stalls and lies when it is told to.
//
//	func TestTheStoreKeepsItsPromises(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) checkpoint.Store { return open(t) })
//	}
//
// [Run] holds a store to the comments of the interface, one subtest a promise. It can't see what only a crash shows: that an
// object is durable when a call returns. [Faulty] is for what stands on a store.
package storetest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

// Option changes what [Run] does.
type Option func(*suite)

// Objects is how many objects the test of a long list makes. The default is 1,100, more than a page of S3 and Google; fewer
// are for a server that is slow.
func Objects(n int) Option { return func(s *suite) { s.objects = n } }

// Run holds a store to its promises. It calls open for each, which returns a store that is empty and is not shared; what
// must be closed, open closes by t.Cleanup. A few of the promises take objects of 20 MiB.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store, options ...Option) {
	s := suite{objects: 1100}
	for _, o := range options {
		o(&s)
	}
	for _, topic := range [][]promise{puts, creates, reads, lists, copies, calls} {
		for _, p := range topic {
			t.Run(p.says, func(t *testing.T) { p.holds(t, &env{Store: open(t), suite: s}) })
		}
	}
}

type suite struct{ objects int }

type promise struct {
	says  string
	holds func(*testing.T, *env)
}

// env is what a promise works with.
type env struct {
	checkpoint.Store
	suite
}

const large = 20 << 20 // bytes: more than one part of an upload in parts

// content is n bytes that differ by seed and are the same in each run. They recur at no distance that parts have.
func content(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	fresh, _ := rand.NewChaCha8(key).Read(b[:min(n, 99_991)])
	for fresh < n {
		fresh += copy(b[fresh:], b[:fresh])
	}
	return b
}

// writing is a fill that writes b in pieces of odd sizes.
func writing(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for rest, piece := b, 1; len(rest) > 0; piece = min(3*piece, 300_001) {
			n, err := w.Write(rest[:min(piece, len(rest))])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}
}

func (e *env) put(t *testing.T, name string, b []byte) {
	t.Helper()
	require.NoError(t, e.Put(t.Context(), name, writing(b)))
}

// read returns an object's bytes, and closes what it opened.
func (e *env) read(ctx context.Context, name string) ([]byte, error) {
	r, err := e.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if closed := r.Close(); err == nil {
		err = closed
	}
	return b, err
}

// has fails the test unless the object has these bytes.
func (e *env) has(t *testing.T, name string, want []byte) {
	t.Helper()
	got, err := e.read(t.Context(), name)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%s: %d bytes, want %d, or others", name, len(got), len(want))
}

// names are those of the objects that begin with prefix.
func (e *env) names(t *testing.T, prefix string) []string {
	t.Helper()
	infos, err := e.List(t.Context(), prefix)
	require.NoError(t, err)
	names := []string{}
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}
