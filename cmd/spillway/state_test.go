package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/memblob"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

// newest is the newest manifest of the job orders, and data the newest of its data files.
func (w *world) newest() string { return w.last("state/orders/0/chk-*") }
func (w *world) data() string   { return w.last("state/orders/0/data/*") }

func (w *world) last(pattern string) string {
	w.Helper()
	all, err := filepath.Glob(pattern)
	require.NoError(w, err)
	require.NotEmpty(w, all)
	return slices.Max(all)
}

// flip changes a byte in the middle of a file.
func (w *world) flip(name string) {
	w.Helper()
	b := []byte(w.read(name))
	b[len(b)/2] ^= 1
	w.write(name, string(b))
}

// leave has the job read lines, while nothing is delivered, and stop with all of them in its state.
func (w *world) leave(lines int, args ...string) {
	w.Helper()
	w.write("job.yaml", keyedJob)
	w.write("in.jsonl", numbered(0, lines))
	w.hanging()
	w.onceHeld(syscall.SIGTERM, syscall.SIGTERM)
	r := w.job(args...)
	r.ended(w, 3, "stopped", counts{accepted: int64(lines), left: int64(lines)})
	w.srv.ClearFaults()
}

// inMemory has every store be one in memory.
func (w *world) inMemory() checkpoint.Store {
	w.Helper()
	bucket, err := blob.OpenBucket(w.Context(), "mem://")
	require.NoError(w, err)
	w.Cleanup(func() { _ = bucket.Close() })
	s := keptOpen{blobstore.New(bucket)}
	w.store = func(context.Context, string) (checkpoint.Store, error) { return s, nil }
	return s
}

// keptOpen is a store that outlives those who use it.
type keptOpen struct{ checkpoint.Store }

const remoteState = "--state.url=mem://"

func TestStateInABucketIsGoneOnWithByTheNextProcess(t *testing.T) {
	inWorld(t, func(w *world) {
		w.inMemory()
		w.leave(100, remoteState)
		r := w.job(remoteState)
		r.ended(w, 0, "done", counts{restored: 100, delivered: 100, duplicates: r.duplicates(w)})
		require.Len(w, w.stored(), 100)
		require.NoDirExists(w, "state")
	})
}

func TestASecondProcessOverABucketEndsTheFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.inMemory()
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 100))
		w.hanging()
		go func() {
			w.stderr.wait("INFO checkpoint id=")
			h, err := checkpoint.Open(w.Context(), s, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
			if err == nil {
				err = h.Close()
			}
			require.NoError(w, err)
			w.signals <- syscall.SIGTERM
			w.signals <- syscall.SIGTERM
		}()
		r := w.job(remoteState)
		outcome, _ := r.last(w)
		require.Equal(w, "failed", outcome)
		require.Equal(w, 4, r.code, r.stderr)
		require.Contains(w, r.stderr, "another process has taken the state over")
	})
}

func TestSpilledEntriesLieBesideTheCheckpointsAndAreDelivered(t *testing.T) {
	inWorld(t, func(w *world) {
		small := []string{"--sink.kinesis.writer.held.entries=50", "--sink.kinesis.writer.spill.bytes=1MiB", "--sink.kinesis.writer.spill.sync=steady"}
		w.leave(1000, small...)
		require.DirExists(w, "state/orders/0/spill")
		r := w.job(small...)
		r.ended(w, 0, "done", counts{restored: 1000, delivered: 1000, duplicates: r.duplicates(w)})
		require.Len(w, w.stored(), 1000)
	})
}

func TestANamedCheckpointIsRestoredAndKeptOrClaimed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		kept bool
	}{
		"by its number":             {[]string{"--restore=2"}, true},
		"by its URL":                {[]string{"--restore=file:state/orders/0/chk-00000000000000000002"}, true},
		"claimed":                   {[]string{"--restore=2", "--claim"}, false},
		"claimed by its URL":        {[]string{"--restore=file:./state/orders/0/chk-00000000000000000002", "--claim"}, false},
		"the newest, as it is":      {[]string{"--restore=newest"}, false},
		"the newest, as by default": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.leave(100)
				old := "state/orders/0/chk-00000000000000000002"
				require.FileExists(w, old)
				r := w.job(c.args...)
				r.ended(w, 0, "done", counts{restored: 100, delivered: 100, duplicates: r.duplicates(w)})
				w.write("in.jsonl", numbered(0, 200))
				w.job().ended(w, 0, "done", counts{accepted: 100, delivered: 100})
				w.write("in.jsonl", numbered(0, 300))
				w.job().ended(w, 0, "done", counts{accepted: 100, delivered: 100})
				if c.kept {
					require.FileExists(w, old)
					require.Contains(w, w.run("state", "ls", "file:state").stdout, "kept")
					require.Equal(w, 0, w.run("state", "verify", "file:state").code)
					return
				}
				require.NoFileExists(w, old)
			})
		})
	}
}

