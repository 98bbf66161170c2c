package kinesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// The kind of every code, as it comes off the wire through the real SDK.
func TestEveryCodeOfTheServiceHasAKind(t *testing.T) {
	kinds := map[asyncsink.Kind][]string{
		asyncsink.Throttled: {"ProvisionedThroughputExceededException", "KMSThrottlingException", "LimitExceededException", "ThrottlingException"},
		asyncsink.Retry:     {"ResourceInUseException", "RequestTimeoutException", "RequestExpired"},
		asyncsink.Ambiguous: {"InternalFailure", "InternalFailureException", "ServiceUnavailable", "RequestAbortedException"},
		asyncsink.Rejected:  {"ValidationException", "InvalidArgumentException", "RequestEntityTooLargeException"},
		asyncsink.Fatal: {"AccessDeniedException", "NotAuthorized", "IncompleteSignature", "InvalidSignatureException",
			"ResourceNotFoundException", "KMSAccessDeniedException", "KMSDisabledException", "KMSInvalidStateException", "KMSNotFoundException",
			"KMSOptInRequired", "OptInRequired", "UnknownOperationException", "SerializationException", "DryRunOperationException"},
		asyncsink.CredentialExpired: {"ExpiredTokenException", "UnrecognizedClientException"},
	}
	synctest.Test(t, func(t *testing.T) {
		srv := kinesistest.NewServer(t, unthrottled(1))
		for kind, list := range kinds {
			for _, code := range list {
				srv.ClearFaults()
				inject(srv, "PutRecords fail "+code)
				v, got := classify(putOne(t.Context(), inMemory(srv)))
				require.Equal(t, kind, v.kind, "%s is %v", code, v.kind)
				require.Equal(t, code, got)
				if kind == asyncsink.Fatal {
					require.NotEmpty(t, v.advice, code)
				}
			}
		}
	})
}

func putOne(ctx context.Context, c *sdk.Client) error {
	_, err := c.PutRecords(ctx, &sdk.PutRecordsInput{
		StreamName: new("s"), Records: []types.PutRecordsRequestEntry{{PartitionKey: new("k"), Data: []byte("d")}},
	}, func(o *sdk.Options) { o.Retryer = aws.NopRetryer{} })
	return err
}

// The table keeps up with the SDK: an error type that a newer version adds fails this test.
func TestTheTableKnowsEveryErrorTypeOfTheSDK(t *testing.T) {
	reading := []string{"ExpiredIteratorException", "ExpiredNextTokenException"} // of operations that are never called
	n := 0
	for _, entry := range sdk.TypeRegistry.Entries {
		if api, ok := entry.New().(smithy.APIError); ok && !slices.Contains(reading, api.ErrorCode()) {
			n++
			require.Contains(t, codes, api.ErrorCode())
		}
	}
	require.GreaterOrEqual(t, n, 15)
}

// Answers that have no code, or none that is documented.
func TestAnAnswerWithoutACodeIsJudgedByItsStatus(t *testing.T) {
	for status, kind := range map[int]asyncsink.Kind{
		200: asyncsink.Ambiguous, 301: asyncsink.Fatal, 400: asyncsink.Retry, 401: asyncsink.Fatal, 403: asyncsink.Fatal, 404: asyncsink.Fatal,
		405: asyncsink.Fatal, 407: asyncsink.Fatal, 408: asyncsink.Retry, 413: asyncsink.Rejected, 429: asyncsink.Throttled,
		500: asyncsink.Ambiguous, 502: asyncsink.Ambiguous, 503: asyncsink.Ambiguous, 504: asyncsink.Ambiguous,
	} {
		for _, body := range []string{"<html>a proxy's page</html>", `{"__type":"NobodyKnows"}`, ""} {
			if status == 200 && body != "<html>a proxy's page</html>" {
				continue // no error for the SDK: see the tests of answers of another length
			}
			client := inMemory(nil, func(o *sdk.Options) { o.HTTPClient = answer{status, body} })
			v, _ := classify(putOne(t.Context(), client))
			require.Equal(t, kind, v.kind, "%d %q", status, body)
		}
	}
}

// answer is an HTTP client that gives the same answer to everything.
type answer struct {
	status int
	body   string
}

func (a answer) Do(r *http.Request) (*http.Response, error) {
	h := http.Header{"Retry-After": {"7"}}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// Success with an empty answer is no success.
func TestAnEmptySuccessIsAmbiguous(t *testing.T) {
	for _, body := range []string{"", "{}", `{"Records":[{}]}`, `{"FailedRecordCount":0,"Records":[{"ShardId":"x"}]}`} {
		bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
			w := open(t, &once{API: client, other: inMemory(srv, func(o *sdk.Options) { o.HTTPClient = answer{200, body} })}, asyncsink.Config{})
			want := numbered(1, 1)
			write(t, w, want...)
			s := finish(t, w)
			storedOnce(t, srv, want)
			require.EqualValues(t, 1, s.PossibleDuplicates.Entries)
			require.EqualValues(t, 1, s.Connector["unclear_answers"])
		})
	}
}

// once is an API whose first PutRecords goes elsewhere.
type once struct {
	API
	other API
	done  bool
}

