package blobstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

func TestAnUploadInPartsThatFailsIsNotCompleted(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	broken := errors.New("broken")
	require.ErrorIs(t, s.Put(t.Context(), "a", fill(20<<20, broken)), broken)
	require.Len(t, b.asked("POST a uploads"), 1, "it was begun")
	require.Empty(t, b.asked("POST a uploadId"), "the request that makes the object")

	require.Equal(t, broken, s.Put(t.Context(), "a", fill(10, broken)), "the fill's error is as it was")
	require.NotContains(t, b.requests, "PUT a")

	require.NoError(t, s.Put(t.Context(), "a", fill(20<<20, nil)))
	require.Len(t, b.asked("POST a uploadId"), 1)
}

func TestAnUploadThatFailsIsSaidWhateverFillMakesOfIt(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	b.instead = func(string, func() *answer) *answer { return refuse(403, "AccessDenied") }
	for _, fill := range []func(io.Writer) error{
		fill(10, nil),     // as it ends
		fill(20<<20, nil), // in the middle
		func(w io.Writer) error {
			_ = fill(20<<20, nil)(w) // not looked at
			return nil
		},
	} {
		err := s.Put(t.Context(), "a", fill)
		require.ErrorContains(t, err, "AccessDenied")
		var fault *blobstore.Error
		require.ErrorAs(t, err, &fault)
		require.Equal(t, "put", fault.Op)
	}
}

func TestAFillIsStoppedWhenItsContextEnds(t *testing.T) {
	s := open(t, "mem://")
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, s.Put(ctx, "a", func(w io.Writer) error {
		cancel()
		_, err := w.Write([]byte("x"))
		require.ErrorIs(t, err, context.Canceled)
		return nil
	}), context.Canceled)
}

func TestAnOrdinaryLifeAsksLittle(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	require.NoError(t, s.Probe(t.Context()))
	b.requests = nil
	require.NoError(t, s.Put(t.Context(), "data/1-1", fill(10, nil)))
	require.NoError(t, s.Create(t.Context(), "chk-1", []byte("{}")))
	_, err := read(t.Context(), s, "chk-1")
	require.NoError(t, err)
	_, err = s.List(t.Context(), "")
	require.NoError(t, err)
	require.NoError(t, s.Copy(t.Context(), "data/1-1", "data/2-1"))
	require.NoError(t, s.Delete(t.Context(), "data/1-1"))
	require.Equal(t, []string{
		"PUT data/1-1", "PUT chk-1 if none", "GET chk-1", "GET  list-type", "PUT data/2-1 copy",
		"HEAD data/1-1", "DELETE data/1-1", // the driver asks first
	}, b.requests)
}

func TestMoreThanTheServiceCopiesAtOnceIsStreamed(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	require.NoError(t, s.Put(t.Context(), "large", fill(10, nil)))
	b.instead = func(request string, serve func() *answer) *answer {
		if strings.HasSuffix(request, " copy") {
			return refuse(400, "InvalidRequest")
		}
		return serve()
	}
	require.ErrorContains(t, s.Copy(t.Context(), "large", "second"), "InvalidRequest", "for another reason, if it is small")

	large := b.objects["large"]
	large.size = 5<<30 + 1
	b.objects["large"] = large
	require.NoError(t, s.Copy(t.Context(), "large", "second"))
	require.Equal(t, large.body, b.objects["second"].body)
}

func TestAListIsByNameWhateverTheServiceDoesAndHasNoFoldersOfConsoles(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	for _, key := range []string{"jobs/b", "jobs/a", "jobs/", "jobs//c"} {
		b.objects[key] = object{}
	}
	infos, err := s.List(t.Context(), "jobs/")
	require.NoError(t, err)
	require.Len(t, infos, 2)
	require.Equal(t, "jobs/a", infos[0].Name)
	require.Equal(t, "jobs/b", infos[1].Name)
}
