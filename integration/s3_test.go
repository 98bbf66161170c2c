package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	_ "gocloud.dev/blob/s3blob"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
	"github.com/spillway-go/spillway/checkpoint/storetest"
)

// s3Servers are two that others wrote, independently of each other.
var s3Servers = []struct {
	name  string
	start func(*testing.T) string
}{{"gofakes3", fakeS3}, {"moto", moto}}

func fakeS3(t *testing.T) string {
	server := httptest.NewUnstartedServer(gofakes3.New(s3mem.New()).Server())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// onS3 runs a test on each server, with a client, and a function that opens what lies below a prefix of a bucket, by its URL.
func onS3(t *testing.T, test func(t *testing.T, client *s3.Client, open func(*testing.T, string) *blobstore.Store)) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for _, server := range s3Servers {
		t.Run(server.name, func(t *testing.T) {
			endpoint := server.start(t)
			client := s3.New(s3.Options{
				Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true,
				Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
			})
			_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("bucket")})
			require.NoError(t, err)
			// Both give a copy, or a part of it, the checksum of what was sent in parts: that is not looked at.
			parameters := "?region=us-east-1&use_path_style=true&response_checksum_validation=when_required&endpoint=" + url.QueryEscape(endpoint)
			test(t, client, func(t *testing.T, prefix string) *blobstore.Store {
				s, err := blobstore.Open(t.Context(), "s3://bucket/"+prefix+parameters)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				return s
			})
		})
	}
}

func TestAStoreOnS3KeepsItsPromises(t *testing.T) {
	onS3(t, func(t *testing.T, _ *s3.Client, open func(*testing.T, string) *blobstore.Store) {
		n := 0
		storetest.Run(t, func(t *testing.T) checkpoint.Store {
			n++
			return open(t, fmt.Sprintf("stores/%d", n))
		})
	})
}

// TestAConditionalPUTIsAnswered412 is what fencing rests on, asked without any of our code between.
func TestAConditionalPUTIsAnswered412(t *testing.T) {
	onS3(t, func(t *testing.T, client *s3.Client, _ func(*testing.T, string) *blobstore.Store) {
		put := func(body string) error {
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
				Bucket: aws.String("bucket"), Key: aws.String("a"), IfNoneMatch: aws.String("*"), Body: strings.NewReader(body),
			})
			return err
		}
		require.NoError(t, put("first"))
		err := put("second")
		var answer interface{ HTTPStatusCode() int }
		require.True(t, errors.As(err, &answer), "%v", err)
		require.Equal(t, 412, answer.HTTPStatusCode())
		var code smithy.APIError
		require.ErrorAs(t, err, &code)
		require.Equal(t, "PreconditionFailed", code.ErrorCode())
	})
}

