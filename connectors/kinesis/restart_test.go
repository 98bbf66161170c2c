package kinesis

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
	"github.com/spillway-go/spillway/statecodec"
)

// save closes a writer that can't finish, after a while, and returns what is left, as the next one takes it back.
func save(t *testing.T, w *asyncsink.Writer[Record], after time.Duration) (*asyncsink.Restore, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	snapshot, err := w.Close(ctx)
	require.Error(t, err)
	defer snapshot.Close()
	var state bytes.Buffer
	enc, err := statecodec.NewEncoder(&state, statecodec.Header{})
	require.NoError(t, err)
	require.NoError(t, snapshot.Encode(enc))
	require.NoError(t, enc.Close())
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(state.Bytes())), nil }
	return &asyncsink.Restore{Open: open}, snapshot.Len()
}

// A random partition key is fixed when the entry is accepted and kept through retries and in state.
func TestARandomKeyStaysWithItsRecordThroughRetriesAndARestore(t *testing.T) {
	bubble(t, unthrottled(4), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords fail InternalFailure")
		keys := NewRandomKeys(1)
		var want []Record
		for _, r := range numbered(50, 50) {
			want = append(want, keys.Record(r.Data))
		}
		w := open(t, client, asyncsink.Config{Batch: limits.Batch{Entries: 10}})
		write(t, w, want...)
		state, left := save(t, w, 10*time.Second)
		require.Equal(t, 50, left)

		srv.ClearFaults()
		inject(srv, "PutRecords entries share=0.5 seed=1 fail InternalFailure")
		w = open(t, client, asyncsink.Config{Restore: state})
		finish(t, w)
		storedOnce(t, srv, want)
	})
}

// Stopped again and again in the middle of everything: nothing is lost, and each key keeps its order.
func TestPerKeyOrderIsKeptOverRestarts(t *testing.T) {
	bubble(t, unthrottled(4), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords entries share=0.1 seed=1 fail InternalFailure", "PutRecords share=0.05 seed=2 cut after applying",
			"PutRecords share=0.05 seed=3 short 1", "PutRecords delay 30ms", "PutRecords share=0.3 seed=4 delay 50ms after applying")
		want := numbered(2500, 100)
		c := asyncsink.Config{Order: asyncsink.PerKey, Batch: limits.Batch{Entries: 20, Age: 5 * time.Millisecond}}
		restarts, most := 0, int64(0)
		for i := 0; i < len(want); i += 500 {
			w := open(t, client, c)
			write(t, w, want[i:i+500]...)
			if i+500 == len(want) {
				most += finish(t, w).PossibleDuplicates.Entries
				break
			}
			var left int
			c.Restore, left = save(t, w, 100*time.Millisecond)
			require.Positive(t, left)
			most += w.Stats().PossibleDuplicates.Entries
			restarts++
		}
		require.Equal(t, 4, restarts)
		twice := 0
		for _, n := range surplus(t, srv, want) {
			twice += n
		}
		require.Positive(t, twice)
		require.LessOrEqual(t, int64(twice), most)
		require.Zero(t, outOfOrder(srv, byKey))
		struck(t, srv)
	})
}

// A record that breaks a rule stops a writer without dead letters, and is saved like the others. The
// next one may have dead letters, which take it and what is too large by now; the rest is stored.
func TestASnapshotWithFaultyRecordsIsRestored(t *testing.T) {
	c := unthrottled(1)
	c.Streams[0].MaxRecordKiB = 2048
	bubble(t, c, func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords fail InternalFailure")
		w := open(t, client, asyncsink.Config{})
		good := numbered(10, 10)
		write(t, w, good[:5]...)
		write(t, w, Record{PartitionKey: "large", Data: make([]byte, 3<<19)}, Record{PartitionKey: "\xff"})
		write(t, w, good[5:]...)
		state, left := save(t, w, 100*time.Millisecond)
		require.Equal(t, 12, left)

		srv.ClearFaults()
		_, err := client.UpdateMaxRecordSize(t.Context(), &sdk.UpdateMaxRecordSizeInput{
			StreamARN: new("arn:aws:kinesis:us-east-1:000000000000:stream/s"), MaxRecordSizeInKiB: new(int32(1024)),
		})
		require.NoError(t, err)
		dead := &graveyard{}
		w = open(t, client, asyncsink.Config{Restore: state, DeadLetters: dead})
		finish(t, w)
		storedOnce(t, srv, good)
		require.Len(t, dead.letters, 2)
		for _, l := range dead.letters {
			if l.Key == "large" {
				require.Equal(t, "too_large", l.Class)
			} else {
				require.ErrorContains(t, l.Err, "must be valid UTF-8")
			}
		}
	})
}
