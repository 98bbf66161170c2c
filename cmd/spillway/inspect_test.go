package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// varied are entries of which the second was tried and may be stored, and the third was given up.
func varied() []statecodec.Entry {
	e := records(1, 5)
	e[1].Attempts, e[1].Unsure = 3, true
	e[2].Attempts, e[2].Class, e[2].Cause, e[2].DeadAt = 5, "attempts", "InternalFailure: the service\nsays no", e[2].Born+int64(time.Second)
	return e
}

func TestInspectShowsWhatACheckpointHolds(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.write(0, varied()...)
		time.Sleep(time.Minute)
		c := l.write(4, records(6, 2)...)
		require.Equal(w, ran{0, fmt.Sprintf(`checkpoint 3 of orders/0
  written  2000-01-01T00:01:00Z by spillway test, 0ms ago, in epoch 1
  final    no: requests may have been in flight
  source   file at 1890:100:f1a921cf78677710
  writer   sink holds 4 entries, 68B, as kinesis.record version 1
  file     data/1-1 (log), %s, 5 entries written
  file     data/1-2 (state), %s, 2 entries written

SEQ  ATTEMPTS   AGE  UNSURE  SIZE  KEY  GIVEN UP
  4         0  1m1s  no       11B  k4
  5         0  1m0s  no       11B  k5
  6         0    1s  no       11B  k6
  7         0   0ms  no       11B  k0

4 of 4 entries shown: 0 given up, 0 unsure, 44B
`, size(c.Files[0].Size), size(c.Files[1].Size)), ""}, w.look("inspect", "file:state", "orders"))
		r := w.look("inspect", "file:state", "orders/0", "--checkpoint=2", "--data", "--at=2000-01-01T00:00:10Z", "--limit=3")
		require.Equal(w, 0, r.code, r.stderr)
		_, table, _ := strings.Cut(r.stdout, "\n\n")
		require.Equal(w, `SEQ  ATTEMPTS  AGE  UNSURE  SIZE  KEY  GIVEN UP
  1         0  14s  no       11B  k1
    {"n":1}
  2         3  13s  yes      11B  k2
    {"n":2}
  3         5  12s  no       11B  k3   attempts: InternalFailure: the service says no
    {"n":3}

3 of 5 entries shown, where reading ended: 1 given up, 1 unsure, 33B
`, table)
	})
}

func TestInspectFilters(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, append(varied(), records(6, 10)...)...)
		for flags, want := range map[string][]float64{
			"":                                 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
			"--key=k1":                         {1, 8, 15},
			"--key k1 --limit 2":               {1, 8},
			"--key=nobody":                     nil,
			"--min-attempts=3":                 {2, 3},
			"--min-attempts=4":                 {3},
			"--older-than=6s":                  {6, 7, 8},
			"--older-than=2s --min-attempts=1": {2},
			"--dead":                           {3},
			"--dead=true --key=k2":             nil,
			"--older-than=1h":                  nil,
			"--older-than=1h --at 2000-01-01T02:00:00+00:00 --limit=1": {1},
		} {
			r := w.look(append([]string{"inspect", "file:state", "orders", "--output=json"}, strings.Fields(flags)...)...)
			require.Equal(w, 0, r.code, r.stderr)
			all := r.objects(w)
			require.Equal(w, "manifest", all[0]["type"])
			counts := all[len(all)-1]
			require.Equal(w, "counts", counts["type"])
			require.EqualValues(w, 15, counts["entries"])
			require.EqualValues(w, len(want), counts["shown"], flags)
			var seqs []float64
			for _, e := range all[1 : len(all)-1] {
				require.Equal(w, "entry", e["type"])
				seqs = append(seqs, e["seq"].(float64))
			}
			require.Equal(w, want, seqs, flags)
		}
	})
}

func TestInspectAsJSONHasEverything(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, varied()...)
		all := w.look("inspect", "file:state", "orders", "--output=json", "--dead", "--data").objects(w)
		require.Len(w, all, 3)
		require.Equal(w, []any{map[string]any{"split": "file", "position": "1890:100:f1a921cf78677710"}}, all[0]["splits"])
		require.Equal(w, w.abs("state/orders/0/chk-00000000000000000002"), all[0]["path"])
		require.Len(w, all[0]["files"], 1)
		require.Equal(w, map[string]any{
			"type": "entry", "operator": "sink", "writer": "07000000000000000000000000000000", "seq": 3.0, "key": "k3", "attempts": 5.0,
			"born": "1999-12-31T23:59:58Z", "age_seconds": 2.0, "unsure": false, "class": "attempts", "error": "InternalFailure: the service\nsays no",
			"dead_at": "1999-12-31T23:59:59Z", "bytes": 11.0, "file": "data/1-1", "data": "eyJuIjozfQ==",
		}, all[1])
		require.Equal(w, map[string]any{"type": "counts", "entries": 5.0, "read": 5.0, "shown": 1.0, "dead": 1.0, "unsure": 0.0, "bytes": 11.0, "damaged": 0.0}, all[2])
	})
}

func TestOfACodecThatIsNotKnownKeysAreNotGuessed(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.codec = "mine"
		l.write(0, statecodec.Entry{Seq: 1, Data: []byte("text\x1b[2J")}, statecodec.Entry{Seq: 2, Data: []byte("\xff\x00")})
		r := w.look("inspect", "file:state", "orders", "--data")
		require.Equal(w, 0, r.code, r.stderr)
		require.Contains(w, r.stdout, "  (unknown)\n    text\ufffd[2J\n")
		require.Contains(w, r.stdout, "  (unknown)\n    base64 /wA=\n")
		require.Nil(w, w.look("inspect", "file:state", "orders", "--output=json").objects(w)[1]["key"])
		r = w.look("inspect", "file:state", "orders", "--key=a")
		require.Equal(w, ran{2, "", `spillway: --key: a: can't be used: the entries of "sink" have the codec "mine", whose keys this program does not know` + "\n"}, r)
	})
}

func TestEntriesOfANewerCodecAreRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.version = 9
		l.write(0, records(1, 3)...)
		r := w.look("inspect", "file:state", "orders")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stderr, `entry 1: statecodec: codec "kinesis.record" has version 9`)
	})
}

func TestInspectShowsWhatCanBeReadAndPassesNothingOverInSilence(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 3)
		l.write(0, records(1, 5)...)
		l.write(4, records(6, 20_000)...)
		w.flip("state/orders/0/data/1-2")
		r := w.look("inspect", "file:state", "orders")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stdout, "\n    4  ")
		require.Contains(w, r.stdout, "left out is what could not be read at ")
		require.Contains(w, r.stderr, "spillway: orders/0/data/1-2 at byte ")

		w.write("state/orders/0/chk-00000000000000000003", "?")
		r = w.look("inspect", "file:state", "orders")
		require.Equal(w, 4, r.code)
		require.Empty(w, r.stdout)
		require.Contains(w, r.stderr, "spillway: orders/0/chk-00000000000000000003 at byte 1: ")
		require.Equal(w, 0, w.look("inspect", "file:state", "orders", "--checkpoint=2").code)
		require.NoError(w, os.Remove("state/orders/0/data/1-1"))
		r = w.look("inspect", "file:state", "orders", "--checkpoint=2")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stderr, "data/1-1 at byte 0: it is not there")
	})
}
