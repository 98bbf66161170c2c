package kinesis

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func TestRecordsArriveWithKeysAndData(t *testing.T) {
	bubble(t, unthrottled(4), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		want := []Record{
			{PartitionKey: "a", Data: []byte("1")},
			{PartitionKey: "schlüssel", Data: nil},
			{PartitionKey: "鍵", ExplicitHashKey: maxHashKey, Data: []byte{0, 255}},
			{PartitionKey: "b", ExplicitHashKey: "0", Data: []byte("2")},
		}
		w := open(t, client, asyncsink.Config{})
		write(t, w, want...)
		finish(t, w)
		storedOnce(t, srv, want)
		for r := range srv.All("s") {
			switch r.ExplicitHashKey {
			case "0":
				require.Equal(t, "shardId-000000000000", r.ShardID)
			case maxHashKey:
				require.Equal(t, "shardId-000000000003", r.ShardID)
			}
		}
		require.EqualValues(t, 1, srv.Counts()["PutRecords"].Requests)
	})
}

// HTTP 200 with a failed count above zero: only the failed entries are sent again.
func TestOnlyTheFailedEntriesGoAgain(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords nth=1 entries index=1,4,9 fail InternalFailure")
		want := numbered(10, 10)
		w := open(t, client, asyncsink.Config{})
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.EqualValues(t, 3, s.Retried.Entries)
		require.Zero(t, s.PossibleDuplicates.Entries)
		require.EqualValues(t, 2, srv.Counts()["PutRecords"].Requests)
		struck(t, srv)
	})
}

// Ten entries; three attempts end 7 ok, 2 ok, 1 out of retries: sent 9, dead 1, bytes of the nine.
func TestTenEntriesNineStoredOneDead(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv,
			"PutRecords nth=1 entries index=0,3,6 fail InternalFailure",
			"PutRecords nth=2 entries index=1 fail InternalFailure",
			"PutRecords nth=3 entries index=0 fail InternalFailure")
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead, Retry: limits.Retry{Attempts: 3}})
		all := numbered(10, 10)
		write(t, w, all...)
		s := finish(t, w)
		storedOnce(t, srv, append(append([]Record{}, all[:3]...), all[4:]...))
		require.EqualValues(t, 9, s.Delivered.Entries)
		require.EqualValues(t, 9*(len("k0")+len("000000")), s.Delivered.Bytes)
		require.Len(t, dead.letters, 1)
		l := dead.letters[0]
		require.Equal(t, "attempts", l.Class)
		require.Equal(t, 3, l.Attempts)
		require.Equal(t, "k3", l.Key)
		require.Equal(t, "000003", string(l.Data))
		var entry *EntryError
		require.ErrorAs(t, l.Err, &entry)
		require.Equal(t, "InternalFailure", entry.Code)
		struck(t, srv)
	})
}

// 200 with nothing stored: a counter and an error, never silence.
func TestSuccessThatStoresNothingIsCountedAndLogged(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords times=3 entries fail InternalFailure")
		log := &logged{}
		want := numbered(10, 10)
		w := open(t, client, asyncsink.Config{Logger: log.logger()})
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.EqualValues(t, 3, s.Connector["nothing_stored"])
		require.Len(t, log.with("stored nothing"), 3)
		require.Contains(t, log.with("stored nothing")[0], "InternalFailure")
	})
}

// A reply of another length than the request is ambiguous for all of it.
func TestAReplyOfAnotherLengthIsAmbiguousForAll(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords nth=1 short 2")
		log := &logged{}
		want := numbered(10, 10)
		w := open(t, client, asyncsink.Config{Logger: log.logger()})
		write(t, w, want...)
		s := finish(t, w)
		require.Len(t, surplus(t, srv, want), 10) // it had been stored, and nobody could know
		require.EqualValues(t, 10, s.PossibleDuplicates.Entries)
		require.EqualValues(t, 1, s.Connector["unclear_answers"])
		require.Contains(t, log.with("can't be used")[0], "10 records were sent and 8 are answered")
		struck(t, srv)
	})
}

// What gave up an entry whose answers were useless says so.
func TestAUselessAnswerIsToldApartInTheDeadLetters(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords short 1")
		dead := &graveyard{}
		w := open(t, client, asyncsink.Config{DeadLetters: dead, Retry: limits.Retry{Attempts: 2}})
		write(t, w, numbered(1, 1)...)
		finish(t, w)
		require.Len(t, dead.letters, 1)
		require.ErrorIs(t, dead.letters[0].Err, ErrAnswer)
	})
}
