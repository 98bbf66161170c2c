package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func TestAFileIsDeliveredAndASecondRunHasNothingToDo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 1000))
		w.job().ended(w, 0, "done", counts{accepted: 1000, delivered: 1000})
		again := w.job()
		again.ended(w, 0, "done", counts{})
		require.Regexp(w, `(?m)^\d\d:\d\d:\d\d INFO restored checkpoint=\d+ entries=0 position=\d+:1000:[0-9a-f]{16}$`, again.stderr)
		require.Regexp(w, `(?m)^\d\d:\d\d:\d\d INFO checkpoint id=\d+ entries=0$`, again.stderr)

		w.write("in.jsonl", numbered(0, 1010))
		w.job().ended(w, 0, "done", counts{accepted: 10, delivered: 10})
		stored := w.stored()
		require.Len(w, stored, 1010)
		last := map[string]int{}
		for r := range w.srv.All("s") {
			require.Equal(w, 1, stored[number(w, r.Data)])
			require.Less(w, last[r.PartitionKey], number(w, r.Data)+1, "in order")
			last[r.PartitionKey] = number(w, r.Data)
		}
		require.Len(w, last, 7)
	})
}

func number(t testing.TB, data []byte) int {
	var v struct{ N int }
	require.NoError(t, json.Unmarshal(data, &v))
	return v.N
}

func TestStandardInputIsDeliveredAndSaidNotToBeReplayable(t *testing.T) {
	inWorld(t, func(w *world) {
		w.stdin = strings.NewReader("any\nline\n\nnot JSON")
		r := w.run("run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s")
		r.ended(w, 0, "done", counts{accepted: 3, delivered: 3})
		require.Contains(w, r.stderr, " WARN ")
		require.Contains(w, r.stderr, "cannot be replayed")
		var data []string
		keys := map[string]bool{}
		for rec := range w.srv.All("s") {
			data = append(data, string(rec.Data))
			keys[rec.PartitionKey] = true
		}
		require.ElementsMatch(w, []string{"any", "line", "not JSON"}, data)
		require.Len(w, keys, 3, "each its own")
	})
}

func TestTheLastLineAndTheLogCanBeJSON(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 10))
		r := w.job("--output", "json", "--log-format=json")
		require.Equal(w, 0, r.code)
		require.JSONEq(w, `{"spillway":"done","outcome":"done","accepted":10,"restored":0,"delivered":10,"dead":0,"left":0,"possible_duplicates":0,"error":""}`, r.stdout)
		checkpoints := 0
		for line := range strings.Lines(r.stderr) {
			var v map[string]any
			require.NoError(w, json.Unmarshal([]byte(line), &v))
			if v["msg"] == "checkpoint" {
				require.Contains(w, v, "id")
				require.Contains(w, v, "entries")
				checkpoints++
			}
		}
		require.NotZero(w, checkpoints)

		w.write("in.jsonl", "broken\n")
		require.NoError(w, os.RemoveAll("state"))
		r = w.job("--output=json")
		require.Equal(w, 1, r.code)
		var last map[string]any
		require.NoError(w, json.Unmarshal([]byte(r.stdout), &last))
		require.Equal(w, "failed", last["outcome"])
		require.Contains(w, last["error"], "line 1: the line is not JSON: invalid character 'b'")

		r = w.run("run", "no.yaml", "--output=json")
		require.Equal(w, 2, r.code)
		require.NoError(w, json.Unmarshal([]byte(r.stdout), &last))
		require.Equal(w, "FILE: no.yaml: can't be read: no such file or directory", last["error"])
	})
}

func TestTheLogLevelIsHeeded(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 10))
		r := w.job("--log-level=warn")
		require.Equal(w, 0, r.code)
		require.Empty(w, r.stderr)
		require.NoError(w, os.RemoveAll("state"))
		require.Contains(w, w.job("--log-level=debug").stderr, " DEBUG stream found")
	})
}

func TestWhatRunsLongSaysHowItGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", plainJob)
		w.write("in.jsonl", numbered(0, 3000))
		r := w.job("--sink.kinesis.writer.batch.entries=10", "--sink.kinesis.writer.rate.records=100", "--sink.kinesis.writer.rate.record_burst=10")
		r.ended(w, 0, "done", counts{accepted: 3000, delivered: 3000})
		require.Regexp(w, `(?m)^\d\d:\d\d:\d\d INFO progress rate=\d+ delivered=\d+ held=\d+ in_flight=\d+ retried=0$`, r.stderr)
		require.GreaterOrEqual(w, strings.Count(r.stderr, "INFO progress"), 2)
		require.LessOrEqual(w, strings.Count(r.stderr, "INFO progress"), 3)
		require.NotContains(w, r.stderr, "\r")
	})
}

func TestOnATerminalOneLineIsRedrawnBelowTheLog(t *testing.T) {
	inWorld(t, func(w *world) {
		w.width = func() int { return 60 }
		w.write("job.yaml", plainJob)
		w.write("in.jsonl", numbered(0, 300))
		r := w.job("--sink.kinesis.writer.batch.entries=10", "--sink.kinesis.writer.rate.records=100", "--sink.kinesis.writer.rate.record_burst=10")
		r.ended(w, 0, "done", counts{accepted: 300, delivered: 300})
		require.Contains(w, r.stderr, "/s   delivered ")
		require.NotContains(w, r.stderr, "INFO progress")
		drawn := strings.Split(r.stderr, clear)
		require.LessOrEqual(w, len(drawn), 3*5+10, "five times a second at most, and around log lines")
		for _, d := range drawn {
			status := d[strings.LastIndexByte(d, '\n')+1:]
			require.Less(w, len(status), 60, "never wraps")
			require.True(w, status == "" || strings.Contains(status, "/s   delivered "), "lines of the log stand alone: %q", d)
		}
	})
}

func TestOrdinaryAndPassingFaultsOfTheServiceLoseNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 5000))
		w.srv.Inject(kinesistest.MustParseFault("PutRecords nth=2 cut after applying"), kinesistest.MustParseFault("PutRecords nth=3 fail ServiceUnavailable"))
		_, c := w.job().last(w)
		require.EqualValues(w, 5000, c.delivered)
		require.NotZero(w, c.duplicates)
		require.Len(w, w.stored(), 5000)
	})
}

func TestAProcessWithoutStateSaysNothingOfIt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.stdin = strings.NewReader(numbered(0, 5))
		r := w.run("run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s")
		r.ended(w, 0, "done", counts{accepted: 5, delivered: 5})
		require.NotContains(w, r.stderr, "checkpoint id=")
		entries, err := os.ReadDir(".")
		require.NoError(w, err)
		require.Empty(w, entries)
	})
}

func TestTheDocumentMayComeThroughStandardInput(t *testing.T) {
	inWorld(t, func(w *world) {
		w.stdin = strings.NewReader(plainJob)
		w.write("in.jsonl", numbered(0, 5))
		w.run("run", "-").ended(w, 0, "done", counts{accepted: 5, delivered: 5})
	})
}

func TestNothingHangsOnAClosedOutput(t *testing.T) {
	inWorld(t, func(w *world) {
		in, out := io.Pipe()
		require.NoError(w, in.Close())
		code := run(process{
			args:  []string{"run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s"},
			stdin: strings.NewReader("a\n"), stdout: out, stderr: out, listen: func() <-chan os.Signal { return w.signals }, connect: w.connect, store: config.OpenStore,
		})
		require.Equal(w, 0, code)
	})
}
