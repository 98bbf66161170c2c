package kinesis

import (
	"fmt"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// What the stream can't keep is refused at start: AUTO distribution ignores keys, and
// several shards have no order among them.
func TestAnOrderThatTheStreamCantKeepIsRefusedAtStart(t *testing.T) {
	auto := unthrottled(1)
	auto.Streams[0].Auto = true
	for _, tc := range []struct {
		name   string
		config kinesistest.Config
		order  asyncsink.Order
		reason string // "": it is kept
	}{
		{"unordered, auto", auto, asyncsink.Unordered, ""},
		{"per_key, auto", auto, asyncsink.PerKey, "the stream's distribution is AUTO, which ignores keys"},
		{"total, auto", auto, asyncsink.Total, "the stream's distribution is AUTO, which ignores keys"},
		{"unordered, 4 shards", unthrottled(4), asyncsink.Unordered, ""},
		{"per_key, 4 shards", unthrottled(4), asyncsink.PerKey, ""},
		{"total, 4 shards", unthrottled(4), asyncsink.Total, "it has 4 open shards"},
		{"per_key, 1 shard", unthrottled(1), asyncsink.PerKey, ""},
		{"total, 1 shard", unthrottled(1), asyncsink.Total, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, tc.config, func(t *testing.T, _ *kinesistest.Server, client *sdk.Client) {
				w, err := NewWriter(t.Context(), client, Config{Stream: "s"}, asyncsink.Config{Order: tc.order})
				if tc.reason == "" {
					require.NoError(t, err)
					write(t, w, numbered(20, 5)...)
					finish(t, w)
					return
				}
				var refused *OrderError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, tc.order, refused.Order)
				require.ErrorContains(t, err, tc.reason)
				require.ErrorContains(t, err, ": use ", "what to do")
			})
		})
	}
}

// Limits are discovered, not written down.
func TestTheRecordLimitIsTheStreams(t *testing.T) {
	for _, kib := range []int{1024, 1025, 10240} {
		t.Run(fmt.Sprintf("%d KiB", kib), func(t *testing.T) {
			c := unthrottled(1)
			c.Streams[0].MaxRecordKiB = kib
			bubble(t, c, func(t *testing.T, _ *kinesistest.Server, client *sdk.Client) {
				w := open(t, client, asyncsink.Config{})
				write(t, w, Record{PartitionKey: "k", Data: make([]byte, kib<<10-1)})
				_, err := w.Write(t.Context(), Record{PartitionKey: "k", Data: make([]byte, kib<<10)})
				require.ErrorAs(t, err, new(*asyncsink.EntryTooLargeError))
				finish(t, w)
			})
		})
	}
}

// A configured limit below the stream's holds; one above it is lowered.
func TestConfiguredLimitsOnlyLowerTheStreams(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, _ *kinesistest.Server, client *sdk.Client) {
		for asked, holds := range map[limits.Bytes]limits.Bytes{limits.KiB: limits.KiB, 5 * limits.MiB: limits.MiB} {
			w := open(t, client, asyncsink.Config{Batch: limits.Batch{EntryBytes: asked}})
			write(t, w, Record{PartitionKey: "k", Data: make([]byte, holds-1)})
			_, err := w.Write(t.Context(), Record{PartitionKey: "k", Data: make([]byte, holds)})
			require.ErrorAs(t, err, new(*asyncsink.EntryTooLargeError))
			finish(t, w)
		}
	})
}

// A small cap on what is held does not clash with a stream of large records.
func TestASmallCapOnWhatIsHeldLowersTheRecordLimit(t *testing.T) {
	c := unthrottled(1)
	c.Streams[0].MaxRecordKiB = 10240
	bubble(t, c, func(t *testing.T, _ *kinesistest.Server, client *sdk.Client) {
		log := &logged{}
		w := open(t, client, asyncsink.Config{Logger: log.logger(), Held: limits.Held{Bytes: 4 * limits.MiB}})
		write(t, w, Record{PartitionKey: "k", Data: make([]byte, 4*limits.MiB-1)})
		finish(t, w)
		require.Empty(t, log.with("ignored"))
	})
}