// fill puts a log file and a state file of some megabytes into a draft.
func fill(ctx context.Context, d *checkpoint.Draft) error {
	for _, role := range []checkpoint.Role{checkpoint.RoleLog, checkpoint.RoleState} {
		_, err := d.Put(ctx, role, func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat(content(role, d.ID()), 200_000))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func content(role checkpoint.Role, id uint64) string {
	return fmt.Sprintf("%s of checkpoint %d\n", role, id)
}

// copying fills a draft with copies of a checkpoint's files, and a state file.
func copying(c *checkpoint.Checkpoint) func(context.Context, *checkpoint.Draft) error {
	return func(ctx context.Context, d *checkpoint.Draft) error {
		for _, f := range c.Files {
			if _, err := d.CopyFrom(ctx, c, f); err != nil {
				return err
			}
		}
		return state(ctx, d)
	}
}

func state(ctx context.Context, d *checkpoint.Draft) error {
	_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error {
		_, err := io.WriteString(w, "state")
		return err
	})
	return err
}

func begin(t *testing.T, s checkpoint.Store, job checkpoint.Job) *checkpoint.History {
	h, err := checkpoint.Open(t.Context(), s, job, checkpoint.Options{Retained: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h
}

func write(t *testing.T, h *checkpoint.History, fill func(context.Context, *checkpoint.Draft) error) *checkpoint.Checkpoint {
	c, err := h.Write(t.Context(), fill)
	require.NoError(t, err)
	require.NoError(t, h.PruneError())
	return c
}

func names(t *testing.T, s checkpoint.Store) (names []string) {
	infos, err := s.List(t.Context(), "")
	require.NoError(t, err)
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}

func TestLivesOfAJobOnS3(t *testing.T) {
	onS3(t, func(t *testing.T, _ *s3.Client, open func(*testing.T, string) *blobstore.Store) {
		job := checkpoint.Job{Name: "orders", Instance: "0"}
		first := begin(t, open(t, "state"), job)
		require.Equal(t, uint64(1), first.Epoch())
		written := write(t, first, fill)

		// Another process takes over while the first is paused.
		store := open(t, "state")
		second := begin(t, store, job)
		require.Equal(t, uint64(2), second.Epoch())
		restored, err := second.Newest(t.Context())
		require.NoError(t, err)
		require.Equal(t, written.ID, restored.ID)
		require.NoError(t, restored.Verify(t.Context(), nil))
		for _, f := range restored.Files {
			r, err := restored.Open(t.Context(), f)
			require.NoError(t, err)
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.Equal(t, strings.Repeat(content(f.Role, restored.ID), 200_000), string(b))
		}
		require.NoError(t, second.RestoredFrom(restored, checkpoint.Continue))

		// The first wakes: what it had written is the newest, and more it cannot publish.
		_, err = first.Write(t.Context(), fill)
		var stale *checkpoint.StaleEpochError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, checkpoint.StaleEpochError{Epoch: 1, Newer: 2}, *stale)

		var log checkpoint.File
		newest := write(t, second, func(ctx context.Context, d *checkpoint.Draft) error {
			log = restored.Files[slices.IndexFunc(restored.Files, func(f checkpoint.File) bool { return f.Role == checkpoint.RoleLog })]
			if err := d.Share(log); err != nil {
				return err
			}
			return state(ctx, d)
		})
		third := begin(t, open(t, "state"), job)
		restored, err = third.Newest(t.Context())
		require.NoError(t, err)
		require.Equal(t, newest.ID, restored.ID)
		require.Contains(t, names(t, store), "orders/0/"+log.Name, "shared by name, from the life before")
		require.Len(t, restored.Files, 2)
		require.NoError(t, restored.Verify(t.Context(), nil))
	})
}

func TestACheckpointFromElsewhereIsLeftOrTakenOverOnS3(t *testing.T) {
	onS3(t, func(t *testing.T, _ *s3.Client, open func(*testing.T, string) *blobstore.Store) {
		store, elsewhere := open(t, "state"), open(t, "other/state")
		owner := begin(t, store, checkpoint.Job{Name: "orders"})
		theirs := write(t, owner, fill)
		require.NoError(t, owner.Close())
		before := names(t, store)
		c, err := checkpoint.At(t.Context(), store, fmt.Sprintf("orders/0/chk-%020d", theirs.ID))
		require.NoError(t, err)

		// With no-claim nothing of it changes: copied by the server below the same prefix, through us to another.
		for n, to := range []checkpoint.Store{store, elsewhere} {
			h := begin(t, to, checkpoint.Job{Name: fmt.Sprintf("Aufträge + Co %d", n)})
			require.NoError(t, h.RestoredFrom(c, checkpoint.NoClaim))
			ours := write(t, h, copying(c))
			require.NoError(t, ours.Verify(t.Context(), nil))
			require.Equal(t, c.Bytes()+int64(len("state")), ours.Bytes())
			write(t, h, fill)
			require.Subset(t, names(t, store), before)
			require.NoError(t, c.Verify(t.Context(), nil))
		}

		// With claim it is gone as soon as ours is complete.
		h := begin(t, elsewhere, checkpoint.Job{Name: "heir"})
		require.NoError(t, h.RestoredFrom(c, checkpoint.Claim))
		require.NoError(t, write(t, h, copying(c)).Verify(t.Context(), nil))
		for _, name := range names(t, store) {
			require.NotContains(t, name, "orders/0/data/")
			require.NotEqual(t, fmt.Sprintf("orders/0/chk-%020d", theirs.ID), name)
		}
	})
}
