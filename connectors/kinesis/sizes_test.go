package kinesis

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// Data below the cap, data plus key above it: the size of a record counts its key, in
// bytes of UTF-8. The server refuses what is above, so what is accepted was sized right.
func TestARecordMayWeighTheLimitWithItsKeyAndNoMore(t *testing.T) {
	for _, tc := range []struct {
		kib int
		key string
	}{
		{1024, "k"},
		{1024, "schlüssel鍵😀"},
		{1024, strings.Repeat("😀", 256)},
		{2048, "é"},
		{10240, strings.Repeat("é", 256)},
	} {
		t.Run(fmt.Sprintf("%d KiB, key of %d bytes", tc.kib, len(tc.key)), func(t *testing.T) {
			limit, key := tc.kib<<10, tc.key
			c := unthrottled(1)
			c.Streams[0].MaxRecordKiB = tc.kib
			bubble(t, c, func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				most := limit - len(key)
				w := open(t, client, asyncsink.Config{})
				below := Record{PartitionKey: key, Data: bytes.Repeat([]byte("-"), most-1)}
				at := Record{PartitionKey: key, Data: bytes.Repeat([]byte("="), most)}
				above := Record{PartitionKey: key, Data: bytes.Repeat([]byte("+"), most+1)}
				write(t, w, below, at)
				_, err := w.Write(t.Context(), above)
				var large *asyncsink.EntryTooLargeError
				require.ErrorAs(t, err, &large)
				require.EqualValues(t, limit+1, large.Size)
				require.EqualValues(t, limit, large.Limit)
				s := finish(t, w)
				storedOnce(t, srv, []Record{below, at})
				require.Zero(t, s.Bisected)
			})
		})
	}
}

// A request may weigh 10 MiB, keys included, and no more; a batch is cut before it.
func TestARequestMayWeighTenMiBWithItsKeysAndNoMore(t *testing.T) {
	for name, more := range map[string]int{"cap-1": -1, "cap": 0, "cap+1": 1} {
		t.Run(name, func(t *testing.T) {
			c := unthrottled(1)
			c.Streams[0].MaxRecordKiB = 10240
			bubble(t, c, func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				key := strings.Repeat("é", 256) // 512 bytes
				first := Record{PartitionKey: key, Data: bytes.Repeat([]byte("1"), 6<<20)}
				second := Record{PartitionKey: key, Data: bytes.Repeat([]byte("2"), 4<<20-2*512+more)}
				w := open(t, client, asyncsink.Config{})
				write(t, w, first, second)
				s := finish(t, w)
				storedOnce(t, srv, []Record{first, second})
				require.Zero(t, s.Bisected)
				require.EqualValues(t, 1+max(0, more), s.Requests)
			})
		})
	}
}

func TestARequestHasFiveHundredEntriesAtMost(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		spy := &spy{API: client}
		w := open(t, spy, asyncsink.Config{Batch: limits.Batch{Entries: 800}})
		write(t, w, numbered(1001, 7)...)
		finish(t, w)
		for _, p := range spy.inputs() {
			require.LessOrEqual(t, len(p.keys), 500)
		}
		require.Len(t, spy.inputs(), 3)
	})
}

// A request refused as too large is halved until the guilty entry stands alone, which goes
// to the dead letters. The stream's limit was lowered behind the writer's back.
func TestARecordThatIsTooLargeByNowIsFoundByHalving(t *testing.T) {
	c := unthrottled(1)
	c.Streams[0].MaxRecordKiB = 2048
	bubble(t, c, func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead})
		_, err := client.UpdateMaxRecordSize(t.Context(), &sdk.UpdateMaxRecordSizeInput{
			StreamARN: new("arn:aws:kinesis:us-east-1:000000000000:stream/s"), MaxRecordSizeInKiB: new(int32(1024)),
		})
		require.NoError(t, err)
		want := numbered(50, 50)
		guilty := Record{PartitionKey: "guilty", Data: make([]byte, 1<<20)}
		write(t, w, want[:20]...)
		write(t, w, guilty)
		write(t, w, want[20:]...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.Len(t, dead.letters, 1)
		require.Equal(t, "guilty", dead.letters[0].Key)
		require.Equal(t, "rejected", dead.letters[0].Class)
		require.ErrorContains(t, dead.letters[0].Err, "more than the 1024 KiB")
		require.LessOrEqual(t, s.Bisected, int64(6)) // log2 of 51
	})
}

// An answer of 413 without a code, as a proxy gives it, is halved too.
func TestARequestThatAProxyCallsTooLargeIsHalved(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords times=3 fail RequestEntityTooLarge status=413")
		want := numbered(16, 16)
		w := open(t, client, asyncsink.Config{DeadLetters: &graveyard{}})
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.EqualValues(t, 3, s.Bisected)
	})
}
