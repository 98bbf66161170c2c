package kinesis

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// A partition key over 256 characters, or empty: a typed error before sending, naming the
// record. Records that nobody validated are rejected alone: their neighbours are stored.
func TestARecordThatBreaksAKeyRuleIsRejectedAloneBeforeSending(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead})
		good := numbered(6, 6)
		bad := []Record{
			{PartitionKey: "", Data: []byte("empty")},
			{PartitionKey: strings.Repeat("x", 257), Data: []byte("long")},
			{PartitionKey: "a\xff", Data: []byte("not UTF-8")},
			{PartitionKey: "a", ExplicitHashKey: "-1", Data: []byte("hash")},
		}
		for i, r := range bad {
			write(t, w, good[i], r)
		}
		write(t, w, good[4:]...)
		s := finish(t, w)
		storedOnce(t, srv, good)
		require.EqualValues(t, 1, s.Requests, "nothing was halved or sent twice")
		require.Len(t, dead.letters, 4)
		for _, l := range dead.letters {
			var fault *RecordError
			require.ErrorAs(t, l.Err, &fault)
			require.Equal(t, "rejected", l.Class)
			require.EqualValues(t, 1, l.Attempts)
		}
	})
}

// A batch of nothing but such records costs no request.
func TestABatchOfFaultyRecordsCostsNoRequest(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead})
		write(t, w, Record{}, Record{})
		finish(t, w)
		require.Len(t, dead.letters, 2)
		require.Zero(t, srv.Counts()["PutRecords"].Requests)
	})
}

// Outcomes are by index although a record of the batch was not sent.
func TestOutcomesKeepTheirPlacesBehindARecordThatWasNotSent(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords nth=1 entries index=2 fail InternalFailure")
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead})
		good := numbered(6, 6)
		write(t, w, good[0], Record{PartitionKey: ""})
		write(t, w, good[1:]...)
		finish(t, w)
		storedOnce(t, srv, good)
		require.Len(t, dead.letters, 1)
		struck(t, srv)
	})
}
