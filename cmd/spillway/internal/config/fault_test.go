package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAllFaultsComeAtOnceEachWithItsPlace(t *testing.T) {
	_, err := load(t, `name: a b/c
source:
  stdin:
  file: {pth: x}
sink:
  kinesis:
    streem: x
    region: [a]
    endpoint: "ftp://user:secret@host"
    secret_key: hunter2
    writer:
      order: perkey
      held: {entries: -1, bytes: 1 potato}
      batch: {age: 5, age: 3, x: &a 1}
      rate: *a
      in_flight: 3
      retry: {base: 2h, attempts: 1.5}
state: {url: "gs://x?key=secret", interval: 5us, min_pause: 25h, timeout: 1us, tolerate: -1, retained: 1001, recover: all}
dead_letter: {file: }
region: x
<<: {a: 1}
`, []string{"--state.intervall", "4", "--sink.kinesis.writer.retry.cap=1ms", "--stream=x", "--source", "x", "-v", "--shutdown.deadline"},
		"SPILLWAY_SHUTDOWN_DEADLINE=-3s", "SPILLWAY_SOURCE_KEY=no", "SPILLWAY_LOG_LEVEL=loud")
	require.Equal(t, []string{
		`p.yaml:1: name: "a b/c": must be without "/", "\", ":" and control characters: it names a folder`,
		`p.yaml:2: source: file and stdin: must be one of file or stdin`,
		`p.yaml:4: source.file.pth: unknown field: did you mean path?`,
		`p.yaml:7: sink.kinesis.streem: unknown field: did you mean stream?`,
		`p.yaml:8: sink.kinesis.region: a list: must be a single value`,
		`p.yaml:9: sink.kinesis.endpoint: ftp://user:xxxxx@host: must be a URL such as http://127.0.0.1:4567`,
		`p.yaml:10: sink.kinesis.secret_key: unknown field: must be stream, region, endpoint or writer`,
		`p.yaml:12: sink.kinesis.writer.order: perkey: must be unordered, per_key or total; did you mean per_key?`,
		`p.yaml:13: sink.kinesis.writer.held.bytes: "1 potato": must be a size such as 64MiB`,
		`p.yaml:13: sink.kinesis.writer.held.entries: -1: must be 1 to 100000000`,
		`p.yaml:14: sink.kinesis.writer.batch.age: 5: must be a duration such as 500ms, 30s or 2h`,
		`p.yaml:14: sink.kinesis.writer.batch.age: twice: must be there once; the first is on line 14`,
		`p.yaml:14: sink.kinesis.writer.batch.x: unknown field: must be entries, bytes, age or entry_bytes`,
		`p.yaml:15: sink.kinesis.writer.rate: an alias: must be written out: aliases are not read`,
		`p.yaml:16: sink.kinesis.writer.in_flight: not a mapping: must be a mapping with the fields requests, entries, bytes, timeout, controller, floor`,
		`p.yaml:17: sink.kinesis.writer.retry.attempts: 1.5: must be a whole number`,
		`p.yaml:17: sink.kinesis.writer.retry.base: 2h: must be 1ms to 1h0m0s`,
		`p.yaml:18: state.recover: all: must be state or replay`,
		`p.yaml:18: state.url: gs://x: must be file: and a local folder, such as file:state, or a bucket, such as s3://bucket/prefix?region=eu-central-1`,
		`p.yaml:18: state.interval: 5us: must be 1ms to 24h`,
		`p.yaml:18: state.timeout: 1us: must be 1ms to 24h`,
		`p.yaml:18: state.retained: 1001: must be 1 to 1000`,
		`p.yaml:18: state.min_pause: 25h: must be 0s to 24h`,
		`p.yaml:18: state.tolerate: -1: must be 0 or more`,
		`p.yaml:19: dead_letter.file.path: none: must be set`,
		`p.yaml:20: region: unknown field: did you mean sink.kinesis.region?`,
		`p.yaml:21: <<: a merge: must be written out: merges are not read`,
		`$SPILLWAY_SOURCE_KEY: no: must be true, or left out`,
		`$SPILLWAY_LOG_LEVEL: loud: must be debug, info, warn or error`,
		`--state.intervall: unknown flag: did you mean --state.interval?`,
		`--stream: unknown flag: did you mean --sink.kinesis.stream?`,
		`--source: a part: must be one of --source.file, --source.stdin or --source.key`,
		`-v: unknown flag: spillway run --help lists all flags`,
		`--shutdown.deadline: none: must have a value, as in --shutdown.deadline=DURATION`,
		`--sink.kinesis.writer.retry.cap: 1ms: must be 2h0m0s to 24h0m0s`,
		`$SPILLWAY_SHUTDOWN_DEADLINE: -3s: must be 1ms to 24h`,
	}, faults(t, err))
	require.NotContains(t, err.Error(), "secret@")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestWhatIsMissingIsLookedForWhereItBelongs(t *testing.T) {
	_, err := load(t, "\n\nsource: {}\n", nil)
	require.Equal(t, []string{
		"p.yaml:1: name: none: must be set",
		"p.yaml:1: sink: none: must be set to kinesis",
		"p.yaml:3: source: none: must be one of file or stdin",
	}, faults(t, err))
	_, err = load(t, "name: a\nsource:\n  file:\n    line_bytes: 1KiB\n  key: {}\nsink:\n\n  kinesis: {}", nil)
	require.Equal(t, []string{
		"p.yaml:3: source.file.path: none: must be set",
		"p.yaml:5: source.key.json: none: must be set to the name of a field",
		"p.yaml:8: sink.kinesis.stream: none: must be the name of a stream (1 to 128 letters, digits, _ . -) or its ARN",
	}, faults(t, err))
	_, err = Load([]string{"--source.file.line_bytes=2GiB", "--sink.kinesis"}, nil, nil)
	require.Equal(t, []string{
		"--name: none: must be set",
		"--source.file.path: none: must be set",
		"--source.file.line_bytes: 2GiB: must be 1B to 1GiB",
		"--sink.kinesis.stream: none: must be the name of a stream (1 to 128 letters, digits, _ . -) or its ARN",
	}, faults(t, err))
}

func TestWhatIsNoDocumentIsNamed(t *testing.T) {
	for document, want := range map[string]string{
		"":                       "p.yaml:1: document: none: must be one: a job has a document, and a file, of its own",
		"# nothing\n":            "p.yaml:1: document: none: must be one: a job has a document, and a file, of its own",
		good + "---\n" + good:    "p.yaml:5: document: 2: must be one: a job has a document, and a file, of its own",
		"- a\n- b\n":             "p.yaml:1: document: not a mapping: must be a mapping with the fields name, instance, source, sink, state, dead_letter, shutdown",
		"orders":                 "p.yaml:1: document: not a mapping: must be a mapping with the fields name, instance, source, sink, state, dead_letter, shutdown",
		"name: a\nsink: b: c\n":  "p.yaml:2: yaml: not valid: mapping value is not allowed in this context",
		"name: a\nsink:\n\tb: 1": "p.yaml:3: yaml: not valid: found character '\t' that cannot start any token",
		"name: \"a":              "p.yaml:1: yaml: not valid: could not find end character of double-quoted text",
	} {
		_, err := load(t, document, nil)
		require.Equal(t, []string{want}, faults(t, err), "%q", document)
	}
}

func TestOneFileOrNone(t *testing.T) {
	for want, args := range map[string][]string{
		"FILE: none: must be set, as in spillway run FILE.yaml, or every value given by flags": {},
		"FILE: a.yaml b.yaml: must be one: a job has a process of its own":                     {"a.yaml", "b.yaml"},
		"FILE: --x: can't be read: no such file or directory":                                  {"--", "--x"},
		"--naem: unknown flag: did you mean --name?":                                           {"--naem", "x"},
		"--naem: unknown flag: did you mean --name? ":                                          {"--naem=x", "a.yaml", "b.yaml"},
	} {
		_, err := Load(args, nil, nil)
		require.Equal(t, []string{strings.TrimSpace(want)}, faults(t, err), "%q", args)
	}
}

func TestAWordIsSuggestedWhenItIsClose(t *testing.T) {
	names := []string{"stream", "region", "endpoint", "writer", "order"}
	for wrote, want := range map[string]string{
		"streem": "stream", "Stream": "stream", "regoin": "region", "end-point": "endpoint", "writers": "writer", "odrer": "order",
		"": "", "x": "", "kafka": "", "st": "", "secret": "",
	} {
		require.Equal(t, want, Closest(wrote, names), wrote)
	}
}

func TestLongAndOddValuesAreShownShort(t *testing.T) {
	require.Equal(t, strings.Repeat("ä", mostShown)+"...", shown(strings.Repeat("ä", 500)))
	require.Equal(t, `"a\nb"`, shown("a\nb"))
	require.Equal(t, `"\xff"`, shown("\xff"))
	require.Equal(t, `""`, shown(""))
	require.Equal(t, "64MiB", shown("64MiB"))
}

func FuzzLoad(f *testing.F) {
	f.Add(good, "--name=x", "SPILLWAY_NAME=y")
	f.Add(example, "--source.stdin", "SPILLWAY_STATE_URL=file:x")
	f.Add("name: &a x\nsource: *a\n<<: {}\n? b\n: |\n  c", "--", "")
	f.Add("{[}: ]\n---\n!!map {}", "-x=1", "SPILLWAY_=")
	f.Add("a: !!binary |\n  AA==\nb: .nan\nc: 0x1f\nd: >-\n  x\ne: [1, {f: g}]", "--state.interval", "SPILLWAY_STATE_INTERVAL=NaN")
	f.Fuzz(func(t *testing.T, document, arg, env string) {
		l, err := Load([]string{Stdin, arg}, []string{env}, strings.NewReader(document))
		if err == nil {
			if !l.Help {
				require.NotEmpty(t, l.Job.Name)
				require.NotNil(t, l.Job.Sink.Kinesis)
			}
			return
		}
		for _, fault := range err.(Faults) {
			require.NotEmpty(t, fault.Field)
			require.NotEmpty(t, fault.Value)
			require.NotEmpty(t, fault.Bound)
			require.True(t, fault.File == "" || fault.Line > 0, fault)
		}
	})
}
