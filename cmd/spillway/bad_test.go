package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func TestBadInputFailsWithAClearMessage(t *testing.T) {
	const whole = `{"id":"a","n":1}` + "\n" + `{"id":"b","n":2}` + "\n"
	for name, c := range map[string]struct {
		in   string // what in.jsonl has; "": it is not there
		args []string
		says string
	}{
		"missing file":       {says: "ERROR read in.jsonl: no such file or directory: check the path"},
		"directory":          {args: []string{"--source.file.path=."}, says: "ERROR read .: it is a directory"},
		"broken line":        {in: whole + "{\"id\":\n", says: "line 3: the line is not JSON: unexpected end of JSON input: mend it, or configure dead letters"},
		"no object":          {in: whole + "[1]\n", says: "line 3: the line is JSON, but not an object"},
		"no key":             {in: whole + "{}\n", says: `line 3: key: the field "id" is missing`},
		"empty key":          {in: whole + `{"id":""}`, says: `line 3: key: the field "id" is empty`},
		"key too long":       {in: whole + `{"id":"` + strings.Repeat("k", 257) + `"}`, says: "line 3: kinesis record: partition_key: "},
		"key not UTF-8":      {in: whole + "{\"id\":\"\xff\"}", says: "line 3: kinesis record: partition_key: "},
		"long line":          {in: whole + `{"id":"c","n":3, "more":true}`, args: []string{"--source.file.line_bytes=20B"}, says: "line 3: the line is longer than 20B"},
		"entry too large":    {in: whole + `{"id":"c","x":"` + strings.Repeat("x", 1<<20) + `"}`, says: "is too_large: "},
		"no such stream":     {in: whole, args: []string{"--sink.kinesis.stream=none"}, says: "ERROR kinesis stream none: there is no such stream: create it"},
		"no dead-letter dir": {in: whole, args: []string{"--dead_letter.file.path=no/dead"}, says: "ERROR open dead-letter file no/dead: no such file or directory"},
		"dead letters":       {in: whole, args: []string{"--dead_letter.file.path=."}, says: "ERROR open dead-letter file .: it is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.write("job.yaml", keyedJob)
				if c.in != "" {
					w.write("in.jsonl", c.in)
				}
				r := w.job(c.args...)
				outcome, _ := r.last(w)
				require.Equal(w, "failed", outcome)
				require.Equal(w, 1, r.code, r.stderr)
				require.Contains(w, r.stderr, c.says)
			})
		})
	}
}

func TestABrokenLineWithoutDeadLettersKeepsItsPosition(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 100)+"?broken\n"+numbered(100, 10))
		r := w.job()
		r.ended(w, 1, "failed", counts{accepted: 100, delivered: 100})
		w.job().ended(w, 1, "failed", counts{})

		w.write("in.jsonl", numbered(0, 100)+`{"id":1}`+"\n"+numbered(100, 10)) // mended, and the lines before it untouched
		w.job().ended(w, 0, "done", counts{accepted: 11, delivered: 11})
	})
}

func TestBrokenRecordsGoToTheDeadLettersAndTheRestIsDelivered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		large := `{"id":"c","x":"` + strings.Repeat("x", 1<<20) + `"}`
		w.write("in.jsonl", "?\n"+numbered(0, 100)+large+"\n"+`{"id":""}`+"\n"+numbered(100, 100))
		w.job(withDead).ended(w, 0, "done", counts{accepted: 203, delivered: 200, dead: 3})
		type letter struct {
			Time, Class, Error, Split, Position, Key, Data string
			Attempts                                       int
		}
		var letters []letter
		for line := range strings.Lines(w.read("dead.jsonl")) {
			var l letter
			require.NoError(w, json.Unmarshal([]byte(line), &l))
			letters = append(letters, l)
		}
		require.Len(w, letters, 3)
		for i, want := range []struct{ class, line, data, says string }{
			{"broken", "1", "?", "line 1: the line is not JSON"},
			{"too_large", "102", large, "is larger than the limit of 1048576"},
			{"broken", "103", `{"id":""}`, `the field "id" is empty`},
		} {
			l := letters[i]
			require.Equal(w, want.class, l.Class)
			require.Equal(w, "file", l.Split)
			require.Equal(w, want.line, strings.Split(l.Position, ":")[1])
			require.Contains(w, l.Error, want.says)
			data, err := base64.StdEncoding.DecodeString(l.Data)
			require.NoError(w, err)
			require.Equal(w, want.data, string(data))
		}
		w.job(withDead).ended(w, 0, "done", counts{})
		require.Equal(w, 3, strings.Count(w.read("dead.jsonl"), "\n"), "none twice")
	})
}

