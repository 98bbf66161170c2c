package kinesistest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest/kinesissuite"
)

// abc is the request of these tests: three entries.
func abc() []string { return []string{"a", "A", "b", "B", "c", "C"} }

// strike is what a fault does to a PutRecords of abc, seen by the client and in the server.
type strike struct {
	check  func(t *testing.T, out *kinesis.PutRecordsOutput, err error)
	stored []string
}

// answered are the faults that end by themselves. None depends on time.
var answered = map[string]strike{
	`PutRecords entries index=1 fail ProvisionedThroughputExceededException`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.EqualValues(t, 1, *out.FailedRecordCount)
			require.Equal(t, []string{"", "ProvisionedThroughputExceededException", ""}, codes(out))
			require.Equal(t, "Rate exceeded for shard shardId-000000000000 in stream s under account 000000000000.", *out.Records[1].ErrorMessage)
			require.Nil(t, out.Records[1].SequenceNumber)
		}, []string{"A", "C"},
	},
	`PutRecords entries key="c" fail InternalFailure`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.Equal(t, []string{"", "", "InternalFailure"}, codes(out))
			require.Equal(t, "Internal Service Failure", *out.Records[2].ErrorMessage)
		}, []string{"A", "B"},
	},
	`PutRecords entries fail InternalFailure after applying`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.EqualValues(t, 3, *out.FailedRecordCount)
		}, []string{"A", "B", "C"},
	},
	`PutRecords fail ServiceUnavailable`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) {
			requireCode(t, "ServiceUnavailable", err)
			requireStatus(t, 503, err)
		}, nil,
	},
	`PutRecords fail ProvisionedThroughputExceededException`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) {
			requireCode(t, "ProvisionedThroughputExceededException", err)
			requireStatus(t, 400, err)
		}, nil,
	},
	`PutRecords fail InternalFailure status=500 after applying`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) {
			requireCode(t, "InternalFailure", err)
			requireStatus(t, 500, err)
		}, []string{"A", "B", "C"},
	},
	`PutRecords cut`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) { require.ErrorIs(t, err, io.EOF) }, nil,
	},
	`PutRecords cut after applying`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) { require.ErrorIs(t, err, io.EOF) }, []string{"A", "B", "C"},
	},
	`PutRecords truncate`: {
		func(t *testing.T, _ *kinesis.PutRecordsOutput, err error) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			requireStatus(t, 200, err)
		}, []string{"A", "B", "C"},
	},
	`PutRecords short 2`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.Len(t, out.Records, 1)
		}, []string{"A", "B", "C"},
	},
	`PutRecords short 99`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.Empty(t, out.Records)
		}, []string{"A", "B", "C"},
	},
	`PutRecords delay 1ms`: {
		func(t *testing.T, out *kinesis.PutRecordsOutput, err error) {
			require.NoError(t, err)
			require.Equal(t, []string{"", "", ""}, codes(out))
		}, []string{"A", "B", "C"},
	},
}

func requireStatus(t *testing.T, want int, err error) {
	t.Helper()
	var re *awshttp.ResponseError
	require.True(t, errors.As(err, &re), "%v", err)
	require.Equal(t, want, re.HTTPStatusCode())
	require.NotEmpty(t, re.RequestID)
}

func (s strike) run(t *testing.T, text string, srv *kinesistest.Server, client *kinesis.Client) {
	srv.Inject(kinesistest.MustParseFault(text))
	out, err := put(t, client, entries(abc()...))
	s.check(t, out, err)
	require.Equal(t, s.stored, stored(srv))
	require.Equal(t, 1, srv.Faults()[0].Hits)

	srv.ClearFaults()
	_, err = put(t, client, entries("d", "D"))
	require.NoError(t, err, "without the fault all is well")
	require.Equal(t, append(s.stored, "D"), stored(srv))
}

func TestEachFaultThatIsAnsweredInMemory(t *testing.T) {
	for text, s := range answered {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := one(t, 1)
				s.run(t, text, srv, inMemory(srv))
			})
		})
	}
}

