package steady

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// race is the order of events that net/http meets now and then: the body is sent,
// the SDK closes it, net/http looks for more.
type race struct{ sawMore error }

func (r *race) Do(req *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, req.Body, req.ContentLength); err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	_, r.sawMore = io.Copy(io.Discard, req.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"FailedRecordCount":0,"Records":[]}`)),
	}, nil
}

func put(t *testing.T, c Client) {
	client := kinesis.New(kinesis.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), HTTPClient: c,
	})
	_, err := client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
		StreamName: aws.String("s"), Records: []types.PutRecordsRequestEntry{{PartitionKey: aws.String("k"), Data: []byte("v")}},
	})
	require.NoError(t, err)
}

func TestABodyThatWasClosedEndsWithoutAnError(t *testing.T) {
	var r race
	put(t, Body(&r))
	require.NoError(t, r.sawMore)
}

// When this fails the SDK has mended its body, and this package can go.
func TestTheSDKStillNeedsIt(t *testing.T) {
	var r race
	put(t, &r)
	require.Error(t, r.sawMore)
}
