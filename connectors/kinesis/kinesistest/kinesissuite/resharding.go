package kinesissuite

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// resharding is about splits and merges.
func resharding(t *testing.T, e *env) {
	t.Run("a split hands the range to two children", func(t *testing.T) { splits(t, e) })
	t.Run("a merge hands two ranges to one child", func(t *testing.T) { merges(t, e) })
	t.Run("UpdateShardCount makes equal shards", func(t *testing.T) {
		e.need(t, UpdateShardCount)
		rescales(t, e)
	})
	t.Run("what cannot be split or merged is refused", func(t *testing.T) {
		name := e.stream(t, 3)
		split := func(shard, at string) error {
			_, err := e.client.SplitShard(t.Context(), &kinesis.SplitShardInput{
				StreamName: &name, ShardToSplit: &shard, NewStartingHashKey: &at,
			})
			return err
		}
		requireCode(t, "InvalidArgumentException", split("shardId-000000000000", "0"))
		requireCode(t, "InvalidArgumentException", split("shardId-000000000000", largestKey))
		requireCode(t, "ResourceNotFoundException", split("shardId-000000000009", "5"))
		requireCode(t, "ValidationException", split("shardId-000000000000", "five"))
		requireCode(t, "InvalidArgumentException", e.merge(t, name, "shardId-000000000000", "shardId-000000000002"))
		requireCode(t, "ResourceNotFoundException", e.merge(t, name, "shardId-000000000000", "shardId-000000000009"))
	})
	t.Run("a closed shard is not split again", func(t *testing.T) {
		e.need(t, ShardEligibility)
		name := e.stream(t, 1)
		e.split(t, name, "shardId-000000000000", "1000")
		_, err := e.client.SplitShard(t.Context(), &kinesis.SplitShardInput{
			StreamName: &name, ShardToSplit: aws.String("shardId-000000000000"), NewStartingHashKey: aws.String("2000"),
		})
		requireCode(t, "InvalidArgumentException", err)
		requireCode(t, "InvalidArgumentException", e.merge(t, name, "shardId-000000000000", "shardId-000000000001"))
	})
}

func (e *env) split(t *testing.T, stream, shard, at string) {
	t.Helper()
	_, err := e.client.SplitShard(t.Context(), &kinesis.SplitShardInput{
		StreamName: &stream, ShardToSplit: &shard, NewStartingHashKey: &at,
	})
	require.NoError(t, err)
	e.waitActive(t, stream)
}

func (e *env) merge(t *testing.T, stream, shard, adjacent string) error {
	_, err := e.client.MergeShards(t.Context(), &kinesis.MergeShardsInput{
		StreamName: &stream, ShardToMerge: &shard, AdjacentShardToMerge: &adjacent,
	})
	return err
}

func splits(t *testing.T, e *env) {
	name := e.stream(t, 1)
	const parent, lower, upper = "shardId-000000000000", "shardId-000000000001", "shardId-000000000002"
	old := e.iterator(t, horizon(name, parent))
	for i := range 5 {
		e.put(t, name, "k", fmt.Sprint(i))
	}
	e.split(t, name, parent, "1000")
	shards := e.shards(t, name)
	require.Len(t, shards, 3)
	require.NotNil(t, shards[0].SequenceNumberRange.EndingSequenceNumber)
	require.Equal(t, []string{"0", "999"}, hashRange(shards[1]))
	require.Equal(t, []string{"1000", largestKey}, hashRange(shards[2]))
	for _, child := range shards[1:] {
		require.Equal(t, parent, *child.ParentShardId)
		require.Nil(t, child.AdjacentParentShardId)
		require.Nil(t, child.SequenceNumberRange.EndingSequenceNumber)
		require.Positive(t, number(t, child.SequenceNumberRange.StartingSequenceNumber).Cmp(number(t, shards[0].SequenceNumberRange.EndingSequenceNumber)),
			"a child's numbers start above its parent's")
	}
	for explicit, want := range map[string]string{"0": lower, "999": lower, "1000": upper, largestKey: upper} {
		out, err := e.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
			StreamName: &name, PartitionKey: aws.String("k"), ExplicitHashKey: &explicit, Data: []byte("child"),
		})
		require.NoError(t, err)
		require.Equal(t, want, *out.ShardId)
	}
	records, _ := e.drain(t, old, 5)
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, data(records), "the parent keeps its records, and the old iterator")
	records, end := e.drain(t, e.iterator(t, horizon(name, parent)), 1<<30)
	require.Len(t, records, 5)
	require.Nil(t, end.NextShardIterator, "a closed shard ends")
	if _, lacks := e.lacks[ChildShards]; !lacks {
		var children []string
		for _, c := range end.ChildShards {
			children = append(children, *c.ShardId)
			require.Equal(t, []string{parent}, c.ParentShards)
		}
		require.ElementsMatch(t, []string{lower, upper}, children)
	}
}

