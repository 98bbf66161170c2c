package kinesistest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

const throttled = "ProvisionedThroughputExceededException"

// clock is a time that the test owns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func count(all []string, code string) (n int) {
	for _, c := range all {
		if c == code {
			n++
		}
	}
	return n
}

func TestAShardTakesAThousandRecordsASecond(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, Clock: now.Now})
	client := inMemory(srv)
	batch := slices.Repeat(entries("k", "d"), 500)
	taken := func() int {
		out, err := put(t, client, batch)
		require.NoError(t, err, "throttled entries are no error of the request")
		refused := count(codes(out), throttled)
		require.EqualValues(t, refused, *out.FailedRecordCount)
		return 500 - refused
	}
	require.Equal(t, []int{500, 500, 0}, []int{taken(), taken(), taken()})
	now.Advance(999 * time.Millisecond)
	require.Equal(t, 0, taken(), "the window is not over")
	now.Advance(time.Millisecond)
	require.Equal(t, []int{500, 500, 0}, []int{taken(), taken(), taken()})
	counts := srv.Counts()["PutRecords"]
	require.Equal(t, kinesistest.Counts{Requests: 7, Applied: 2000, Throttled: 1500}, counts)
	require.Len(t, srv.Records("s"), 2000, "what is refused is not stored")

	_, err := client.PutRecord(t.Context(), &kinesis.PutRecordInput{
		StreamName: new("s"), PartitionKey: new("k"), Data: []byte("d"),
	})
	e := requireCode(t, throttled, err)
	require.Equal(t, "Rate exceeded for shard shardId-000000000000 in stream s under account 000000000000.", e.ErrorMessage())
}

func TestAShardTakesAMiBASecondKeysIncluded(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams: []kinesistest.StreamConfig{{Name: "s", MaxRecordKiB: 10240}}, Clock: now.Now,
	})
	client := inMemory(srv)
	size := func(n int) []types.PutRecordsRequestEntry { return entries("key", strings.Repeat("d", n-3)) }
	out, err := put(t, client, slices.Concat(size(1<<20-100), size(101), size(100), size(4)))
	require.NoError(t, err)
	require.Equal(t, []string{"", throttled, "", throttled}, codes(out), "an entry too large does not stop one that fits")

	now.Advance(time.Second)
	for window := range 12 {
		record := size(10)
		if window == 0 {
			record = size(10 << 20)
		}
		out, err := put(t, client, record)
		require.NoError(t, err)
		want := throttled
		if window == 0 || window >= 10 {
			want = ""
		}
		require.Equal(t, []string{want}, codes(out), "window %d after a record of ten seconds' bytes", window)
		now.Advance(time.Second)
	}
}

func TestShardsAreThrottledForThemselves(t *testing.T) {
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams: []kinesistest.StreamConfig{{Name: "s", Shards: 2}}, RecordsPerSecond: 3, Clock: newClock().Now,
	})
	low, high := "0", "340282366920938463463374607431768211455"
	var batch []types.PutRecordsRequestEntry
	for i := range 10 {
		e := types.PutRecordsRequestEntry{PartitionKey: new("k"), ExplicitHashKey: &low, Data: []byte{byte(i)}}
		if i%5 == 4 {
			e.ExplicitHashKey = &high
		}
		batch = append(batch, e)
	}
	out, err := put(t, inMemory(srv), batch)
	require.NoError(t, err)
	require.Equal(t, []string{"", "", "", throttled, "", throttled, throttled, throttled, throttled, ""}, codes(out))
	require.Contains(t, *out.Records[3].ErrorMessage, "shardId-000000000000")
}

func TestThrottlingFollowsTheBubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, RecordsPerSecond: 5})
		client := inMemory(srv)
		for range 20 { // a plain producer: again what failed, after a second
			batch := slices.Repeat(entries("k", "d"), 12)
			for len(batch) > 0 {
				out, err := put(t, client, batch)
				require.NoError(t, err)
				batch = batch[:count(codes(out), throttled)]
				time.Sleep(time.Second)
			}
		}
		require.Len(t, srv.Records("s"), 240)
	})
}

