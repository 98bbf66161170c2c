package kinesissuite

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// reading is about iterators and GetRecords.
func reading(t *testing.T, e *env) {
	name := e.stream(t, 1)
	const shard = "shardId-000000000000"
	latest := e.iterator(t, kinesis.GetShardIteratorInput{
		StreamName: &name, ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorTypeLatest,
	})
	var all, numbers []string
	for i := range 10 {
		all = append(all, fmt.Sprintf("data-%d", i))
		numbers = append(numbers, *e.put(t, name, "k", all[i]).SequenceNumber)
	}
	from := func(kind types.ShardIteratorType, number *string) *string {
		return e.iterator(t, kinesis.GetShardIteratorInput{
			StreamName: &name, ShardId: aws.String(shard), ShardIteratorType: kind, StartingSequenceNumber: number,
		})
	}
	t.Run("each kind of iterator starts where it says", func(t *testing.T) {
		for _, c := range []struct {
			what string
			it   *string
			want []string
		}{
			{"TRIM_HORIZON", from(types.ShardIteratorTypeTrimHorizon, nil), all},
			{"LATEST, from before", latest, all},
			{"AT_SEQUENCE_NUMBER", from(types.ShardIteratorTypeAtSequenceNumber, &numbers[4]), all[4:]},
			{"AFTER_SEQUENCE_NUMBER", from(types.ShardIteratorTypeAfterSequenceNumber, &numbers[4]), all[5:]},
			{"AFTER_SEQUENCE_NUMBER, the last", from(types.ShardIteratorTypeAfterSequenceNumber, &numbers[9]), nil},
			{"LATEST, from now", from(types.ShardIteratorTypeLatest, nil), nil},
		} {
			records, end := e.drain(t, c.it, len(c.want))
			require.Equal(t, c.want, data(records), c.what)
			require.NotNil(t, end.NextShardIterator, c.what)
		}
	})
	t.Run("a timestamp starts at the records from then on", func(t *testing.T) {
		long := time.Unix(1, 0)
		it := e.iterator(t, kinesis.GetShardIteratorInput{
			StreamName: &name, ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: &long,
		})
		records, _ := e.drain(t, it, len(all))
		require.Equal(t, all, data(records))
		future := time.Now().Add(time.Hour)
		_, err := e.client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
			StreamName: &name, ShardId: aws.String(shard), ShardIteratorType: types.ShardIteratorTypeAtTimestamp, Timestamp: &future,
		})
		requireCode(t, "InvalidArgumentException", err)
	})
	t.Run("Limit cuts, and the next iterator goes on", func(t *testing.T) {
		it := from(types.ShardIteratorTypeTrimHorizon, nil)
		var got []string
		for range 4 {
			out, err := e.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it, Limit: aws.Int32(3)})
			require.NoError(t, err)
			require.LessOrEqual(t, len(out.Records), 3)
			got, it = append(got, data(out.Records)...), out.NextShardIterator
		}
		require.Equal(t, all, got)
	})
	t.Run("an open shard goes on for ever", func(t *testing.T) {
		it := from(types.ShardIteratorTypeAfterSequenceNumber, &numbers[9])
		out, err := e.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it})
		require.NoError(t, err)
		require.Empty(t, out.Records)
		require.EqualValues(t, 0, *out.MillisBehindLatest)
		e.put(t, name, "k", "later")
		records, _ := e.drain(t, out.NextShardIterator, 1)
		require.Equal(t, []string{"later"}, data(records))
	})
	t.Run("nonsense is refused", func(t *testing.T) {
		_, err := e.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: aws.String("AAAA")})
		requireCode(t, "InvalidArgumentException", err)
		_, err = e.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{
			ShardIterator: from(types.ShardIteratorTypeTrimHorizon, nil), Limit: aws.Int32(0),
		})
		requireCode(t, "ValidationException", err)
		for _, in := range []kinesis.GetShardIteratorInput{
			{ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber},
			{ShardIteratorType: types.ShardIteratorTypeTrimHorizon, StartingSequenceNumber: &numbers[0]},
			{ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, StartingSequenceNumber: aws.String("49")},
			{ShardIteratorType: types.ShardIteratorTypeAtTimestamp},
		} {
			in.StreamName, in.ShardId = &name, aws.String(shard)
			_, err := e.client.GetShardIterator(t.Context(), &in)
			require.Equal(t, "InvalidArgumentException", code(err), "%s %v: %v", in.ShardIteratorType, in.StartingSequenceNumber, err)
		}
	})
}