func merges(t *testing.T, e *env) {
	name := e.stream(t, 2)
	e.put(t, name, "k", "before")
	require.NoError(t, e.merge(t, name, "shardId-000000000000", "shardId-000000000001"))
	e.waitActive(t, name)
	shards := e.shards(t, name)
	require.Len(t, shards, 3)
	require.EqualValues(t, 1, *e.summary(t, name).OpenShardCount)
	child := shards[2]
	require.Equal(t, "shardId-000000000000", *child.ParentShardId)
	require.Equal(t, "shardId-000000000001", *child.AdjacentParentShardId)
	require.Equal(t, []string{"0", largestKey}, hashRange(child))
	require.Equal(t, *child.ShardId, *e.put(t, name, "k", "after").ShardId)
	for _, parent := range shards[:2] {
		require.NotNil(t, parent.SequenceNumberRange.EndingSequenceNumber)
	}
}

func rescales(t *testing.T, e *env) {
	name := e.stream(t, 2)
	written := 0
	for _, target := range []int32{4, 3, 2, 1, 2} {
		for i := range 20 {
			e.put(t, name, fmt.Sprint("key", i), "x")
			written++
		}
		out, err := e.client.UpdateShardCount(t.Context(), &kinesis.UpdateShardCountInput{
			StreamName: &name, TargetShardCount: &target, ScalingType: types.ScalingTypeUniformScaling,
		})
		require.NoError(t, err)
		require.Equal(t, target, *out.TargetShardCount)
		e.waitActive(t, name)
		require.Equal(t, target, *e.summary(t, name).OpenShardCount)
		equalShares(t, e.shards(t, name), int64(target))
	}
	got := 0
	for _, sh := range e.shards(t, name) {
		if sh.SequenceNumberRange.EndingSequenceNumber != nil {
			records, _ := e.drain(t, e.iterator(t, horizon(name, *sh.ShardId)), 1<<30)
			got += len(records)
		}
	}
	require.Equal(t, written, got, "every closed shard keeps its records")
	for _, target := range []int32{5, 0} {
		_, err := e.client.UpdateShardCount(t.Context(), &kinesis.UpdateShardCountInput{
			StreamName: &name, TargetShardCount: &target, ScalingType: types.ScalingTypeUniformScaling,
		})
		require.Contains(t, []string{"LimitExceededException", "ValidationException"}, code(err))
	}
}

// equalShares checks that the open shards cover the space without gaps, each with its share.
func equalShares(t *testing.T, shards []types.Shard, n int64) {
	t.Helper()
	share := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(n))
	byStart := map[string]types.Shard{}
	for _, sh := range shards {
		if sh.SequenceNumberRange.EndingSequenceNumber == nil {
			byStart[*sh.HashKeyRange.StartingHashKey] = sh
		}
	}
	at := big.NewInt(0)
	for range n {
		sh, ok := byStart[at.String()]
		require.True(t, ok, "no open shard starts at %s", at)
		end := number(t, sh.HashKeyRange.EndingHashKey)
		width := new(big.Int).Sub(end, at)
		require.LessOrEqual(t, new(big.Int).Abs(width.Sub(width, share)).Cmp(big.NewInt(n+1)), 0)
		at = end.Add(end, big.NewInt(1))
	}
	require.Equal(t, 129, at.BitLen(), "the last open shard ends the space")
}

func hashRange(sh types.Shard) []string {
	return []string{*sh.HashKeyRange.StartingHashKey, *sh.HashKeyRange.EndingHashKey}
}
