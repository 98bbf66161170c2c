package file

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/stream"
)

var _ stream.Source = (*Stdin)(nil)

func stdin(t *testing.T, r io.Reader, c StdinConfig) *Stdin {
	t.Helper()
	s, err := NewStdin(r, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, assign(s, ""))
	require.False(t, s.Replayable())
	return s
}

func TestStdinIsReadToItsEnd(t *testing.T) {
	s := stdin(t, iotest.HalfReader(strings.NewReader("a\r\n\nb\nlast")), StdinConfig{})
	require.Equal(t, []got{{"a", "3:1"}, {"b", "6:3"}, {"last", "10:4"}}, readAll(t, s, 2))
}

func TestALineIsHandedOnAsSoonAsItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		s := stdin(t, in, StdinConfig{})
		dst := make([]stream.Record, 10)
		for _, line := range []string{"a", "b"} {
			go func() { _, _ = out.Write([]byte(line + "\n")) }()
			n, err := s.Read(t.Context(), dst)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Equal(t, line, string(dst[0].Value))
		}
		_ = out.Close()
		require.Empty(t, readAll(t, s, 1))
	})
}

func TestReadReturnsWhenItsContextEndsAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		s := stdin(t, in, StdinConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := s.Read(ctx, make([]stream.Record, 1))
			failed <- err
		}()
		synctest.Wait() // until it is blocked
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		go func() {
			_, _ = out.Write([]byte("a\nb\n"))
			_ = out.Close()
		}()
		require.Equal(t, []got{{"a", "2:1"}, {"b", "4:2"}}, readAll(t, s, 10))
	})
}

func TestWhatWasTakenIsHandedOnAfterTheContextHasEnded(t *testing.T) {
	s := stdin(t, strings.NewReader("a\nb\nc\n"), StdinConfig{})
	dst := make([]stream.Record, 1)
	n, err := s.Read(t.Context(), dst)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, want := range []string{"b", "c"} {
		n, err := s.Read(ctx, dst)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, want, string(dst[0].Value))
	}
	_, err = s.Read(ctx, dst)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAStreamThatFailsSaysSoAfterItsLines(t *testing.T) {
	broken := errors.New("broken pipe")
	s := stdin(t, io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), StdinConfig{})
	dst := make([]stream.Record, 10)
	n, err := s.Read(t.Context(), dst)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = s.Read(t.Context(), dst)
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "read standard input: broken pipe")
}

func TestAStreamThatBringsNothingEndsWithAnError(t *testing.T) {
	s := stdin(t, nothing{}, StdinConfig{})
	_, err := s.Read(t.Context(), make([]stream.Record, 1))
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

func TestStdinRefusesWhatIsNotItsOwn(t *testing.T) {
	s := stdin(t, strings.NewReader("a\n"), StdinConfig{LineBytes: 1})
	require.ErrorAs(t, s.Assign([]stream.Split{{ID: FileSplit}}), new(*SplitError))
	require.ErrorAs(t, s.Revoke([]string{FileSplit}), new(*SplitError))
	require.NoError(t, s.Revoke([]string{StdinSplit}))
	require.Empty(t, readAll(t, s, 1))
	require.NoError(t, s.Assign([]stream.Split{{ID: StdinSplit, Position: []byte("of another life")}}))
	require.Len(t, readAll(t, s, 1), 1)
	require.Error(t, s.TooLong(stream.Record{Value: []byte("ab")}))
	_, err := NewStdin(strings.NewReader(""), StdinConfig{LineBytes: 1 << 40})
	require.EqualError(t, err, "stdin source: line_bytes: 1024GiB: must be 1B to 1GiB")
}

// A pipe that answers in the moment in which the context ends.
func TestLinesThatWereTakenAreHandedOnHoweverTheContextEnds(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			s, err := NewStdin(r, StdinConfig{})
			require.NoError(t, err)
			require.NoError(t, s.Assign([]stream.Split{{ID: StdinSplit}}))
			dst := make([]stream.Record, 10)
			first, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = s.Read(first, dst)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			go func() { _, _ = w.Write([]byte("one\ntwo\n")) }()
			synctest.Wait() // it lies in the answer
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			n, err := s.Read(ended, dst)
			require.NoError(t, err)
			require.Equal(t, 2, n)
			_, err = s.Read(ended, dst)
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, w.Close())
			require.NoError(t, s.Close())
		})
	}
}