func TestRefusalsNameTheFieldInTheServicesWords(t *testing.T) {
	client := inMemory(one(t, 1))
	_, err := put(t, client, slices.Concat(entries("k", "v", "", "v"), entries(strings.Repeat("x", 257), "v")))
	require.Equal(t, "2 validation errors detected: "+
		"Value '' at 'records.2.member.partitionKey' failed to satisfy constraint: Member must have length greater than or equal to 1; "+
		"Value '"+strings.Repeat("x", 257)+"' at 'records.3.member.partitionKey' failed to satisfy constraint: Member must have length less than or equal to 256",
		requireCode(t, "ValidationException", err).ErrorMessage())

	_, err = put(t, client, slices.Repeat(entries("", "v"), 20))
	require.Contains(t, requireCode(t, "ValidationException", err).ErrorMessage(), "10 validation errors detected")

	_, err = client.PutRecord(t.Context(), &kinesis.PutRecordInput{
		StreamName: new("s"), PartitionKey: new("k"), Data: []byte("v"), SequenceNumberForOrdering: new("later"),
	})
	requireCode(t, "ValidationException", err)
	_, err = client.PutRecords(t.Context(), &kinesis.PutRecordsInput{Records: entries("k", "v")})
	requireCode(t, "InvalidArgumentException", err)
	_, err = client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
		StreamARN: new("arn:aws:kinesis:us-east-1:999999999999:stream/s"), Records: entries("k", "v"),
	})
	requireCode(t, "ResourceNotFoundException", err)
}

// Many writers at once, while the shards change under them: each record is stored once, where its answer says,
// and each key's records stand in the order in which its writer had them acknowledged.
func TestNothingIsLostOrReorderedByConcurrentWritersAndReshards(t *testing.T) {
	srv := one(t, 2)
	client := inMemory(srv)
	const writers, rounds = 8, 30
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for r := range rounds {
				out, err := put(t, client, entries(fmt.Sprintf("writer-%d", w), fmt.Sprint(r), fmt.Sprintf("writer-%d", w), fmt.Sprintf("%d'", r)))
				if err != nil || *out.FailedRecordCount != 0 {
					t.Errorf("writer %d, round %d: %v", w, r, err)
				}
			}
		})
	}
	wg.Go(func() {
		for _, n := range []int32{3, 6, 4, 2, 1, 2, 4} {
			if err := scale(t, client, "s", n); err != nil {
				t.Errorf("to %d shards: %v", n, err)
			}
			for range srv.All("s") { // readers meet writers
			}
			_ = srv.Counts()
		}
	})
	wg.Wait()
	got := map[string][]string{}
	arrivals := map[uint64]bool{}
	for r := range srv.All("s") {
		got[r.PartitionKey] = append(got[r.PartitionKey], string(r.Data))
		arrivals[r.Arrival] = true
	}
	var want []string
	for r := range rounds {
		want = append(want, fmt.Sprint(r), fmt.Sprintf("%d'", r))
	}
	for w := range writers {
		require.Equal(t, want, got[fmt.Sprintf("writer-%d", w)])
	}
	require.Len(t, arrivals, writers*rounds*2)
	require.True(t, arrivals[0] && arrivals[writers*rounds*2-1], "arrivals have no gaps")
}

func TestRecordsTellAllThatWasWritten(t *testing.T) {
	now := newClock()
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s", Shards: 2}}, Clock: now.Now})
	client := inMemory(srv)
	high := "340282366920938463463374607431768211455"
	first, err := put(t, client, []types.PutRecordsRequestEntry{{PartitionKey: new("k"), ExplicitHashKey: &high, Data: []byte("first")}})
	require.NoError(t, err)
	now.Advance(1500 * time.Millisecond)
	second, err := put(t, client, []types.PutRecordsRequestEntry{{PartitionKey: new("k"), ExplicitHashKey: new("0"), Data: []byte("second")}})
	require.NoError(t, err)
	require.Equal(t, []kinesistest.Record{
		{
			ShardID: "shardId-000000000000", SequenceNumber: *second.Records[0].SequenceNumber, PartitionKey: "k", ExplicitHashKey: "0",
			Data: []byte("second"), Arrived: now.Now(), Arrival: 1,
		}, {
			ShardID: "shardId-000000000001", SequenceNumber: *first.Records[0].SequenceNumber, PartitionKey: "k", ExplicitHashKey: high,
			Data: []byte("first"), Arrived: now.Now().Add(-1500 * time.Millisecond), Arrival: 0,
		},
	}, srv.Records("s"))
	for range srv.All("s") {
		break // an iteration may stop early
	}
	require.Empty(t, srv.Records("none"))
}

func TestAStreamWithAutoDistributionTakesShardsInTurn(t *testing.T) {
	srv := kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s", Shards: 3, Auto: true}}})
	out, err := put(t, inMemory(srv), append(slices.Repeat(entries("hot", "d"), 8), types.PutRecordsRequestEntry{Data: []byte("no key")}))
	require.NoError(t, err)
	perShard := map[string]int{}
	for _, r := range out.Records {
		perShard[aws.ToString(r.ShardId)]++
	}
	require.Equal(t, map[string]int{"shardId-000000000000": 3, "shardId-000000000001": 3, "shardId-000000000002": 3}, perShard)
}
