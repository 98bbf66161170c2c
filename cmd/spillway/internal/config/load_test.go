package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/file"
	"github.com/spillway-go/spillway/connectors/kinesis"
)

// The example of docs/design.md.
const example = `{name: orders, source: {file: {path: in.jsonl}, key: {json: id}}, sink: {kinesis: {stream: s, region: us-east-1, endpoint: "http://127.0.0.1:4567", writer: {order: per_key, held: {entries: 10000, bytes: 64MiB}, in_flight: {requests: 16}, rate: {records: 5000}}}}, state: {url: "file:state", interval: 1s}, dead_letter: {file: {path: dead.jsonl}}, shutdown: {deadline: 30s}}`

func TestTheExampleOfTheDesignIsReadWhole(t *testing.T) {
	l, err := load(t, example, nil)
	require.NoError(t, err)
	require.Empty(t, l.Warnings)
	require.Equal(t, Job{
		Name:   "orders",
		Source: Source{File: &file.Config{Path: "in.jsonl"}, Key: &Key{JSON: "id"}},
		Sink: Sink{Kinesis: &Kinesis{
			Config: kinesis.Config{Stream: "s", Region: "us-east-1", Endpoint: "http://127.0.0.1:4567"},
			Writer: asyncsink.Config{
				Order: asyncsink.PerKey, Held: limits.Held{Entries: 10000, Bytes: 64 * limits.MiB},
				InFlight: limits.InFlight{Requests: 16}, Rate: limits.Rate{Records: 5000},
			},
		}},
		State:      State{URL: "file:state", Interval: time.Second},
		DeadLetter: DeadLetter{File: &file.DeadLetterConfig{Path: "dead.jsonl"}},
		Shutdown:   Shutdown{Deadline: 30 * time.Second},
	}, l.Job)
	require.Equal(t, "state", l.Job.State.Dir())
}

func TestBlocksQuotesTagsAndCommentsAreRead(t *testing.T) {
	l, err := load(t, `--- # a job
"name": 'orders'
instance: 007
source:
  stdin:
sink: !!map
  kinesis:
    stream: &name |-
      s
    region: !!str us-east-1
    writer: {stop_on_ambiguous: true, rate: {records: 0.5}, retry: {age: "1h"}, batch: }
state:
`, nil)
	require.NoError(t, err)
	require.Equal(t, "orders", l.Job.Name)
	require.Equal(t, "007", l.Job.Instance, "as it was written")
	require.NotNil(t, l.Job.Source.Stdin)
	require.Equal(t, "s", l.Job.Sink.Kinesis.Stream)
	w := l.Job.Sink.Kinesis.Writer
	require.True(t, w.StopOnAmbiguous)
	require.EqualValues(t, 0.5, w.Rate.Records)
	require.Equal(t, time.Hour, w.Retry.Age)
}

func TestAFlagGoesBeforeTheEnvironmentAndThatBeforeTheFile(t *testing.T) {
	document := good + "shutdown: {deadline: 1s}\n"
	deadline := func(args []string, env ...string) time.Duration {
		l, err := load(t, document, args, env...)
		require.NoError(t, err)
		return l.Job.Shutdown.Deadline
	}
	require.Equal(t, time.Second, deadline(nil))
	require.Equal(t, 2*time.Second, deadline(nil, "SPILLWAY_SHUTDOWN_DEADLINE=2s"))
	require.Equal(t, 3*time.Second, deadline([]string{"--shutdown.deadline=3s"}, "SPILLWAY_SHUTDOWN_DEADLINE=2s"))
	require.Equal(t, 4*time.Second, deadline([]string{"--shutdown.deadline=3s", "--shutdown.deadline", "4s"}))
	require.Equal(t, time.Second, deadline(nil, "SPILLWAY_SHUTDOWN_DEADLINE=", "OTHER=x", "NOTHING"), "an empty variable is none")
}

func TestEveryValueCanComeFromFlagsAndTheEnvironmentAlone(t *testing.T) {
	l, err := Load([]string{"--name=n", "--source.stdin", "--sink.kinesis.stream", "s", "--log-level=warn"},
		[]string{"SPILLWAY_SINK_KINESIS_REGION=eu-west-1", "SPILLWAY_OUTPUT=json", "SPILLWAY_DEAD_LETTER_FILE_PATH=d"}, strings.NewReader(""))
	require.NoError(t, err)
	require.Equal(t, "n", l.Job.Name)
	require.NotNil(t, l.Job.Source.Stdin)
	require.Equal(t, kinesis.Config{Stream: "s", Region: "eu-west-1"}, l.Job.Sink.Kinesis.Config)
	require.Equal(t, "d", l.Job.DeadLetter.File.Path)
	require.Equal(t, Settings{Output: JSON, LogLevel: "warn"}, l.Settings)

	for _, choice := range []string{"true", "{}"} {
		l, err = Load([]string{"--name=n", "--sink.kinesis.stream=s"}, []string{"SPILLWAY_SOURCE_STDIN=" + choice}, strings.NewReader(""))
		require.NoError(t, err)
		require.NotNil(t, l.Job.Source.Stdin)
	}
}

