package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// A limit in bytes is never read as a number of entries, nor the reverse: each is a type of its own, which
// only reads its own unit.
func TestALimitInBytesIsNoCountAndACountIsNoSize(t *testing.T) {
	_, err := load(t, `name: a
source: {stdin: {}}
sink:
  kinesis:
    stream: s
    writer:
      batch: {entries: 4MiB, bytes: 500 entries}
      held: {entries: 10kB}
      in_flight: {requests: 16B, entries: 1KiB, bytes: 8 requests}
      rate: {records: 1MiB}
`, nil)
	require.Equal(t, []string{
		`p.yaml:7: sink.kinesis.writer.batch.entries: 4MiB: must be a whole number`,
		`p.yaml:7: sink.kinesis.writer.batch.bytes: "500 entries": must be a size such as 64MiB`,
		`p.yaml:8: sink.kinesis.writer.held.entries: 10kB: must be a whole number`,
		`p.yaml:9: sink.kinesis.writer.in_flight.requests: 16B: must be a whole number`,
		`p.yaml:9: sink.kinesis.writer.in_flight.entries: 1KiB: must be a whole number`,
		`p.yaml:9: sink.kinesis.writer.in_flight.bytes: "8 requests": must be a size such as 64MiB`,
		`p.yaml:10: sink.kinesis.writer.rate.records: 1MiB: must be a number`,
	}, faults(t, err))

	l, err := load(t, good, []string{"--sink.kinesis.writer.held.entries=64", "--sink.kinesis.writer.held.bytes=64MiB"})
	require.NoError(t, err)
	require.Equal(t, limits.Held{Entries: 64, Bytes: 64 * limits.MiB}, l.Job.Sink.Kinesis.Writer.Held)
}
