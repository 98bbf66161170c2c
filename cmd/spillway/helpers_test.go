package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// world is a folder, a Kinesis in memory with a stream s, and a process in them whose time is that of a bubble.
type world struct {
	*testing.T
	srv     *kinesistest.Server
	stdin   io.Reader
	stderr  *lines
	signals chan os.Signal
	width   func() int
	connect func(context.Context, kinesis.Config, *slog.Logger) (kinesis.API, error)
	store   func(context.Context, string) (checkpoint.Store, error) // nil: config.OpenStore
}

// inWorld runs a test in a world of its own.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		srv := kinesistest.NewServer(t, kinesistest.Config{
			Streams:          []kinesistest.StreamConfig{{Name: "s", Shards: 2}},
			RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited,
		})
		test(&world{
			T: t, srv: srv, stdin: strings.NewReader(""), stderr: &lines{}, signals: make(chan os.Signal, 3),
			connect: func(context.Context, kinesis.Config, *slog.Logger) (kinesis.API, error) {
				return sdk.New(sdk.Options{
					Region: "us-east-1", Credentials: awscredentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), HTTPClient: srv,
				}), nil
			},
		})
	})
}

// ran is what a process left behind.
type ran struct {
	code           int
	stdout, stderr string
}

// run runs the command and returns when it has ended.
func (w *world) run(args ...string) ran {
	w.Helper()
	var stdout bytes.Buffer
	w.stderr.reset()
	code := run(w.process(&stdout, args))
	return ran{code, stdout.String(), w.stderr.String()}
}

func (w *world) process(stdout io.Writer, args []string) process {
	store := w.store
	if store == nil {
		store = config.OpenStore
	}
	return process{
		args: args, stdin: w.stdin, stdout: stdout, stderr: w.stderr, listen: func() <-chan os.Signal { return w.signals },
		untilSignal: func() (context.Context, context.CancelFunc) { return context.WithCancel(w.Context()) },
		width:       w.width, connect: w.connect, store: store,
	}
}

// job runs job.yaml.
func (w *world) job(args ...string) ran {
	w.Helper()
	return w.run(append([]string{"run", "job.yaml"}, args...)...)
}

// write makes a file.
func (w *world) write(name, text string) {
	w.Helper()
	require.NoError(w, os.WriteFile(name, []byte(text), 0o600))
}

func (w *world) read(name string) string {
	w.Helper()
	b, err := os.ReadFile(name)
	require.NoError(w, err)
	return string(b)
}

const (
	plainJob = `{name: orders, source: {file: {path: in.jsonl}}, sink: {kinesis: {stream: s, region: us-east-1}}, state: {url: "file:state"}}`
	keyedJob = `{name: orders, source: {file: {path: in.jsonl}, key: {json: id}}, sink: {kinesis: {stream: s, region: us-east-1, writer: {order: per_key}}}, state: {url: "file:state"}}`
	withDead = "--dead_letter.file.path=dead.jsonl"
)

// numbered is n lines of JSON, from a number on.
func numbered(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"id":"k%d","n":%d}`+"\n", i%7, i)
	}
	return b.String()
}

// stored counts the copies of each number that the stream has.
func (w *world) stored() map[int]int {
	w.Helper()
	all := map[int]int{}
	for r := range w.srv.All("s") {
		var v struct{ N int }
		require.NoError(w, json.Unmarshal(r.Data, &v), "%s", r.Data)
		all[v.N]++
	}
	return all
}

// counts are the numbers of the last line.
type counts struct{ accepted, restored, delivered, dead, left, duplicates int64 }

var lastText = regexp.MustCompile(`(?:^|\n)spillway: (done|stopped|failed) accepted=(\d+) restored=(\d+) delivered=(\d+) dead=(\d+) left=(\d+) possible_duplicates=(\d+)\n$`)

// last takes the last line of standard output apart, and checks that its books balance.
func (r ran) last(t testing.TB) (outcome string, c counts) {
	t.Helper()
	m := lastText.FindStringSubmatch(r.stdout)
	require.NotNil(t, m, "stdout %q, stderr %s", r.stdout, r.stderr)
	n := make([]int64, len(m))
	for i := 2; i < len(m); i++ {
		n[i], _ = strconv.ParseInt(m[i], 10, 64)
	}
	c = counts{n[2], n[3], n[4], n[5], n[6], n[7]}
	require.Equal(t, c.accepted+c.restored, c.delivered+c.dead+c.left, r.stdout)
	return m[1], c
}

// ended checks everything that a script looks at.
func (r ran) ended(t testing.TB, code int, outcome string, c counts) {
	t.Helper()
	is, got := r.last(t)
	require.Equal(t, outcome, is, r.stderr)
	require.Equal(t, code, r.code, r.stderr)
	require.Equal(t, c, got, r.stderr)
}

// lines is standard error: a test can wait until something is written.
type lines struct {
	mu  sync.Mutex
	b   bytes.Buffer
	new chan struct{} // closed at the next write
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.new != nil {
		close(l.new)
		l.new = nil
	}
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// wait returns once a text was written.
func (l *lines) wait(text string) {
	for {
		l.mu.Lock()
		if strings.Contains(l.b.String(), text) {
			l.mu.Unlock()
			return
		}
		if l.new == nil {
			l.new = make(chan struct{})
		}
		next := l.new
		l.mu.Unlock()
		<-next
	}
}
