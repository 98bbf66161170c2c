package kinesistest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func create(t *testing.T, c *kinesis.Client, name string, shards int32) error {
	_, err := c.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &shards})
	return err
}

func status(t *testing.T, c *kinesis.Client, name string) types.StreamStatus {
	out, err := c.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &name})
	require.NoError(t, err)
	return out.StreamDescriptionSummary.StreamStatus
}

func TestAStreamIsCreatingForAsLongAsConfigured(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{StatusDelay: time.Minute, Clock: now.Now, Streams: []kinesistest.StreamConfig{{Name: "old"}}})
	client := inMemory(srv)
	require.Equal(t, types.StreamStatusActive, status(t, client, "old"), "streams of the Config are there from the start")

	require.NoError(t, create(t, client, "s", 2))
	now.Advance(time.Minute - 1)
	require.Equal(t, types.StreamStatusCreating, status(t, client, "s"))
	_, err := put(t, client, entries("k", "v"))
	requireCode(t, "ResourceNotFoundException", err)
	_, err = client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: new("s")})
	requireCode(t, "ResourceInUseException", err)
	_, err = client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: new("s"), ShardId: new(shard0), ShardIteratorType: types.ShardIteratorTypeLatest,
	})
	requireCode(t, "ResourceNotFoundException", err)
	desc, err := client.DescribeStream(t.Context(), &kinesis.DescribeStreamInput{StreamName: new("s")})
	require.NoError(t, err)
	require.Empty(t, desc.StreamDescription.Shards)
	err = merge(t, client, shard0, "shardId-000000000001")
	require.Equal(t, "Stream s under account 000000000000 not ACTIVE, instead in state CREATING", requireCode(t, "ResourceInUseException", err).ErrorMessage())

	now.Advance(1)
	require.Equal(t, types.StreamStatusActive, status(t, client, "s"))
	_, err = put(t, client, entries("k", "v"))
	require.NoError(t, err)

	err = merge(t, client, shard0, "shardId-000000000001")
	require.NoError(t, err)
	require.Equal(t, types.StreamStatusUpdating, status(t, client, "s"))
	_, err = put(t, client, entries("k", "v"))
	require.NoError(t, err, "a stream that is UPDATING takes records")
	err = split(t, client, "shardId-000000000002", "9")
	requireCode(t, "ResourceInUseException", err)
	now.Advance(time.Minute)
	require.Equal(t, types.StreamStatusActive, status(t, client, "s"))
}

func TestNoMoreThanFiveStreamsAreCreatingAtOnce(t *testing.T) {
	now := newClock()
	client := inMemory(kinesistest.NewServer(t, kinesistest.Config{StatusDelay: time.Second, Clock: now.Now}))
	for i := range 5 {
		require.NoError(t, create(t, client, fmt.Sprint("s", i), 1))
	}
	requireCode(t, "LimitExceededException", create(t, client, "s5", 1))
	now.Advance(time.Second)
	require.NoError(t, create(t, client, "s5", 1))
}

func TestTheAccountsShardLimitCountsOpenShardsOfAllStreams(t *testing.T) {
	client := inMemory(kinesistest.NewServer(t, kinesistest.Config{ShardLimit: 4, Streams: []kinesistest.StreamConfig{
		{Name: "s", Shards: 2},
	}}))
	e := requireCode(t, "LimitExceededException", create(t, client, "b", 3))
	require.Contains(t, e.ErrorMessage(), "Current shard count for the account: 2. Limit: 4. Number of additional shards that would have resulted from this request: 3.")
	require.NoError(t, create(t, client, "b", 2))
	err := split(t, client, shard0, "1000")
	requireCode(t, "LimitExceededException", err)
	err = scale(t, client, "s", 3)
	requireCode(t, "LimitExceededException", err)
	err = merge(t, client, shard0, "shardId-000000000001")
	require.NoError(t, err, "fewer shards are always allowed")
	err = split(t, client, "shardId-000000000002", "1000")
	require.NoError(t, err, "closed shards do not count")
}

func TestStreamsAreListedInPagesByName(t *testing.T) {
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "c"}, {Name: "a"}, {Name: "b"}}})
	client := inMemory(srv)
	out, err := client.ListStreams(t.Context(), &kinesis.ListStreamsInput{Limit: new(int32(2))})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, out.StreamNames)
	require.True(t, *out.HasMoreStreams)
	out, err = client.ListStreams(t.Context(), &kinesis.ListStreamsInput{ExclusiveStartStreamName: new("b")})
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, out.StreamNames)
	require.False(t, *out.HasMoreStreams)
}

