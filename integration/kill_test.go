package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
	"github.com/spillway-go/spillway/statecodec"
)

const killConfig = `{name: kill, source: {file: {path: %q}, key: {json: id}}, sink: {kinesis: {stream: s, region: us-east-1, endpoint: %q,
 writer: {order: per_key, held: {entries: 3000}, spill: {bytes: 4MiB}, in_flight: {requests: 16}, rate: {records: %d, record_burst: 1000}}}}, state: {url: "file:%s", interval: 100ms}}`

// input is a file of numbered lines, and where each of them ends.
type input struct {
	path string
	ends []int64
}

func writeInput(t *testing.T, lines, keys int) input {
	in := input{path: filepath.Join(t.TempDir(), "in.jsonl"), ends: make([]int64, lines)}
	f, err := os.Create(in.path)
	require.NoError(t, err)
	defer f.Close()
	w, at := bufio.NewWriter(f), int64(0)
	for n := range lines {
		k, err := fmt.Fprintf(w, `{"id":"key-%d","n":%d,"what":"a record of about one hundred bytes, to be killed and come back"}`+"\n", n*7919%keys, n)
		require.NoError(t, err)
		at += int64(k)
		in.ends[n] = at
	}
	require.NoError(t, w.Flush())
	return in
}

// line is the number of the first line at or behind a position of the file source.
func (in input) line(t *testing.T, position string) int {
	digits := position[:len(position)-len(strings.TrimLeft(position, "0123456789"))]
	offset, err := strconv.ParseInt(digits, 10, 64)
	require.NoError(t, err, "position %q", position)
	return sort.Search(len(in.ends), func(i int) bool { return in.ends[i] > offset })
}

func number(t *testing.T, data []byte) int {
	_, rest, ok := bytes.Cut(data, []byte(`"n":`)) // there are millions
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	n, err := strconv.Atoi(string(digits))
	require.True(t, ok && err == nil, "%s", data)
	return n
}

// saved is a checkpoint as a life left it.
type saved struct {
	id      uint64
	line    int          // the first that it had not read
	pending map[int]bool // lines that were read and not settled
}

// newest reads the newest complete checkpoint, as the next life will.
func newest(t *testing.T, in input, state string) *saved {
	store, err := checkpoint.OpenLocal(state)
	require.NoError(t, err)
	all, err := checkpoint.List(t.Context(), store, checkpoint.Job{Name: "kill"})
	require.NoError(t, err, "a checkpoint that is complete is whole, whenever the process was killed")
	if len(all) == 0 {
		return nil
	}
	c := all[len(all)-1]
	require.NoError(t, c.Verify(t.Context(), nil))
	s := &saved{id: c.ID, line: in.line(t, position(t, c)), pending: map[int]bool{}}
	for e, err := range c.Contents(t.Context(), nil) {
		require.NoError(t, err)
		r, err := kinesis.Codec{}.Decode(e.Section.CodecVersion, e.Data)
		require.NoError(t, err)
		s.pending[number(t, r.Data)] = true
	}
	require.Len(t, s.pending, int(c.Entries))
	return s
}

// position is where a checkpoint's source goes on.
func position(t *testing.T, c *checkpoint.Checkpoint) string {
	f, err := c.Open(t.Context(), c.State())
	require.NoError(t, err)
	defer f.Close()
	dec, err := statecodec.NewDecoder(f, statecodec.Caps{})
	require.NoError(t, err)
	for {
		section, err := dec.Next()
		require.NoError(t, err)
		if section.Kind == statecodec.KindSource {
			blob, err := dec.Blob()
			require.NoError(t, err)
			return string(blob[1+int(blob[0]):])
		}
	}
}