func TestEachFaultThatIsAnsweredOverASocket(t *testing.T) {
	for text, s := range answered {
		t.Run(text, func(t *testing.T) {
			srv := one(t, 1)
			ts := httptest.NewServer(srv)
			defer ts.Close()
			s.run(t, text, srv, kinesissuite.NewClient(ts.URL))
		})
	}
}

// patient are the faults that the client has to give up on, and what is stored then.
var patient = map[string][]string{
	"PutRecords hang":                    nil,
	"PutRecords hang after applying":     {"A", "B", "C"},
	"PutRecords delay 1h":                nil,
	"PutRecords delay 1h after applying": {"A", "B", "C"},
}

func TestAFaultThatOutlastsTheClientInMemory(t *testing.T) {
	for text, want := range patient {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := one(t, 1)
				srv.Inject(kinesistest.MustParseFault(text))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				_, err := inMemory(srv).PutRecords(ctx, &kinesis.PutRecordsInput{StreamName: new("s"), Records: entries(abc()...)})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Minute, time.Since(start), "it returned when the client gave up, to the nanosecond")
				require.Equal(t, want, stored(srv))
				require.EqualValues(t, 1, srv.Counts()["PutRecords"].Unanswered)
			})
		})
	}
}

func TestAFaultThatOutlastsTheClientOverASocket(t *testing.T) {
	for text, want := range patient {
		t.Run(text, func(t *testing.T) {
			srv := one(t, 1)
			srv.Inject(kinesistest.MustParseFault(text))
			ctx, giveUp := context.WithCancel(t.Context())
			done := make(chan struct{})
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(done)
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				giveUp() // the request has arrived as a whole
				srv.ServeHTTP(w, r)
			}))
			defer ts.Close()
			_, err := kinesissuite.NewClient(ts.URL).PutRecords(ctx, &kinesis.PutRecordsInput{
				StreamName: new("s"), Records: entries(abc()...),
			})
			require.ErrorIs(t, err, context.Canceled)
			<-done // the server noticed
			require.Equal(t, want, stored(srv))
		})
	}
}

func TestADelayTakesItsTimeOnTheBubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := one(t, 1)
		srv.Inject(kinesistest.MustParseFault("PutRecords nth=1 delay 200ms"), kinesistest.MustParseFault("PutRecords nth=1 delay 3s after applying"))
		start := time.Now()
		_, err := put(t, inMemory(srv), entries(abc()...))
		require.NoError(t, err)
		require.Equal(t, 3200*time.Millisecond, time.Since(start))
		require.Equal(t, 200*time.Millisecond, srv.Records("s")[0].Arrived.Sub(start), "it arrives after the first delay")
		_, err = put(t, inMemory(srv), entries(abc()...))
		require.NoError(t, err)
		require.Equal(t, 3200*time.Millisecond, time.Since(start))
	})
}

// The SDK's own retries turn a cut after applying into duplicates. This is what happens to those who leave them on.
func TestACutAfterApplyingMakesTheSDKWriteTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := one(t, 1)
		srv.Inject(kinesistest.MustParseFault("PutRecords nth=1 cut after applying"))
		_, err := put(t, inMemory(srv, func(o *kinesis.Options) { o.RetryMaxAttempts = 3 }), entries("a", "A"))
		require.NoError(t, err)
		require.Equal(t, []string{"A", "A"}, stored(srv))
	})
}

// A broken connection looks alike on both transports, down to the classes that retry rules ask for.
func TestABrokenConnectionLooksTheSameOnBothTransports(t *testing.T) {
	for _, text := range []string{"PutRecords cut", "PutRecords truncate"} {
		srv := one(t, 1)
		srv.Inject(kinesistest.MustParseFault(text))
		ts := httptest.NewServer(srv)
		defer ts.Close()
		var seen [2]string
		for i, client := range []*kinesis.Client{inMemory(srv), kinesissuite.NewClient(ts.URL)} {
			_, err := put(t, client, entries("a", "A"))
			require.Error(t, err)
			for e := err; e != nil; e = errors.Unwrap(e) {
				var op *net.OpError
				require.False(t, errors.As(e, &op), "%v", e)
				seen[i] += typeName(e) + " "
			}
		}
		require.Equal(t, seen[0], seen[1])
	}
}