func TestTheDocumentMayComeFromStandardInput(t *testing.T) {
	l, err := Load([]string{Stdin}, nil, strings.NewReader(good))
	require.NoError(t, err)
	require.Equal(t, "orders", l.Job.Name)
	_, err = Load([]string{Stdin}, nil, strings.NewReader("name: a\nsource:\n  stdin: {}\nsink: {kinesis: {stream: s}}"))
	require.Equal(t, []string{"stdin:1: source.stdin: read already: must be another source, or the document in a file: standard input can't be both"}, faults(t, err))
}

func TestWhatMayBeAMistakeIsAWarning(t *testing.T) {
	l, err := load(t, good+"", []string{"--sink.kinesis.writer.order=per_key"}, "SPILLWAY_STAET_URL=x", "SPILLWAY_SERVICE_PORT=80")
	require.NoError(t, err)
	require.Equal(t, []string{
		"$SPILLWAY_STAET_URL is ignored: no value has this name; did you mean $SPILLWAY_STATE_URL?",
		"$SPILLWAY_SERVICE_PORT is ignored: no value has this name",
		"order per_key with random keys keeps no order: say in source.key where the key is",
	}, l.Warnings)
}

func TestHelpIsAskedForBesideAnything(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"-help", "no.yaml", "--what"}} {
		l, err := Load(args, nil, strings.NewReader(""))
		require.NoError(t, err)
		require.True(t, l.Help)
	}
}

func TestAStateLiesInALocalFolder(t *testing.T) {
	for url, dir := range map[string]string{"": "", "file:state": "state", "file:a/b%20c": "a/b c", "file:/var/x": "/var/x", "file:///var/x": "/var/x", "file:../x": "../x"} {
		s := State{URL: url}
		require.NoError(t, s.Validate(), url)
		require.Equal(t, dir, s.Dir(), url)
	}
	for _, url := range []string{"state", "/state", "gs://b/x", "s3:b/x", "s3://", "s3://b/x?key=a", "s3://u:p@b", "file:", "file://host/x", "file:x?y=1", "file:x#y", "FILE", ":", "file:a%00b", "file:%zz"} {
		s := State{URL: url}
		require.Error(t, s.Validate(), url)
	}
}

func TestFaultsThatShowLaterSayWhereTheValueWasWritten(t *testing.T) {
	l, err := load(t, "name: a\nsource: {stdin: {}}\nsink:\n  kinesis:\n    stream: s\n    writer:\n      batch: {bytes: 5MiB}\n", []string{"--sink.kinesis.endpoint=http://u:secret@h"})
	require.NoError(t, err)
	none := &limits.Fault{Field: "region", Value: "none", Bound: "set here, in AWS_REGION or in the profile"}
	size := &limits.Fault{Field: "batch.bytes", Value: "5MiB", Bound: "1B to 4MiB"}
	end := &limits.Fault{Field: "endpoint", Value: "x", Bound: "reachable"}
	require.Equal(t, []string{
		"p.yaml:4: sink.kinesis.region: none: must be set here, in AWS_REGION or in the profile",
		"p.yaml:7: sink.kinesis.writer.batch.bytes: 5MiB: must be 1B to 4MiB",
		"--sink.kinesis.endpoint: http://u:xxxxx@h: must be reachable",
	}, faults(t, l.Explain("sink.kinesis", fmt.Errorf("open: %w", errors.Join(none, &asyncsink.ConfigError{Writer: "w", Errs: []error{size}}, end)))))
	other := errors.New("no connection")
	require.Equal(t, other, l.Explain("sink.kinesis", other))
	mixed := errors.Join(none, other)
	require.Equal(t, mixed, l.Explain("sink.kinesis", mixed), "nothing is hidden")
	require.NoError(t, l.Explain("sink.kinesis", nil))
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	path := absent(t)
	_, err := Load([]string{path}, nil, nil)
	require.Equal(t, []string{"FILE: " + path + ": can't be read: no such file or directory"}, faults(t, err))
	dir := t.TempDir()
	_, err = Load([]string{dir}, nil, nil)
	require.Equal(t, []string{"FILE: " + dir + ": can't be read: is a directory"}, faults(t, err))
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("large.yaml", []byte(strings.Repeat("#\n", mostBytes)), 0o600))
	_, err = Load([]string{"large.yaml"}, nil, nil)
	require.Equal(t, []string{"large.yaml:1: document: 65537 bytes: must be at most 65536"}, faults(t, err))
}
