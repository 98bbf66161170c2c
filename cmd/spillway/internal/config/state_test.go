package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "gocloud.dev/blob/memblob"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/pipeline"
)

func TestEverythingAboutStateIsRead(t *testing.T) {
	l, err := load(t, `name: a
source: {file: {path: x}}
sink: {kinesis: {stream: s, writer: {spill: {dir: big, bytes: 20GiB, sync: steady}}}}
state: {url: "s3://bucket/a/b?region=eu-central-1", interval: 5s, min_pause: 1s, timeout: 1m, tolerate: 3, retained: 5, recover: replay}
`, []string{"--restore=7", "--claim", "--skip-damaged"})
	require.NoError(t, err)
	require.Empty(t, l.Warnings)
	require.Equal(t, State{
		URL: "s3://bucket/a/b?region=eu-central-1", Interval: 5 * time.Second, MinPause: time.Second, Timeout: time.Minute,
		Tolerate: 3, Retained: 5, Recover: pipeline.Replay,
	}, l.Job.State)
	require.Empty(t, l.Job.State.Dir())
	require.Equal(t, asyncsink.Spill{Dir: "big", Bytes: 20 << 30, Sync: asyncsink.Steady}, l.Job.Sink.Kinesis.Writer.Spill)
	require.Equal(t, From{ID: 7}, l.Settings.From())
	require.True(t, l.Settings.Claim && l.Settings.SkipDamaged)
}

func TestWhatPartsMeanForOneAnotherIsChecked(t *testing.T) {
	const sink = "sink:\n  kinesis:\n    stream: s\n    writer:\n      spill: {bytes: 1GiB}\n"
	_, err := load(t, "name: a\nsource: {stdin: {}}\n"+sink+"state: {recover: replay}\n", []string{"--restore=newest", "--claim"})
	require.Equal(t, []string{
		"p.yaml:7: sink.kinesis.writer.spill.dir: none: must be set to a folder: only beside state in a local folder it has a default",
		"p.yaml:8: state.recover: replay: must be state: standard input can't be read again",
		"p.yaml:8: state.url: none: must be set, to restore a checkpoint",
		"--claim: true: must be beside --restore with a number or a URL: the newest checkpoint is the job's own",
	}, faults(t, err))
	_, err = load(t, "name: a\nsource: {stdin: {}}\n"+sink+"state: {url: \"s3://b?region=r\"}\n", nil)
	require.Len(t, faults(t, err), 1)
	for _, more := range []string{"state: {url: \"file:state\"}\n", ""} {
		_, err = load(t, "name: a\nsource: {stdin: {}}\n"+sink+more, []string{"--sink.kinesis.writer.spill.dir=d"})
		require.NoError(t, err)
	}
	l, err := load(t, good, []string{"--sink.kinesis.writer.spill.sync=steady"})
	require.NoError(t, err)
	require.Equal(t, []string{"writer.spill.sync does nothing: nothing is spilled without writer.spill.dir or bytes"}, l.Warnings)
	_, err = load(t, good, []string{"--sink.kinesis.writer.spill.sync=often", "--sink.kinesis.writer.spill.dir=d", "--sink.kinesis.writer.spill.bytes=1KiB"})
	require.Equal(t, []string{
		"--sink.kinesis.writer.spill.sync: often: must be on_checkpoint or steady",
		"--sink.kinesis.writer.spill.bytes: 1KiB: must be 1MiB or more",
	}, faults(t, err))
}

func TestAFaultInTheURLOfABucketNamesIt(t *testing.T) {
	for url, want := range map[string]string{
		"s3://":                            "s3://: must be one that its driver takes: s3blob.OpenBucket: bucketName is required",
		"s3://b/x?regoin=secret":           `s3://b/x: must be one that its driver takes: unknown query parameter "regoin"`,
		"s3://b/x?use_path_style=maybe":    `s3://b/x: must be one that its driver takes: invalid syntax`,
		"s3://b/a/../b?region=r":           "s3://b/a/../b: must be with a prefix that is a path",
		"s3://u:secret@b":                  "s3://u:xxxxx@b: must be without user and password",
		"gs://b/x?key=secret":              "gs://b/x: must be file: and a local folder, such as file:state, or a bucket",
		"state":                            "state: must be file: and a local folder",
		"file:":                            "file:: must be file: and a local folder",
		"azblob://c?sas=secret":            "azblob://c: must be file: and a local folder",
		"s3://b?prefix=x&key=secret#y?z=1": "s3://b#y?z=1: must be",
	} {
		_, err := load(t, good, []string{"--state.url", url})
		text := faults(t, err)[0]
		require.Contains(t, text, "--state.url: "+want, url)
		require.NotContains(t, text, "secret")
	}
	s, err := OpenStore(t.Context(), "mem://")
	require.NoError(t, err)
	require.NoError(t, CloseStore(s))
}

