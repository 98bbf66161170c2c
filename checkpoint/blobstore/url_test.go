package blobstore_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

// unconfigured keeps what the machine has configured for the AWS SDK out.
func unconfigured(t *testing.T) {
	for _, name := range []string{"AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
}

func TestAURLNamesABucketAndAPrefix(t *testing.T) {
	unconfigured(t)
	for url, where := range map[string]string{
		"s3://b?region=eu-central-1":            "s3://b",
		"s3://b/?region=eu-central-1":           "s3://b",
		"s3://b/teams/a?region=eu-central-1":    "s3://b/teams/a",
		"s3://b/teams/a/?region=eu-central-1":   "s3://b/teams/a",
		"s3://b?prefix=teams/a&region=x":        "s3://b/teams/a",
		"s3://b?prefix=teams%2Fa%2F&region=x":   "s3://b/teams/a",
		"mem://":                                "mem://",
		"mem://any/teams/a%20b":                 "mem://any/teams/a b",
		"s3://b/p?region=x&use_path_style=true": "s3://b/p",
	} {
		s, err := blobstore.Open(t.Context(), url)
		require.NoError(t, err, url)
		require.Equal(t, where, s.String())
		require.NoError(t, s.Close())
	}
}

func TestFaultsOfAURLAreNamedAllAtOnceWithoutWhatMayBeSecret(t *testing.T) {
	unconfigured(t)
	for url, want := range map[string]string{
		"s3://AKID:wJalr@b/../p?key=chk&prefix=q&secret=wJalr": `url: "s3://b/../p": must be with one prefix, in its path or in prefix=` + "\n" +
			`url: "s3://b/../p": must be without user and password: give the credentials as the service's SDK takes them, such as in the environment` + "\n" +
			`url: "s3://b/../p": must be without key=: a state has many objects`,
		"s3://b/a/../p":                    `url: "s3://b/a/../p": must be with a prefix that is a path like "a/b", without ".", "..", "\" and control characters`,
		"s3://b?region=x;secret=wJalr":     `url: "s3://b": must be with parameters like region=eu-central-1&profile=state`,
		"gs://b":                           `url: "gs://b": must be of a scheme whose driver this program has: fake, mem, s3`,
		"state":                            `url: "state": must be of a scheme whose driver this program has: fake, mem, s3`,
		"file:///tmp/state":                `url: "file:///tmp/state": must be a folder that is opened as one, not as a bucket`,
		"mem:state":                        `url: "mem:": must be SCHEME://BUCKET/PREFIX?PARAMETERS`,
		"s3://b#secret=wJalr":              `url: "s3://b": must be SCHEME://BUCKET/PREFIX?PARAMETERS`,
		"s3://AKID:wJalr@b/%zz?x=wJalr":    `url: "s3...": must be a URL, like s3://bucket/prefix?region=eu-central-1`,
		"s3://AKID:x/wJalr@b":              `url: "s3...": must be a URL, like s3://bucket/prefix?region=eu-central-1`,
		"://wJalr":                         `url: "...": must be a URL, like s3://bucket/prefix?region=eu-central-1`,
		"s3://b?secret_key=wJalr&region=x": `blobstore: open s3://b: open bucket s3://b: unknown query parameter "secret_key"`,
		"s3:///p?region=x":                 `blobstore: open s3:///p: s3blob.OpenBucket: bucketName is required`,
	} {
		_, err := blobstore.Open(t.Context(), url)
		require.EqualError(t, err, want)
		require.NotContains(t, err.Error(), "wJalr")
	}
}

// fake opens URLs of the scheme fake.
type fake struct {
	bucket
	urls []string
}

func (f *fake) OpenBucketURL(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	f.urls = append(f.urls, u.String())
	return f.open(ctx)
}

var fakes = &fake{}

func init() { blob.DefaultURLMux().RegisterBucket("fake", fakes) }

func TestObjectsLieBelowThePrefix(t *testing.T) {
	fakes.objects, fakes.urls = map[string]object{}, nil
	for n, url := range []string{"fake://b/teams/a?x=1", "fake://b?x=1&prefix=teams/a", "fake://b?x=1"} {
		s, err := blobstore.Open(t.Context(), url)
		require.NoError(t, err)
		require.NoError(t, s.Put(t.Context(), fmt.Sprintf("jobs/%d", n), fill(1, nil)))
		infos, err := s.List(t.Context(), "jobs/")
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("jobs/%d", n), infos[len(infos)-1].Name)
	}
	require.Equal(t, []string{"jobs/2", "teams/a/jobs/0", "teams/a/jobs/1"}, slices.Sorted(maps.Keys(fakes.objects)))
	require.Equal(t, []string{"fake://b?x=1", "fake://b?x=1", "fake://b?x=1"}, fakes.urls, "what the driver is given")
}

func TestABucketThatTheProgramHasOpenedIsTakenAsItIs(t *testing.T) {
	s := blobstore.New(memblob.OpenBucket(nil))
	require.Empty(t, s.String(), "its URL is not known")
	require.NoError(t, s.Put(t.Context(), "a", fill(1, nil)))
	_, err := read(t.Context(), s, "b")
	require.EqualError(t, err, "blobstore: read b in the bucket: file does not exist")
	require.NoError(t, s.Close())
}
