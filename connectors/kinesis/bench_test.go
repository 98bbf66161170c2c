package kinesis

import (
	"context"
	"strconv"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
)

// nothing is an API that stores everything nowhere, to measure what the connector costs by itself.
type nothing struct{ out *sdk.PutRecordsOutput }

func storeNothing() nothing {
	out := &sdk.PutRecordsOutput{Records: make([]types.PutRecordsResultEntry, MaxEntries)}
	for i := range out.Records {
		out.Records[i] = types.PutRecordsResultEntry{SequenceNumber: new("1"), ShardId: new("shardId-000000000000")}
	}
	return nothing{out}
}

func (n nothing) PutRecords(_ context.Context, in *sdk.PutRecordsInput, _ ...func(*sdk.Options)) (*sdk.PutRecordsOutput, error) {
	return &sdk.PutRecordsOutput{Records: n.out.Records[:len(in.Records)]}, nil
}

func (nothing) DescribeStreamSummary(context.Context, *sdk.DescribeStreamSummaryInput, ...func(*sdk.Options)) (*sdk.DescribeStreamSummaryOutput, error) {
	return &sdk.DescribeStreamSummaryOutput{StreamDescriptionSummary: &types.StreamDescriptionSummary{
		StreamStatus: types.StreamStatusActive, OpenShardCount: new(int32(1)),
	}}, nil
}

// BenchmarkWriteAndSubmit is a record's way from Write to its settlement without the SDK and
// the network: time and allocations for each record.
func BenchmarkWriteAndSubmit(b *testing.B) {
	for _, order := range []asyncsink.Order{asyncsink.Unordered, asyncsink.PerKey} {
		b.Run(order.String(), func(b *testing.B) {
			records := make([]Record, 1<<14)
			for i := range records {
				records[i] = Record{PartitionKey: "key-" + strconv.Itoa(i), Data: make([]byte, 100)}
			}
			w, err := NewWriter(b.Context(), storeNothing(), Config{Stream: "s"}, asyncsink.Config{Order: order})
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(100)
			b.ResetTimer()
			for i := range b.N {
				if _, err := w.Write(b.Context(), records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
			_, err = w.Close(b.Context())
			require.NoError(b, err)
		})
	}
}

// The submitter's own work allocates by request, not by record.
func TestSubmittingAllocatesByRequestNotByRecord(t *testing.T) {
	w, err := NewWriter(t.Context(), storeNothing(), Config{Stream: "s"}, asyncsink.Config{})
	require.NoError(t, err)
	const n = 20_000
	r := Record{PartitionKey: "key", Data: make([]byte, 100)}
	allocs := testing.AllocsPerRun(5, func() {
		for range n {
			if _, err := w.Write(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		if _, err := w.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	require.Less(t, allocs/n, 0.2)
	finish(t, w)
}