func TestACheckpointOfAnotherJobIsRestoredFromAnyStore(t *testing.T) {
	const name = "/orders/0/chk-00000000000000000002"
	for _, claim := range []bool{false, true} {
		inWorld(t, func(w *world) {
			w.leave(100)
			args := []string{"--name=copy", "--state.url=file:other", "--restore", "file:state" + name}
			if claim {
				args = append(args, "--claim")
			}
			r := w.job(args...)
			r.ended(w, 0, "done", counts{restored: 100, delivered: 100, duplicates: r.duplicates(w)})
			show := w.run("state", "inspect", "file:other", "copy", "--checkpoint=2", "--limit=1").stdout
			require.Contains(w, show, "  lineage  restored from orders/0/chk-00000000000000000002 in "+w.abs("state")+", "+map[bool]string{true: "claim", false: "no-claim"}[claim]+"\n")
			_, err := os.Stat("state" + name)
			require.Equal(w, claim, os.IsNotExist(err))
			require.Equal(w, 0, w.run("state", "verify", "file:other").code)
		})
	}
}

func TestACheckpointThatIsNotThereIsRefusedWithWhatThereIs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.leave(10)
		for _, from := range []string{"9", "file:state/orders/0/chk-00000000000000000009"} {
			r := w.job("--restore", from)
			r.ended(w, 4, "failed", counts{})
			require.Contains(w, r.stderr, "there is no checkpoint 9: choose one of 2, 3")
		}
		r := w.job("--restore=file:state/others/0/chk-00000000000000000009")
		r.ended(w, 4, "failed", counts{})
		require.Contains(w, r.stderr, "restore others/0/chk-00000000000000000009: checkpoint: there is no checkpoint 9, nor any other")
		require.NoError(w, os.Remove("in.jsonl"))
		r = w.job("--restore=file:state/orders/0/chk-00000000000000000003")
		require.Equal(w, 1, r.code, "it is the input that is not there: %s", r.stderr)
	})
}

func TestDamagedEntriesAreLeftOutOnlyWhenTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.leave(100)
		manifest := w.newest()
		w.flip("state/orders/0/data/1-1")
		r := w.job()
		r.ended(w, 4, "failed", counts{})
		require.Contains(w, r.stderr, "damaged at byte")
		require.FileExists(w, manifest)

		r = w.job("--skip-damaged")
		require.Equal(w, 0, r.code, r.stderr)
		require.Contains(w, r.stderr, "a part of the state is damaged and was left out")
		require.Contains(w, r.stderr, "kept=orders/0/quarantine/")
		kept, err := filepath.Glob("state/orders/0/quarantine/*")
		require.NoError(w, err)
		require.NotEmpty(w, kept)
	})
}

// A copy of the folder while the job runs is what SIGKILL would leave.
func (w *world) killed(args ...string) (left string) {
	w.Helper()
	left = filepath.Join(w.TempDir(), "left")
	copied := make(chan error, 1)
	go func() {
		w.stderr.wait("INFO checkpoint id=")
		copied <- os.CopyFS(left, os.DirFS("state"))
		w.signals <- syscall.SIGTERM
		w.signals <- syscall.SIGTERM
	}()
	w.job(args...)
	require.NoError(w, <-copied)
	return left
}

func TestAReplayReadsAgainWhatWasNotSettled(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 1000))
		w.hanging()
		left := w.killed("--state.recover=replay")
		ls := w.run("state", "inspect", "file:"+left, "orders").stdout
		require.Contains(w, ls, "0 of 0 entries shown")
		w.srv.ClearFaults()
		r := w.job("--state.recover=replay", "--state.url=file:"+left)
		r.ended(w, 0, "done", counts{accepted: 1000, delivered: 1000})
		require.Len(w, w.stored(), 1000)
	})
}

func TestAServerThatIgnoresConditionsIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>`))
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	w := &world{T: t, stdin: strings.NewReader("a\n"), stderr: &lines{}}
	bucket := func(endpoint string) string {
		return "--state.url=s3://bucket/prefix?region=us-east-1&use_path_style=true&endpoint=" + endpoint
	}
	start := []string{"run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s"}
	r := w.run(append(start, bucket(server.URL))...)
	r.ended(t, 4, "failed", counts{})
	require.Contains(t, r.stderr, "s3://bucket/prefix ignores the condition of conditional writes (If-None-Match: *)")

	server.Close()
	r = w.run(append(start, bucket(server.URL))...)
	r.ended(t, 1, "failed", counts{})
	require.Contains(t, r.stderr, "blobstore: list x/0/chk- in s3://bucket/prefix: ")
	require.Contains(t, r.stderr, "connection refused")
	r = w.run("state", "ls", strings.TrimPrefix(bucket(server.URL), "--state.url="))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "connection refused")
}

// full is a store that has no room for data.
type full struct{ checkpoint.Store }

func (full) Put(context.Context, string, func(io.Writer) error) error { return syscall.ENOSPC }

func TestAStoreThatFailsForTooLongEndsTheJobIfAskedTo(t *testing.T) {
	inWorld(t, func(w *world) {
		s := full{w.inMemory()}
		w.store = func(context.Context, string) (checkpoint.Store, error) { return s, nil }
		w.write("job.yaml", plainJob)
		w.write("in.jsonl", numbered(0, 3000))
		slow := []string{remoteState, "--sink.kinesis.writer.rate.records=100", "--sink.kinesis.writer.batch.entries=10", "--sink.kinesis.writer.rate.record_burst=10"}
		r := w.job(append(slow, "--state.tolerate=2", "--shutdown.deadline=1ms")...)
		require.Equal(w, 1, r.code, r.stderr)
		require.Contains(w, r.stderr, "3 checkpoints in a row have failed, above the limit of state.tolerate")
	})
}
