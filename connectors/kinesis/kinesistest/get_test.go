package kinesistest_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

const shard0 = "shardId-000000000000"

func iterator(t *testing.T, c *kinesis.Client, kind types.ShardIteratorType, change ...func(*kinesis.GetShardIteratorInput)) *string {
	t.Helper()
	in := &kinesis.GetShardIteratorInput{StreamName: new("s"), ShardId: new(shard0), ShardIteratorType: kind}
	for _, c := range change {
		c(in)
	}
	out, err := c.GetShardIterator(t.Context(), in)
	require.NoError(t, err)
	return out.ShardIterator
}

func number(n *string) func(*kinesis.GetShardIteratorInput) {
	return func(in *kinesis.GetShardIteratorInput) { in.StartingSequenceNumber = n }
}

func get(t *testing.T, c *kinesis.Client, it *string) *kinesis.GetRecordsOutput {
	t.Helper()
	out, err := c.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it})
	require.NoError(t, err)
	return out
}

func TestGetRecordsReturnsTenThousandRecordsOrTenMiB(t *testing.T) {
	srv := one(t, 1)
	client := inMemory(srv)
	for range 21 {
		_, err := put(t, client, slices.Repeat(entries("k", "d"), 500))
		require.NoError(t, err)
	}
	out := get(t, client, iterator(t, client, types.ShardIteratorTypeTrimHorizon))
	require.Len(t, out.Records, 10000)
	out = get(t, client, out.NextShardIterator)
	require.Len(t, out.Records, 500)
	_, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{
		ShardIterator: out.NextShardIterator, Limit: new(int32(10001)),
	})
	requireCode(t, "InvalidArgumentException", err)

	large := entries("k", strings.Repeat("d", 1<<20-1)) // 1 MiB with its key
	for range 10 {
		_, err := put(t, client, large)
		require.NoError(t, err)
	}
	_, err = put(t, client, entries("k", ""))
	require.NoError(t, err)
	out = get(t, client, out.NextShardIterator)
	require.Len(t, out.Records, 10, "one byte more is too much")
	out = get(t, client, out.NextShardIterator)
	require.Len(t, out.Records, 1)
}

func TestMillisBehindLatestIsTheAgeOfWhatWasReadWhileMoreWaits(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, Clock: now.Now})
	client := inMemory(srv)
	for i := range 3 {
		_, err := put(t, client, entries("k", fmt.Sprint(i)))
		require.NoError(t, err)
		now.Advance(10 * time.Second)
	}
	it := iterator(t, client, types.ShardIteratorTypeTrimHorizon)
	for i, want := range []int64{30000, 20000, 0, 0} {
		out, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it, Limit: new(int32(1))})
		require.NoError(t, err)
		require.Equal(t, want, *out.MillisBehindLatest, "read %d", i)
		it = out.NextShardIterator
	}
}

func TestATimestampFindsTheFirstRecordNotOlder(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, Clock: now.Now})
	client := inMemory(srv)
	start := now.Now()
	for i := range 10 {
		_, err := put(t, client, entries("k", fmt.Sprint(i)))
		require.NoError(t, err)
		now.Advance(time.Second)
	}
	for after, want := range map[time.Duration]int{
		-time.Hour: 10, 0: 10, time.Millisecond: 9, 4*time.Second - time.Millisecond: 6, 4 * time.Second: 6, 9480 * time.Millisecond: 0,
	} {
		it := iterator(t, client, types.ShardIteratorTypeAtTimestamp, func(in *kinesis.GetShardIteratorInput) { in.Timestamp = new(start.Add(after)) })
		require.Len(t, get(t, client, it).Records, want, after)
	}
}

func TestIteratorsExpireAfterFiveMinutesAndDieWithTheirStream(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, Clock: now.Now})
	client := inMemory(srv)
	it := iterator(t, client, types.ShardIteratorTypeTrimHorizon)
	now.Advance(300 * time.Second)
	next := get(t, client, it).NextShardIterator
	now.Advance(time.Millisecond)
	_, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it})
	requireCode(t, "ExpiredIteratorException", err)
	get(t, client, next)

	_, err = client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: new("s")})
	require.NoError(t, err)
	_, err = client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: next})
	requireCode(t, "ResourceNotFoundException", err)
	_, err = client.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: new("s"), ShardCount: new(int32(1))})
	require.NoError(t, err)
	_, err = client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: next})
	requireCode(t, "ResourceNotFoundException", err)
}

