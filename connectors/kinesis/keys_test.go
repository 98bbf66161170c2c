package kinesis

import (
	"fmt"
	"math"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// Even: within five standard deviations of a fair draw, on shards that are halves or sevenths.
func TestRandomKeysAreEvenOverShards(t *testing.T) {
	for _, shards := range []int{4, 7} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			bubble(t, unthrottled(shards), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				const n = 8000
				keys := NewRandomKeys(1)
				w := open(t, client, asyncsink.Config{})
				for range n {
					write(t, w, keys.Record(nil))
				}
				finish(t, w)
				count := map[string]int{}
				for r := range srv.All("s") {
					count[r.ShardID]++
				}
				p := 1 / float64(shards)
				require.Len(t, count, shards)
				for shard, got := range count {
					require.InDelta(t, n*p, got, 5*math.Sqrt(n*p*(1-p)), shard)
				}
			})
		})
	}
}

func TestRandomKeysAreSeededAndDistinct(t *testing.T) {
	a, b, other, random := NewRandomKeys(7), NewRandomKeys(7), NewRandomKeys(8), NewRandomKeys(0)
	seen := map[string]bool{}
	for range 1000 {
		key := a.Next()
		require.Equal(t, key, b.Next())
		for _, k := range []string{key, other.Next(), random.Next()} {
			require.False(t, seen[k])
			require.Len(t, k, randomKeyBytes)
			require.NoError(t, Record{PartitionKey: k}.Validate())
			seen[k] = true
		}
	}
}

func TestRandomKeysMayBeDrawnByManyGoroutines(t *testing.T) {
	keys := NewRandomKeys(1)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				k := keys.Next()
				mu.Lock()
				seen[k] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 4000)
}

func TestRandomKeysAllocateOncePerBlock(t *testing.T) {
	keys := NewRandomKeys(1)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { keys.Next() }), 1.0/keysPerBlock+0.01)
}
