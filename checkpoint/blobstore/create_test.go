package blobstore_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

var cut = &answer{err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}

func TestACreateWhoseAnswerWasLostIsNotRefusedBecauseOfItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{}
		s := b.store(t)
		require.NoError(t, s.Probe(t.Context()))
		answers := 0
		b.instead = func(_ string, serve func() *answer) *answer {
			if answers++; answers == 1 {
				serve()
				return cut
			}
			return serve()
		}
		require.NoError(t, s.Create(t.Context(), "chk-1", []byte("first")), "the SDK sent it twice")
		require.Len(t, b.asked("PUT chk-1"), 2)
		require.ErrorIs(t, s.Create(t.Context(), "chk-1", []byte("first")), checkpoint.ErrExists, "the same bytes of another")
	})
}

func TestACreateThatCannotTellWhoseObjectItFoundSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{}
		s := b.store(t)
		require.NoError(t, s.Create(t.Context(), "chk-1", []byte("first")))
		b.instead = func(request string, serve func() *answer) *answer {
			if request == "HEAD chk-1" {
				return &answer{status: 403}
			}
			return serve()
		}
		err := s.Create(t.Context(), "chk-1", []byte("second"))
		require.Error(t, err)
		require.NotErrorIs(t, err, checkpoint.ErrExists)
		b.instead = func(request string, serve func() *answer) *answer {
			if request == "HEAD chk-1" { // deleted since
				return &answer{status: 404}
			}
			return serve()
		}
		require.ErrorIs(t, s.Create(t.Context(), "chk-1", []byte("third")), checkpoint.ErrExists)
	})
}

func TestTwoThatMeetAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{}
		s := b.store(t)
		require.NoError(t, s.Probe(t.Context()))
		met := 0
		b.instead = func(_ string, serve func() *answer) *answer {
			if met++; met < 5 {
				return refuse(409, "ConditionalRequestConflict")
			}
			return serve()
		}
		require.NoError(t, s.Create(t.Context(), "chk-1", []byte("first")))

		b.instead = func(string, func() *answer) *answer { return refuse(409, "ConditionalRequestConflict") }
		err := s.Create(t.Context(), "chk-2", []byte("first"))
		require.ErrorContains(t, err, "ConditionalRequestConflict")
		require.NotErrorIs(t, err, checkpoint.ErrExists)
		require.Len(t, b.asked("PUT chk-2"), 6)
	})
}

func TestAServerThatIgnoresConditionsIsFoundOutByTheFirstCreate(t *testing.T) {
	b := &bucket{ignoresConditions: true}
	s := b.store(t)
	for range 2 {
		err := s.Create(t.Context(), "chk-1", []byte("first"))
		var fault *blobstore.NotExclusiveError
		require.ErrorAs(t, err, &fault)
		require.ErrorContains(t, err, "the bucket ignores the condition of conditional writes")
	}
	require.Empty(t, b.objects, "neither the object nor that of the probe")

	b.ignoresConditions = false
	require.NoError(t, s.Create(t.Context(), "chk-1", []byte("first")), "it is asked again")
	require.NoError(t, s.Create(t.Context(), "chk-2", []byte("second")))
	require.Len(t, b.asked("PUT probe-"), 6, "and not after it succeeded")
}

func TestAProbeThatMayNotDeleteSaysSo(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	b.instead = func(request string, serve func() *answer) *answer {
		if strings.HasPrefix(request, "DELETE") {
			return refuse(403, "AccessDenied")
		}
		return serve()
	}
	err := s.Probe(t.Context())
	require.ErrorContains(t, err, "AccessDenied it is: let these credentials read, write, list and delete objects there")
	var fault *blobstore.Error
	require.True(t, errors.As(err, &fault))
	require.Equal(t, "delete", fault.Op)
}