func TestOnDemandStreamsDescribeTheirStrategyAndAreNotResharded(t *testing.T) {
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{
		{Name: "auto", Auto: true}, {Name: "s"},
	}})
	client := inMemory(srv)
	_, err := client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: new("od"), StreamModeDetails: &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand},
	})
	require.NoError(t, err)
	for name, want := range map[string]types.RecordDistributionStrategy{
		"auto": types.RecordDistributionStrategyAuto, "od": types.RecordDistributionStrategyUserPartitionKey, "s": "",
	} {
		out, err := client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &name})
		require.NoError(t, err)
		sum := out.StreamDescriptionSummary
		require.Equal(t, want, sum.RecordDistributionStrategy, name)
		require.Equal(t, want != "", sum.StreamModeDetails.StreamMode == types.StreamModeOnDemand, name)
		if name == "od" {
			require.EqualValues(t, 4, *sum.OpenShardCount)
		}
	}
	err = scale(t, client, "od", 2)
	requireCode(t, "ValidationException", err)
	_, err = client.CreateStream(t.Context(), &kinesis.CreateStreamInput{
		StreamName: new("x"), ShardCount: new(int32(1)), RecordDistributionStrategy: types.RecordDistributionStrategyAuto,
	})
	requireCode(t, "InvalidArgumentException", err)
	_, err = client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: new("x")})
	requireCode(t, "ValidationException", err)
}

// ids lists shards through a filter.
func ids(t *testing.T, c *kinesis.Client, kind types.ShardFilterType, at *time.Time) (out []string) {
	list, err := c.ListShards(t.Context(), &kinesis.ListShardsInput{
		StreamName: new("s"), ShardFilter: &types.ShardFilter{Type: kind, Timestamp: at},
	})
	require.NoError(t, err)
	for _, sh := range list.Shards {
		out = append(out, (*sh.ShardId)[len("shardId-00000000000"):])
	}
	return out
}

func TestShardFiltersKnowWhenShardsWereOpen(t *testing.T) {
	now := newClock()
	client := inMemory(kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{
		{Name: "s", Shards: 2},
	}, Clock: now.Now}))
	now.Advance(time.Minute)
	before := now.Now()
	now.Advance(time.Minute)
	err := split(t, client, shard0, "1000")
	require.NoError(t, err)
	now.Advance(time.Minute)
	after := now.Now()

	require.Equal(t, []string{"0", "1", "2", "3"}, ids(t, client, types.ShardFilterTypeFromTrimHorizon, nil))
	require.Equal(t, []string{"0", "1"}, ids(t, client, types.ShardFilterTypeAtTrimHorizon, nil))
	require.Equal(t, []string{"1", "2", "3"}, ids(t, client, types.ShardFilterTypeAtLatest, nil))
	require.Equal(t, []string{"0", "1"}, ids(t, client, types.ShardFilterTypeAtTimestamp, &before))
	require.Equal(t, []string{"1", "2", "3"}, ids(t, client, types.ShardFilterTypeAtTimestamp, &after))
	require.Equal(t, []string{"0", "1", "2", "3"}, ids(t, client, types.ShardFilterTypeFromTimestamp, &before))
	require.Equal(t, []string{"1", "2", "3"}, ids(t, client, types.ShardFilterTypeFromTimestamp, &after))

	for _, f := range []types.ShardFilter{
		{Type: "SOME"}, {Type: types.ShardFilterTypeAtTimestamp}, {Type: types.ShardFilterTypeAfterShardId}, {Type: types.ShardFilterTypeAtLatest, Timestamp: &after},
		{Type: types.ShardFilterTypeAfterShardId, ShardId: new("shardId-000000000009")},
	} {
		_, err := client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: new("s"), ShardFilter: &f})
		require.Error(t, err, f.Type)
	}
}

func TestAListTokenKeepsItsFilterAndExpires(t *testing.T) {
	now := newClock()
	client := inMemory(kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{
		{Name: "s", Shards: 3},
	}, Clock: now.Now}))
	err := split(t, client, shard0, "1000")
	require.NoError(t, err)
	in := &kinesis.ListShardsInput{
		StreamName: new("s"), MaxResults: new(int32(1)), ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest},
	}
	var got []string
	var token *string
	for {
		out, err := client.ListShards(t.Context(), in)
		require.NoError(t, err)
		require.Len(t, out.Shards, 1)
		got = append(got, *out.Shards[0].ShardId)
		if out.NextToken == nil {
			break
		}
		token = out.NextToken
		in = &kinesis.ListShardsInput{NextToken: token, MaxResults: new(int32(1))}
	}
	require.Equal(t, []string{"shardId-000000000001", "shardId-000000000002", "shardId-000000000003", "shardId-000000000004"}, got)

	_, err = client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: new("s")})
	require.NoError(t, err)
	now.Advance(time.Second)
	require.NoError(t, create(t, client, "s", 3))
	_, err = client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: token})
	requireCode(t, "ResourceNotFoundException", err)

	now.Advance(299*time.Second + time.Millisecond)
	_, err = client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: token})
	requireCode(t, "ExpiredNextTokenException", err)
	_, err = client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: aws.String("nonsense")})
	requireCode(t, "InvalidArgumentException", err)
	_, err = client.ListShards(t.Context(), &kinesis.ListShardsInput{NextToken: token, StreamName: new("s")})
	requireCode(t, "InvalidArgumentException", err)
}