func TestWhatTheServiceRejectsGoesToTheDeadLettersWithItsOrigin(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 14))
		w.srv.Inject(kinesistest.MustParseFault(`PutRecords entries key="k3" fail InternalFailure`))
		r := w.job(withDead, "--sink.kinesis.writer.retry.attempts=2")
		r.ended(w, 0, "done", counts{accepted: 14, delivered: 12, dead: 2})
		dead := w.read("dead.jsonl")
		require.Equal(w, 2, strings.Count(dead, `"class":"attempts"`))
		require.Equal(w, 2, strings.Count(dead, `"attempts":2,"split":"file","position":"`))
		require.Equal(w, 2, strings.Count(dead, `"key":"k3"`))
	})
}

func TestAStateThatIsNotOursIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *world)
		args  []string
		says  string
	}{
		"locked": {func(w *world) {
			local, err := checkpoint.OpenLocal("state")
			require.NoError(w, err)
			lock, err := local.Lock(w.Context(), "orders/0/LOCK")
			require.NoError(w, err)
			w.Cleanup(func() { _ = lock.Close() })
		}, nil, "is in use by process"},
		"damaged":            {func(w *world) { w.flip(w.newest()) }, nil, "is damaged at byte"},
		"damaged data":       {func(w *world) { w.flip(w.data()) }, nil, "is damaged at byte"},
		"without a file":     {func(w *world) { require.NoError(w, os.Remove(w.data())) }, nil, "is damaged at byte 0: file does not exist"},
		"no manifest at all": {func(w *world) { w.write(w.newest(), "something else") }, nil, "is damaged at byte 14: it is not whole"},
		"newer":              {func(w *world) { w.newer(w.newest()) }, nil, "checkpoint manifest has version 99"},
		"another job's":      {func(w *world) { require.NoError(w, os.Rename("state/orders", "state/others")) }, []string{"--name=others"}, `belongs to job "orders"`},
		"of another file":    {func(w *world) { w.write("in.jsonl", numbered(5, 100)) }, nil, "in.jsonl is not the file that was read up to"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.write("job.yaml", keyedJob)
				w.write("in.jsonl", numbered(0, 100))
				require.Equal(w, 0, w.job().code)
				c.spoil(w)
				r := w.job(c.args...)
				r.ended(w, 4, "failed", counts{})
				require.Contains(w, r.stderr, c.says)
			})
		})
	}
}

func TestUsageAndConfigurationAreReportedWhole(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", "name: a/b\nsource: {fil: {}}\nsink: {kinesis: {stream: s, writer: {held: {entries: -1}}}}\n")
		r := w.job("--stat.url=x")
		r.ended(w, 2, "failed", counts{})
		require.Equal(w, `job.yaml:1: name: a/b: must be without "/", "\", ":" and control characters: it names a folder
job.yaml:2: source.fil: unknown field: did you mean file?
job.yaml:3: sink.kinesis.writer.held.entries: -1: must be 1 to 100000000
--stat.url: unknown flag: did you mean --state.url?
`, r.stderr)
		w.run("run").ended(w, 2, "failed", counts{})
		w.run("run", "no.yaml").ended(w, 2, "failed", counts{})
		entries, err := os.ReadDir(".")
		require.NoError(w, err)
		require.Len(w, entries, 1, "nothing was written")
	})
}

// The real client, over a socket, with the credentials of the environment.
func TestCredentialsComeFromTheEnvironmentAndWrongOnesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams:     []kinesistest.StreamConfig{{Name: "s"}},
		Credentials: []kinesistest.Credentials{{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}},
	})
	hs := httptest.NewServer(srv)
	t.Cleanup(hs.Close)
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	for _, c := range []struct {
		id, secret string
		code       int
		says       string
	}{
		{"AKID", "SECRET", 0, ""},
		{"AKID", "WRONG", 1, "check AWS_SECRET_ACCESS_KEY"},
		{"WHO", "SECRET", 1, "the service does not know these credentials"},
		{"", "", 1, "no AWS credentials could be obtained"},
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", c.id)
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		w := &world{T: t, stdin: strings.NewReader("a\n"), stderr: &lines{}, connect: connect}
		r := w.run("run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s", "--sink.kinesis.region=us-east-1", "--sink.kinesis.endpoint="+hs.URL)
		require.Equal(t, c.code, r.code, r.stderr)
		require.Contains(t, r.stderr, c.says)
		require.NotContains(t, r.stderr, "SECRET\"")
		require.NotContains(t, r.stderr, "SDK ")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
	w := &world{T: t, stdin: strings.NewReader("a\n"), stderr: &lines{}, connect: connect}
	r := w.run("run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s", "--sink.kinesis.endpoint="+hs.URL)
	r.ended(t, 2, "failed", counts{})
	require.Contains(t, r.stderr, "--sink.kinesis.region: none: must be set here, in AWS_REGION or in the profile")
	require.Len(t, srv.Records("s"), 1)
}
