package integration

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

const backlogConfig = `{name: backlog, source: {file: {path: %q}, key: {json: id}}, sink: {kinesis: {stream: s, region: us-east-1, endpoint: %q,
 writer: {order: per_key, held: {entries: 8000, bytes: %s}, batch: {bytes: 512KiB, entry_bytes: 512KiB}, in_flight: {requests: 4, bytes: 1MiB}, spill: {bytes: 16GiB}}}}, state: {url: "file:%s", interval: 1s}}`

// valve lets PutRecords through when it is open, and answers that the service is away when it is not.
type valve struct {
	http.Handler
	open atomic.Bool
}

func (v *valve) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !v.open.Load() && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutRecords") {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"__type":"ServiceUnavailable"}`)
		return
	}
	v.Handler.ServeHTTP(w, r)
}

// TestABacklogLargerThanMemorySurvivesAKill: the destination is away while all lines are read. They spill, checkpoints hold
// them, the process is killed, and the next one delivers them all when the destination is back; neither ever takes
// more memory than a small part of the backlog.
func TestABacklogLargerThanMemorySurvivesAKill(t *testing.T) {
	size, memory, held := int64(1<<30), int64(64<<20), "4MiB"
	if *full {
		size, memory, held = 5<<30, 256<<20, "16MiB"
	}
	path, lines := writeBacklog(t, size)
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams:          []kinesistest.StreamConfig{{Name: "s", Shards: 4}},
		RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited,
	})
	away := &valve{Handler: srv}
	web := httptest.NewServer(away)
	defer web.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "backlog.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, backlogConfig, path, web.URL, held, filepath.Join(dir, "state")), 0o600))

	env := []string{fmt.Sprintf("GOMEMLIMIT=%d", memory/2)} // as docs/state.md advises
	w := startWorkerWith(t, env, "run", config)
	begun := time.Now()
	var peak int64
	for done := fmt.Sprintf("entries=%d\n", lines); !strings.Contains(w.log(), done); time.Sleep(20 * time.Millisecond) {
		select {
		case <-w.ended:
			t.Fatalf("it ended\n%s", w.log())
		default:
			peak = max(peak, w.peak(t))
		}
	}
	spilled := time.Since(begun)
	require.NoError(t, w.cmd.Process.Kill())
	<-w.ended

	away.open.Store(true)
	begun = time.Now()
	w = startWorkerWith(t, env, "run", config)
	var again int64
wait:
	for {
		select {
		case err := <-w.ended:
			require.NoError(t, err, "%s", w.log())
			break wait
		case <-time.After(20 * time.Millisecond):
			again = max(again, w.peak(t))
		}
	}
	words := w.lastLine()
	require.Contains(t, words, "done")
	require.Equal(t, strconv.Itoa(lines), words["restored"])
	require.Equal(t, strconv.Itoa(lines), words["delivered"])
	require.Equal(t, "0", words["left"])

	seen := make([]bool, lines)
	next := map[string]int{}
	for r := range srv.All("s") {
		n := number(t, r.Data)
		if !seen[n] {
			require.GreaterOrEqual(t, n, next[r.PartitionKey], "order of %s", r.PartitionKey)
			next[r.PartitionKey] = n
		}
		seen[n] = true
	}
	for n, ok := range seen {
		require.True(t, ok, "line %d is lost", n)
	}
	t.Logf("%d lines, %d MiB: read and in a checkpoint after %v, peak %d MiB; killed; all delivered by the next process in %v, peak %d MiB",
		lines, size>>20, spilled.Round(time.Millisecond), peak>>20, time.Since(begun).Round(time.Millisecond), again>>20)
	require.Less(t, peak, memory)
	require.Less(t, again, memory)
}

// writeBacklog writes lines of 4 KiB.
func writeBacklog(t *testing.T, size int64) (path string, lines int) {
	path = filepath.Join(t.TempDir(), "in.jsonl")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	pad := strings.Repeat("x", 4000)
	for at := int64(0); at < size; lines++ {
		n, err := fmt.Fprintf(w, `{"id":"key-%d","n":%d,"pad":"%s"}`+"\n", lines*7919%5000, lines, pad)
		require.NoError(t, err)
		at += int64(n)
	}
	require.NoError(t, w.Flush())
	return path, lines
}