// Wrong credentials, no permission, no such stream: the start fails, and says what to do.
func TestAStartThatCantWorkFailsWithAdvice(t *testing.T) {
	for _, tc := range []struct{ fault, says string }{
		{"fail AccessDeniedException", "allow kinesis:PutRecords and kinesis:DescribeStreamSummary"},
		{"fail UnrecognizedClientException", "check AWS_ACCESS_KEY_ID"},
		{"fail InvalidSignatureException", "check AWS_SECRET_ACCESS_KEY"},
		{"fail ExpiredTokenException", "renew what they come from"},
		{"fail ResourceNotFoundException", "create it, or check stream, region"},
		{"fail UnknownOperationException", "check endpoint"},
		{"fail Nonsense status=404", "check endpoint"},
		{"fail KMSDisabledException", "KMS key"},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				inject(srv, "DescribeStreamSummary "+tc.fault)
				_, err := NewWriter(t.Context(), client, Config{Stream: "s"}, asyncsink.Config{Order: asyncsink.PerKey})
				var failed *RequestError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, asyncsink.Fatal, failed.Kind)
				require.ErrorContains(t, err, "kinesis stream s: ")
				require.ErrorContains(t, err, tc.says)
				require.ErrorContains(t, err, "Injected by kinesistest", "the service's own words")
			})
		})
	}
}

// Someone who may write but not describe gets the limits that every stream has.
func TestWithoutTheRightToDescribeUnorderedWorks(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "DescribeStreamSummary fail AccessDeniedException")
		log := &logged{}
		w := open(t, client, asyncsink.Config{Logger: log.logger()})
		write(t, w, Record{PartitionKey: "k", Data: make([]byte, 1<<20-1)})
		_, err := w.Write(t.Context(), Record{PartitionKey: "k", Data: make([]byte, 1<<20)})
		require.ErrorAs(t, err, new(*asyncsink.EntryTooLargeError))
		finish(t, w)
		require.Len(t, log.with("allow kinesis:DescribeStreamSummary"), 1)
	})
}

// Many programs that start at once share 20 descriptions a second: the start waits its turn.
func TestAStartIsPatientWithThrottling(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "DescribeStreamSummary times=4 fail LimitExceededException")
		start := time.Now()
		w := open(t, client, asyncsink.Config{})
		finish(t, w)
		require.EqualValues(t, 5, srv.Counts()["DescribeStreamSummary"].Requests)
		require.Less(t, time.Since(start), 20*time.Second)
	})
}

func TestAStreamThatIsBeingCreatedIsRefusedAtStart(t *testing.T) {
	c := unthrottled(1)
	c.StatusDelay = time.Minute
	bubble(t, c, func(t *testing.T, _ *kinesistest.Server, client *sdk.Client) {
		_, err := client.CreateStream(t.Context(), &sdk.CreateStreamInput{StreamName: new("new"), ShardCount: new(int32(1))})
		require.NoError(t, err)
		_, err = NewWriter(t.Context(), client, Config{Stream: "new"}, asyncsink.Config{})
		require.EqualError(t, err, "kinesis stream new is CREATING: start again when it is ACTIVE")
		time.Sleep(2 * time.Minute) // virtual
		w, err := NewWriter(t.Context(), client, Config{Stream: "new"}, asyncsink.Config{})
		require.NoError(t, err)
		finish(t, w)
	})
}

func TestAStreamMayBeNamedByItsARN(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		w, err := NewWriter(t.Context(), client, Config{Stream: "arn:aws:kinesis:us-east-1:000000000000:stream/s"}, asyncsink.Config{})
		require.NoError(t, err)
		want := numbered(3, 3)
		write(t, w, want...)
		finish(t, w)
		storedOnce(t, srv, want)
	})
}

// All faults of both configurations come at once.
func TestNewWriterReportsTheFaultsOfBothConfigurations(t *testing.T) {
	_, err := NewWriter(t.Context(), nil, Config{Endpoint: "127.0.0.1"}, asyncsink.Config{Batch: limits.Batch{Entries: -1}, Held: limits.Held{Entries: -1}})
	for _, field := range []string{"stream: none", "endpoint: 127.0.0.1", "batch.entries: -1", "held.entries: -1"} {
		require.ErrorContains(t, err, field)
	}
	_, err = NewWriter(t.Context(), nil, Config{Stream: "s"}, asyncsink.Config{})
	require.ErrorContains(t, err, "make one with NewClient")
}