// TestFiftySIGKILLsLoseNothing: a million lines to a Kinesis in another
// process, which takes them more slowly than they are read, so that the worker
// spills all the time; checkpoints every 100 ms; the worker killed at random moments of lives
// of 300 ms and more. Nothing is lost; each life goes on from the last complete
// checkpoint; a copy too many is one of those that the checkpoint held or that
// were read after it; first occurrences stand in order by key.
func TestFiftySIGKILLsLoseNothing(t *testing.T) {
	lines, kills, rate := 1_000_000, 50, 25_000
	if *full {
		kills = 200
		rate = 8_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	in := writeInput(t, lines, 5000)
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams:          []kinesistest.StreamConfig{{Name: "s", Shards: 4}},
		RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited,
	})
	web := httptest.NewServer(srv)
	defer web.Close()
	state := filepath.Join(t.TempDir(), "state")
	config := filepath.Join(t.TempDir(), "kill.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, killConfig, in.path, web.URL, rate, state), 0o600))

	var lives []life
	var last *worker
	for killed := 0; ; {
		lives = append(lives, life{from: newest(t, in, state), first: settled(srv)})
		w := startWorker(t, "run", config)
		if killed < kills {
			select {
			case <-time.After(300*time.Millisecond + time.Duration(random.IntN(600))*time.Millisecond):
				killed++
				require.NoError(t, w.cmd.Process.Kill())
				<-w.ended
				lives[len(lives)-1].check(t, w)
				continue
			case <-w.ended:
				t.Fatalf("life %d ended by itself after %d kills: raise the number of lines\n%s%s", len(lives), killed, &w.stdout, &w.stderr)
			}
		}
		err := <-w.ended
		require.NoError(t, err, "%s", &w.stderr)
		lives[len(lives)-1].check(t, w)
		last = w
		break
	}
	words := last.lastLine()
	require.Contains(t, words, "done", "%v", words)
	require.Equal(t, "0", words["left"])
	checkStream(t, srv, lines, lives)
}

type life struct {
	from    *saved // what it went on from; nil: the beginning
	first   uint64 // how many records the stream had before
	resumed bool   // it said what it restored
}

// settled waits until requests that a killed worker had sent are answered, and counts the records.
func settled(srv *kinesistest.Server) uint64 {
	for before := int64(-1); ; {
		now := srv.Counts()["PutRecords"].Applied
		if now == before {
			return uint64(now)
		}
		before = now
		time.Sleep(30 * time.Millisecond)
	}
}

func (l *life) check(t *testing.T, w *worker) {
	id, entries, _, ok := w.restored()
	if l.from == nil || !ok {
		require.False(t, ok && l.from == nil, "restored from nothing: %s", &w.stderr)
		return // killed before it came so far
	}
	require.Equal(t, l.from.id, id, "the last complete checkpoint")
	l.resumed = true
	require.Equal(t, len(l.from.pending), entries, "different lines in the checkpoint, and entries restored from it")
}

func checkStream(t *testing.T, srv *kinesistest.Server, lines int, lives []life) {
	copies := make([]int, lines)
	sent := make([]map[int]bool, len(lives)) // lines that arrived in each life
	lifeOf := func(arrival uint64) int {
		return sort.Search(len(lives), func(i int) bool { return lives[i].first > arrival }) - 1
	}
	newestOf := map[string]int{} // by key
	type again struct{ n, life int }
	var more []again
	for r := range srv.All("s") {
		n, in := number(t, r.Data), lifeOf(r.Arrival)
		if sent[in] == nil {
			sent[in] = map[int]bool{}
		}
		require.False(t, sent[in][n], "line %d came twice in life %d, in which no answer was lost", n, in)
		sent[in][n] = true
		if copies[n]++; copies[n] > 1 {
			more = append(more, again{n, in})
			continue
		}
		if last, ok := newestOf[r.PartitionKey]; ok {
			require.Greater(t, n, last, "first occurrences of %s are out of order", r.PartitionKey)
		}
		newestOf[r.PartitionKey] = n
	}
	for n, c := range copies {
		require.NotZero(t, c, "line %d is lost", n)
	}
	// A copy too many was unsettled in the checkpoint of its life, or accepted after it was taken.
	for _, a := range more {
		from := lives[a.life].from
		require.True(t, from == nil || a.n >= from.line || from.pending[a.n],
			"line %d came again in life %d, which went on from line %d and did not hold it", a.n, a.life, from.lineOr0())
	}
	resumed := 0
	for _, l := range lives {
		if l.resumed {
			resumed++
		}
	}
	require.Greater(t, resumed, len(lives)*8/10, "lives that came so far as to restore")
	t.Logf("%d lives, %d records, lost 0, %d copies too many, each held by the checkpoint of its life or accepted after it; %d lives resumed; order by key kept",
		len(lives), lines, len(more), resumed)
}

func (s *saved) lineOr0() int {
	if s == nil {
		return 0
	}
	return s.line
}
