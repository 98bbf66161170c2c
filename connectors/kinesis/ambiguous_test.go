package kinesis

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// What may have been stored goes again and is counted as a possible duplicate,
// whether it was stored or not: nobody can know.
func TestAttemptsOfUnknownEffectAreCountedAsPossibleDuplicates(t *testing.T) {
	for fault, stored := range map[string]bool{
		"cut":                                     false,
		"cut after applying":                      true,
		"truncate":                                true, // HTTP 200, then the body breaks off
		"hang":                                    false,
		"hang after applying":                     true,
		"fail InternalFailure":                    false,
		"fail InternalFailure after applying":     true,
		"fail ServiceUnavailable after applying":  true,
		"fail Whatever status=502":                false,
		"fail RequestAbortedException status=400": false,
	} {
		t.Run(fault, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				inject(srv, "PutRecords nth=1 "+fault)
				want := numbered(10, 10)
				w := open(t, client, asyncsink.Config{InFlight: limits.InFlight{Timeout: 5 * time.Second}})
				write(t, w, want...)
				s := finish(t, w)
				twice := surplus(t, srv, want)
				require.Len(t, twice, map[bool]int{true: 10}[stored])
				require.EqualValues(t, 10, s.PossibleDuplicates.Entries)
				require.LessOrEqual(t, int64(len(twice)), s.PossibleDuplicates.Entries)
				struck(t, srv)
			})
		})
	}
}

// A client that never answers: the time-out frees the slot, and all is stored in the end.
func TestARequestThatHangsTimesOutAndGoesAgain(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords times=3 hang")
		want := numbered(10, 10)
		start := time.Now()
		w := open(t, client, asyncsink.Config{InFlight: limits.InFlight{Timeout: 2 * time.Second, Requests: 1}})
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.EqualValues(t, 3*10, s.PossibleDuplicates.Entries)
		require.Less(t, time.Since(start), 3*(2*time.Second+200*time.Millisecond)+time.Second)
		struck(t, srv)
	})
}

// A late answer, after the time-out, is not applied to the second attempt.
func TestALateAnswerIsNotAppliedTwice(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv, "PutRecords nth=1 delay 3s after applying")
		want := numbered(10, 10)
		w := open(t, client, asyncsink.Config{InFlight: limits.InFlight{Timeout: 2 * time.Second}})
		write(t, w, want...)
		s := finish(t, w)
		require.Len(t, surplus(t, srv, want), 10)
		require.EqualValues(t, 10, s.Delivered.Entries)
		require.EqualValues(t, 10, s.PossibleDuplicates.Entries)
	})
}

// A thousand requests under every fault at once: nothing is lost, and no duplicate goes uncounted.
func TestNothingIsLostUnderAMixOfFaults(t *testing.T) {
	bubble(t, unthrottled(4), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
		inject(srv,
			"PutRecords entries share=0.1 seed=1 fail InternalFailure",
			"PutRecords entries share=0.05 seed=2 fail ProvisionedThroughputExceededException",
			"PutRecords share=0.02 seed=3 cut after applying",
			"PutRecords share=0.02 seed=4 truncate",
			"PutRecords share=0.02 seed=5 short 1",
			"PutRecords share=0.02 seed=6 fail InternalFailure",
			"PutRecords share=0.01 seed=7 hang after applying",
			"PutRecords share=0.2 seed=8 delay 20ms")
		want := numbered(10_000, 500)
		w := open(t, client, asyncsink.Config{Batch: limits.Batch{Entries: 20}, InFlight: limits.InFlight{Timeout: time.Second}})
		write(t, w, want...)
		s := finish(t, w)
		twice := 0
		for _, n := range surplus(t, srv, want) {
			twice += n
		}
		require.Positive(t, twice)
		require.LessOrEqual(t, int64(twice), s.PossibleDuplicates.Entries)
		struck(t, srv)
	})
}