func (o *once) PutRecords(ctx context.Context, in *sdk.PutRecordsInput, f ...func(*sdk.Options)) (*sdk.PutRecordsOutput, error) {
	if o.done {
		return o.API.PutRecords(ctx, in, f...)
	}
	o.done = true
	return o.other.PutRecords(ctx, in, f...)
}

// A wait that a proxy asks for is honoured, within reason.
func TestRetryAfterIsHonoured(t *testing.T) {
	client := inMemory(nil, func(o *sdk.Options) { o.HTTPClient = answer{429, ""} })
	err := putOne(t.Context(), client)
	require.Equal(t, 7*time.Second, retryAfter(err))
	out := New(client, Config{Stream: "s"}, asyncsink.Unordered).failed(err, &attempt{})
	var o asyncsink.Outcome
	require.ErrorAs(t, out, &o)
	require.Equal(t, asyncsink.Throttled, o.Kind)
	require.Equal(t, 7*time.Second, o.After)
}

// On real sockets: what was never sent is Retry, what may have arrived is Ambiguous.
func TestConnectionsThatFailBeforeSendingAreRetryAndAfterItAmbiguous(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := listener.Addr().String()
	require.NoError(t, listener.Close())
	secure := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer cut.Close()
	reset := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}))
	defer reset.Close()

	for _, tc := range []struct {
		name, url string
		kind      asyncsink.Kind
	}{
		{"refused", "http://" + refused, asyncsink.Retry},
		{"no such host", "http://nowhere.invalid", asyncsink.Retry},
		{"certificate not trusted", secure.URL, asyncsink.Retry},
		{"cut after sending", cut.URL, asyncsink.Ambiguous},
		{"reset after sending", reset.URL, asyncsink.Ambiguous},
	} {
		t.Run(tc.name, func(t *testing.T) {
			transport := httpClient()
			client := inMemory(nil, func(o *sdk.Options) { o.HTTPClient, o.BaseEndpoint = transport, &tc.url })
			v, code := classify(putOne(t.Context(), client))
			require.Equal(t, tc.kind, v.kind)
			require.Empty(t, code)
		})
	}
}

// The whole chain counts: a known code behind one that nobody knows, in joined errors.
func TestErrorsAreClassifiedOverTheirWholeChain(t *testing.T) {
	unknown := &smithy.GenericAPIError{Code: "Whatever"}
	known := &types.ProvisionedThroughputExceededException{}
	for name, err := range map[string]error{
		"wrapped":      fmt.Errorf("a layer: %w", known),
		"joined":       errors.Join(errors.New("another"), known),
		"behind":       errors.Join(unknown, fmt.Errorf("deep: %w", errors.Join(unknown, known))),
		"with a reply": &awshttp.ResponseError{ResponseError: responseError(500, known)},
	} {
		v, code := classify(err)
		require.Equal(t, asyncsink.Throttled, v.kind, name)
		require.Equal(t, "ProvisionedThroughputExceededException", code, name)
	}
	v, code := classify(&awshttp.ResponseError{ResponseError: responseError(503, unknown)})
	require.Equal(t, asyncsink.Ambiguous, v.kind)
	require.Equal(t, "Whatever", code)
	v, _ = classify(&credentialsError{&smithy.GenericAPIError{Code: "AccessDenied"}})
	require.Equal(t, asyncsink.Retry, v.kind, "another service's code, while credentials are obtained")
	v, _ = classify(errors.New("nobody knows"))
	require.Equal(t, asyncsink.Ambiguous, v.kind)
	v, _ = classify(smithy.InvalidParamsError{})
	require.Equal(t, asyncsink.Rejected, v.kind)
}

// A refusal of the stream's name is not blamed on the records, which would all go to the dead letters.
func TestAFaultyStreamNameIsFatalAndAFaultyRecordIsNot(t *testing.T) {
	for message, kind := range map[string]asyncsink.Kind{
		"1 validation error detected: Value 'a/b' at 'streamName' failed to satisfy constraint: Member must satisfy regular expression pattern": asyncsink.Fatal,
		"Either StreamName or a valid StreamARN must be provided.":                                                                              asyncsink.Fatal,
		"1 validation error detected: Value '' at 'records.3.member.partitionKey' failed to satisfy constraint: Member must have length":        asyncsink.Rejected,
		"Records size exceeds 10 MB limit": asyncsink.Rejected,
		"Record 1 of the request has 2 bytes, partition key included: more than the 1 KiB that stream s under account 0 allows.": asyncsink.Rejected,
		"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was x":                     asyncsink.Rejected,
	} {
		v, _ := classify(&types.InvalidArgumentException{Message: &message})
		require.Equal(t, kind, v.kind, message)
	}
}

func TestAnEntrysInternalFailureWasNotStored(t *testing.T) {
	for code, kind := range map[string]asyncsink.Kind{
		"ProvisionedThroughputExceededException": asyncsink.Throttled, "InternalFailure": asyncsink.Retry, "ServiceUnavailable": asyncsink.Retry,
		"Whatever": asyncsink.Retry, "KMSThrottlingException": asyncsink.Throttled, "KMSDisabledException": asyncsink.Fatal,
	} {
		require.Equal(t, kind, entryVerdict(code).kind, code)
	}
}