func TestTheSDKIsKeptQuiet(t *testing.T) {
	for raw, want := range map[string]url.Values{
		"s3://b":            {"response_checksum_validation": {"when_required"}},
		"s3://b/x?region=r": {"response_checksum_validation": {"when_required"}, "region": {"r"}},
		"s3://b?response_checksum_validation=when_supported": {"response_checksum_validation": {"when_supported"}},
	} {
		u, err := url.Parse(quiet(raw))
		require.NoError(t, err)
		require.Equal(t, want, u.Query())
	}
	require.Equal(t, "mem://", quiet("mem://"))
}

func TestWhatIsToBeRestoredIsANumberOrAManifest(t *testing.T) {
	const name = "orders/0/chk-00000000000000000042"
	for text, want := range map[string]From{
		"":                                 {},
		"newest":                           {},
		"42":                               {ID: 42},
		"file:state/" + name:               {Store: "file:state", Name: name},
		"file:" + name:                     {Store: "file:.", Name: name},
		"file:../a%20b/" + name:            {Store: "file:../a%20b", Name: name},
		"file:/var/x/" + name:              {Store: "file:/var/x", Name: name},
		"file:///" + name:                  {Store: "file:///", Name: name},
		"s3://b/" + name + "?region=r":     {Store: "s3://b?region=r", Name: name},
		"s3://b/p/q/" + name + "?region=r": {Store: "s3://b/p/q?region=r", Name: name},
		"file:s/a%20b/0/chk-00000000000000000042": {Store: "file:s", Name: "a b/0/chk-00000000000000000042"},
	} {
		s := Settings{Restore: text}
		require.NoError(t, s.Validate(), text)
		require.Equal(t, want, s.From(), text)
		if want.Store != "" {
			require.True(t, SameStore(want.Store, want.Store))
		}
	}
	for _, text := range []string{"0", "-1", "oldest", "42x", "file:state", "file:chk-00000000000000000042", "state/" + name, "file:state/orders/0/chk-42", "gs://b/" + name, "s3://b/" + name + "?regoin=r", ":", "file:%zz/" + name} {
		require.Error(t, (&Settings{Restore: text}).Validate(), text)
	}
}

func TestStoresAreTheSameHoweverTheyAreWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, same := range [][2]string{{"file:state", "file:./state/"}, {"file:a/../b", "file:b"}, {"s3://b/x/?a=1&c=2", "s3://b/x?c=2&a=1"}} {
		require.True(t, SameStore(same[0], same[1]), same)
	}
	for _, other := range [][2]string{{"file:a", "file:b"}, {"file:b", "s3://b"}, {"s3://b/x", "s3://b/y"}, {"s3://b", "s3://c"}, {"s3://b?region=a", "s3://b?region=b"}} {
		require.False(t, SameStore(other[0], other[1]), other)
	}
}

func TestABooleanFlagNeedsNoValue(t *testing.T) {
	for _, args := range [][]string{{"--claim"}, {"--claim=true"}, {"--claim", "true"}} {
		l, err := load(t, good+"state: {url: \"file:s\"}\n", append(args, "--restore", "3"))
		require.NoError(t, err)
		require.True(t, l.Settings.Claim)
	}
	l, err := load(t, good, []string{"--claim", "false"})
	require.NoError(t, err)
	require.False(t, l.Settings.Claim)
	_, err = load(t, good, []string{"--claim=maybe"})
	require.Equal(t, []string{"--claim: maybe: must be true or false"}, faults(t, err))
}

func TestOtherErrorsOfAStorePassThrough(t *testing.T) {
	joined := storeFaults("url", "s3://b", errors.Join(fs.ErrPermission, fmt.Errorf("open: %w", fs.ErrInvalid)))
	require.EqualError(t, joined, "url: s3://b: must be one that its driver takes: permission denied\nurl: s3://b: must be one that its driver takes: invalid argument")
	s, err := checkpoint.OpenLocal("x")
	require.NoError(t, err)
	require.NoError(t, CloseStore(s))
}
