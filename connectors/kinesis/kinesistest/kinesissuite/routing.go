package kinesissuite

import (
	"crypto/md5"
	"fmt"
	"math/big"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// largestKey is 2^128 - 1, the end of the hash space.
const largestKey = "340282366920938463463374607431768211455"

func number(t *testing.T, s *string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(*s, 10)
	require.True(t, ok, *s)
	return n
}

// owner is the open shard whose range holds a hash key.
func owner(t *testing.T, shards []types.Shard, key *big.Int) string {
	t.Helper()
	for _, sh := range shards {
		if sh.SequenceNumberRange.EndingSequenceNumber == nil &&
			key.Cmp(number(t, sh.HashKeyRange.StartingHashKey)) >= 0 && key.Cmp(number(t, sh.HashKeyRange.EndingHashKey)) <= 0 {
			return *sh.ShardId
		}
	}
	t.Fatalf("no open shard holds %s", key)
	return ""
}

// routing is about the shard that a record goes to.
func routing(t *testing.T, e *env) {
	name := e.stream(t, 3)
	shards := e.shards(t, name)

	t.Run("shards share out the hash space", func(t *testing.T) {
		var starts, ends []string
		for _, sh := range shards {
			starts, ends = append(starts, *sh.HashKeyRange.StartingHashKey), append(ends, *sh.HashKeyRange.EndingHashKey)
			require.Nil(t, sh.SequenceNumberRange.EndingSequenceNumber)
			require.Nil(t, sh.ParentShardId)
		}
		require.Equal(t, []string{"0", "113427455640312821154458202477256070485", "226854911280625642308916404954512140970"}, starts)
		require.Equal(t, []string{"113427455640312821154458202477256070484", "226854911280625642308916404954512140969", largestKey}, ends)
	})
	t.Run("the MD5 of the key decides", func(t *testing.T) {
		for i := range 50 {
			key := fmt.Sprintf("schlüssel-%d", i)
			sum := md5.Sum([]byte(key))
			require.Equal(t, owner(t, shards, new(big.Int).SetBytes(sum[:])), *e.put(t, name, key, "x").ShardId, key)
		}
	})
	t.Run("an explicit hash key overrides it", func(t *testing.T) {
		for _, explicit := range []string{"0", "113427455640312821154458202477256070484", "113427455640312821154458202477256070485", largestKey} {
			out, err := e.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
				StreamName: &name, PartitionKey: aws.String("k"), ExplicitHashKey: &explicit, Data: []byte("x"),
			})
			require.NoError(t, err)
			require.Equal(t, owner(t, shards, number(t, &explicit)), *out.ShardId, explicit)
		}
	})
	refused := func(t *testing.T, want string, hashKeys ...string) {
		for _, explicit := range hashKeys {
			in := entry("k", "x")
			in.ExplicitHashKey = &explicit
			_, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
				StreamName: &name, Records: []types.PutRecordsRequestEntry{in},
			})
			require.Equal(t, want, code(err), "%q: %v", explicit, err)
		}
	}
	t.Run("an explicit hash key outside the space is refused", func(t *testing.T) {
		refused(t, "InvalidArgumentException", "340282366920938463463374607431768211456", "999999999999999999999999999999999999999")
		refused(t, "ValidationException", "")
	})
	t.Run("an explicit hash key that is no plain number is refused", func(t *testing.T) {
		e.need(t, HashKeyForm)
		refused(t, "ValidationException", "-1", "01", "1e3", " 1", "1000000000000000000000000000000000000000") // the last has 40 digits
	})
}
