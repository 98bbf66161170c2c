package kinesissuite

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// control is about streams as a whole.
func control(t *testing.T, e *env) {
	t.Run("a new stream becomes active and describes itself", func(t *testing.T) {
		name := e.stream(t, 2)
		sum := e.summary(t, name)
		require.Equal(t, name, *sum.StreamName)
		require.EqualValues(t, 2, *sum.OpenShardCount)
		require.Contains(t, *sum.StreamARN, ":stream/"+name)
		require.False(t, sum.StreamCreationTimestamp.IsZero())
		require.EqualValues(t, 24, *sum.RetentionPeriodHours)

		out, err := e.client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{StreamName: &name})
		require.NoError(t, err)
		require.Len(t, out.StreamDescription.Shards, 2)
		require.False(t, *out.StreamDescription.HasMoreShards)
		require.Equal(t, out.StreamDescription.Shards, e.shards(t, name))
	})
	t.Run("a name is taken once", func(t *testing.T) {
		name := e.stream(t, 1)
		_, err := e.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: aws.Int32(1)})
		requireCode(t, "ResourceInUseException", err)
		list, err := e.client.ListStreams(t.Context(), &kinesis.ListStreamsInput{})
		require.NoError(t, err)
		require.Contains(t, list.StreamNames, name)
	})
	t.Run("what does not exist is not found", func(t *testing.T) {
		none := "suite-none"
		_, err := e.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &none})
		requireCode(t, "ResourceNotFoundException", err)
		_, err = e.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &none})
		requireCode(t, "ResourceNotFoundException", err)
		_, err = e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
			StreamName: &none, Records: []types.PutRecordsRequestEntry{entry("k", "v")},
		})
		requireCode(t, "ResourceNotFoundException", err)
		_, err = e.client.GetShardIterator(t.Context(), ptr(horizon(none, "shardId-000000000000")))
		requireCode(t, "ResourceNotFoundException", err)
		_, err = e.client.GetShardIterator(t.Context(), ptr(horizon(e.stream(t, 1), "shardId-000000000007")))
		requireCode(t, "ResourceNotFoundException", err)
	})
	t.Run("a name that cannot be is refused as invalid", func(t *testing.T) {
		_, err := e.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{
			StreamName: aws.String("no spaces"),
		})
		requireCode(t, "ValidationException", err)
		_, err = e.client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
			StreamName: aws.String("zero"), ShardCount: aws.Int32(0),
		})
		requireCode(t, "ValidationException", err)
	})
	t.Run("an ARN will do", func(t *testing.T) {
		e.need(t, Addressing)
		name := e.stream(t, 1)
		arn := e.summary(t, name).StreamARN
		out, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
			StreamARN: arn, Records: []types.PutRecordsRequestEntry{entry("k", "v")},
		})
		require.NoError(t, err)
		require.EqualValues(t, 0, *out.FailedRecordCount)
		_, err = e.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamARN: arn})
		require.NoError(t, err)
	})
	t.Run("shards come in pages and through filters", func(t *testing.T) {
		e.need(t, Paging)
		pages(t, e)
	})
}

func pages(t *testing.T, e *env) {
	name := e.stream(t, 5)
	all := e.shards(t, name)
	var got []types.Shard
	in := &kinesis.ListShardsInput{StreamName: &name, MaxResults: aws.Int32(2)}
	for calls := 1; ; calls++ {
		out, err := e.client.ListShards(t.Context(), in)
		require.NoError(t, err)
		require.LessOrEqual(t, len(out.Shards), 2)
		if got = append(got, out.Shards...); out.NextToken == nil {
			require.Equal(t, 3, calls)
			break
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken, MaxResults: aws.Int32(2)}
	}
	require.Equal(t, all, got)

	out, err := e.client.ListShards(t.Context(), &kinesis.ListShardsInput{
		StreamName: &name, ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAfterShardId, ShardId: all[2].ShardId},
	})
	require.NoError(t, err)
	require.Equal(t, all[3:], out.Shards)

	desc, err := e.client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{StreamName: &name, Limit: aws.Int32(3)})
	require.NoError(t, err)
	require.True(t, *desc.StreamDescription.HasMoreShards)
	require.Equal(t, all[:3], desc.StreamDescription.Shards)
	desc, err = e.client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{
		StreamName: &name, ExclusiveStartShardId: all[2].ShardId,
	})
	require.NoError(t, err)
	require.False(t, *desc.StreamDescription.HasMoreShards)
	require.Equal(t, all[3:], desc.StreamDescription.Shards)
}

func ptr[T any](v T) *T { return &v }