func TestAForgedIteratorIsRefused(t *testing.T) {
	client := inMemory(one(t, 1))
	real, err := base64.StdEncoding.DecodeString(*iterator(t, client, types.ShardIteratorTypeTrimHorizon))
	require.NoError(t, err)
	forge := func(old, new string) *string {
		forged := strings.Replace(string(real), old, new, 1)
		require.NotEqual(t, string(real), forged)
		out := base64.StdEncoding.EncodeToString([]byte(forged))
		return &out
	}
	for it, want := range map[*string]string{
		new("no base64!"):                   "InvalidArgumentException",
		new(""):                             "ValidationException",
		new(strings.Repeat("A", 513)):       "ValidationException",
		forge("{", "["):                     "InvalidArgumentException",
		forge("iterator", "list"):           "InvalidArgumentException",
		forge(`"h":0`, `"h":-7`):            "InvalidArgumentException",
		forge(`"h":0`, `"h":-1`):            "ResourceNotFoundException",
		forge(`"h":0`, `"h":5`):             "ResourceNotFoundException",
		forge(`"h":0`, `"h":0,"a":5`):       "ResourceNotFoundException",
		forge(`"h":0`, `"h":0,"extra":"x"`): "InvalidArgumentException",
	} {
		_, err := client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it})
		requireCode(t, want, err)
	}
}

func TestTheEndOfAClosedShardNamesItsChildren(t *testing.T) {
	srv := one(t, 1)
	client := inMemory(srv)
	out, err := put(t, client, entries("k", "1", "k", "2"))
	require.NoError(t, err)
	err = split(t, client, shard0, "1000")
	require.NoError(t, err)
	shards, err := client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: new("s")})
	require.NoError(t, err)

	for kind, starting := range map[types.ShardIteratorType]*string{
		types.ShardIteratorTypeLatest:              nil,
		types.ShardIteratorTypeAfterSequenceNumber: out.Records[1].SequenceNumber,
		types.ShardIteratorTypeAtSequenceNumber:    out.Records[1].SequenceNumber,
		types.ShardIteratorTypeTrimHorizon:         nil,
	} {
		end := get(t, client, iterator(t, client, kind, number(starting)))
		require.Nil(t, end.NextShardIterator, kind)
		require.Len(t, end.ChildShards, 2, kind)
		require.Equal(t, "999", *end.ChildShards[0].HashKeyRange.EndingHashKey)
		require.Equal(t, []string{shard0}, end.ChildShards[1].ParentShards)
	}
	ending := shards.Shards[0].SequenceNumberRange.EndingSequenceNumber
	end := get(t, client, iterator(t, client, types.ShardIteratorTypeAfterSequenceNumber, number(ending)))
	require.Nil(t, end.NextShardIterator, "the number at which a shard ends is its end")

	started := shards.Shards[1].SequenceNumberRange.StartingSequenceNumber
	_, err = client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: new("s"), ShardId: new(shard0), ShardIteratorType: types.ShardIteratorTypeAtSequenceNumber, StartingSequenceNumber: started,
	})
	requireCode(t, "InvalidArgumentException", err)
}

func TestADryRunOfAReadAnswersWithItsException(t *testing.T) {
	client := inMemory(one(t, 1))
	_, err := client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
		StreamName: new("s"), ShardId: new(shard0), ShardIteratorType: types.ShardIteratorTypeLatest, DryRun: new(true),
	})
	requireCode(t, "DryRunOperationException", err)
	_, err = client.GetRecords(t.Context(), &kinesis.GetRecordsInput{
		ShardIterator: iterator(t, client, types.ShardIteratorTypeLatest), DryRun: new(true),
	})
	requireCode(t, "DryRunOperationException", err)
}
