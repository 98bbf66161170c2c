package blobstore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
	"gocloud.dev/gcerrors"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

// calls are all that a store can be asked.
func calls(ctx context.Context, s *blobstore.Store) map[string]error {
	_, read := read(ctx, s, "a")
	_, listed := s.List(ctx, "")
	return map[string]error{
		"put": s.Put(ctx, "a", fill(1, nil)), "create": s.Create(ctx, "a", nil), "read": read, "list": listed,
		"copy": s.Copy(ctx, "a", "b"), "delete": s.Delete(ctx, "a"),
	}
}

func TestWhatIsNotAllowedIsSaidToBeThatAndNoSecretIs(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	b.instead = func(string, func() *answer) *answer { return refuse(403, "AccessDenied") }
	for call, err := range calls(t.Context(), s) {
		var fault *blobstore.Error
		require.ErrorAs(t, err, &fault, call)
		require.Equal(t, call, fault.Op)
		require.ErrorContains(t, err, "the bucket: operation error S3: ", call)
		require.ErrorContains(t, err, ": let these credentials read, write, list and delete objects there", call)
		require.NotContains(t, err.Error(), secret)
		require.NotContains(t, err.Error(), "AKIDEXAMPLE")
		require.Equal(t, gcerrors.PermissionDenied, gcerrors.Code(err), "the driver's code is within reach")
		var service smithy.APIError
		require.ErrorAs(t, err, &service, "and the service's error")
	}
}

func TestABucketThatIsNotThereIsNoMissingObject(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	b.instead = func(request string, _ func() *answer) *answer {
		if strings.HasPrefix(request, "HEAD") {
			return &answer{status: 404} // the service can't say more
		}
		return refuse(404, "NoSuchBucket")
	}
	for call, err := range calls(t.Context(), s) {
		require.Error(t, err, call)
		require.NotErrorIs(t, err, fs.ErrNotExist, "%s: no first start", call)
		require.ErrorContains(t, err, "make the bucket, or let these credentials see it", call)
	}
}

func TestAnObjectThatIsThereAndCannotBeReadIsNoMissingObject(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	require.NoError(t, s.Put(t.Context(), "a", fill(10, nil)))
	b.instead = func(request string, serve func() *answer) *answer {
		if request == "GET a" {
			return refuse(404, "ObjectNotInActiveTierError") // archived, which the driver says as NotFound
		}
		return serve()
	}
	_, err := read(t.Context(), s, "a")
	require.Error(t, err)
	require.NotErrorIs(t, err, fs.ErrNotExist)
	_, err = read(t.Context(), s, "b")
	require.EqualError(t, err, "blobstore: read b in the bucket: file does not exist")
}

func TestWithoutCredentialsAPersonIsToldWhereTheyGo(t *testing.T) {
	b := &bucket{}
	s := b.store(t, func(o *s3.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("none found")
		})
	})
	_, err := s.List(t.Context(), "jobs/")
	require.EqualError(t, err, "blobstore: list jobs/ in the bucket: operation error S3: ListObjectsV2, get identity: "+
		"get credentials: none found: give this process credentials for the bucket: in the environment, a profile or a role")
}

func TestACallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bucket{}
		s := b.store(t)
		require.NoError(t, s.Probe(t.Context()))
		var cancel context.CancelFunc
		b.instead = func(string, func() *answer) *answer {
			cancel()
			return refuse(500, "InternalError") // which the SDK would try again
		}
		for _, call := range []string{"put", "create", "read", "list", "copy", "delete"} {
			ctx, end := context.WithCancel(t.Context())
			cancel = end
			var err error
			switch call {
			case "put":
				err = s.Put(ctx, "a", fill(1, nil))
			case "create":
				err = s.Create(ctx, "a", nil)
			case "read":
				_, err = read(ctx, s, "a")
			case "list":
				_, err = s.List(ctx, "")
			case "copy":
				err = s.Copy(ctx, "a", "b")
			case "delete":
				err = s.Delete(ctx, "a")
			}
			require.ErrorIs(t, err, context.Canceled, call)
			require.NotErrorIs(t, err, checkpoint.ErrExists, call)
			require.NotErrorIs(t, err, fs.ErrNotExist, call)
		}
		require.ErrorIs(t, func() error { ctx, end := context.WithCancel(t.Context()); end(); return s.Probe(ctx) }(), context.Canceled)
	})
}

func TestAReadThatBreaksOffSaysOfWhat(t *testing.T) {
	b := &bucket{}
	s := b.store(t)
	require.NoError(t, s.Put(t.Context(), "a", fill(10, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := s.Open(ctx, "a")
	require.NoError(t, err)
	n, err := r.Read(make([]byte, 4))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	b.breaks(io.ErrUnexpectedEOF)
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "blobstore: read a in the bucket: ")
	cancel()
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, r.Close())
}

func TestAfterCloseCallsFail(t *testing.T) {
	s, err := blobstore.Open(t.Context(), "mem://")
	require.NoError(t, err)
	require.NoError(t, s.Create(t.Context(), "a", nil))
	require.NoError(t, s.Close())
	for call, err := range calls(t.Context(), s) {
		require.ErrorContains(t, err, "has been closed", call)
		require.NotErrorIs(t, err, checkpoint.ErrExists, call)
	}
	require.ErrorContains(t, s.Close(), "blobstore: close mem://: ")
}
