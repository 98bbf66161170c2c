package kinesis

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// 30,000 entries to one throttled shard: the service holds exactly 30,000.
func TestThirtyThousandEntriesToOneThrottledShardAreStoredOnce(t *testing.T) {
	c := kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}} // the service's own 1,000 a second
	bubble(t, c, func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		const n = 30_000
		want := numbered(n, 1000)
		start := time.Now()
		w := open(t, client, asyncsink.Config{})
		write(t, w, want...)
		s := finish(t, w)
		took := time.Since(start)

		storedOnce(t, srv, want)
		require.Zero(t, s.PossibleDuplicates.Entries)
		require.Positive(t, s.Throttled)
		require.EqualValues(t, n, srv.Counts()["PutRecords"].Applied)
		require.Less(t, took, 60*time.Second, "30 are the least that the shard allows")
		t.Logf("30,000 entries in %v of virtual time, %d requests, %d throttled", took, s.Requests, s.Throttled)
	})
}

// A request throttled as a whole is retried after a back-off, with no duplicate.
func TestARequestThrottledAsAWholeIsStoredOnce(t *testing.T) {
	for _, code := range []string{"ProvisionedThroughputExceededException", "KMSThrottlingException", "LimitExceededException", "ThrottlingException"} {
		t.Run(code, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				inject(srv, "PutRecords times=2 fail "+code)
				want := numbered(100, 100)
				w := open(t, client, asyncsink.Config{})
				write(t, w, want...)
				s := finish(t, w)
				storedOnce(t, srv, want)
				require.EqualValues(t, 2, s.ThrottledRequests)
				require.Zero(t, s.PossibleDuplicates.Entries)
				struck(t, srv)
			})
		})
	}
}

// The SDK's default client turns one refused PutRecords into three HTTP calls; ours must not.
func TestOneAttemptIsOneCallWhateverTheClientSays(t *testing.T) {
	for _, fault := range []string{"fail InternalFailure", "fail ProvisionedThroughputExceededException", "cut", "truncate"} {
		t.Run(fault, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				inject(srv, "PutRecords times=4 "+fault)
				w := open(t, client, asyncsink.Config{})
				write(t, w, numbered(10, 10)...)
				s := finish(t, w)
				require.EqualValues(t, 5, s.Requests)
				require.EqualValues(t, 5, srv.Counts()["PutRecords"].Requests)
			})
		})
	}
}
