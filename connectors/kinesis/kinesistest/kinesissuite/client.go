package kinesissuite

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
)

// NewClient is an SDK client for an endpoint such as http://127.0.0.1:4567, as the suite likes it: no retries,
// any credentials, and a transport without the defect that [SteadyBody] mends.
func NewClient(endpoint string, change ...func(*kinesis.Options)) *kinesis.Client {
	return kinesis.New(kinesis.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: SteadyBody(&http.Transport{})}, RetryMaxAttempts: 1,
	}, change...)
}

// SteadyBody mends a race of the SDK (smithy-go 1.28.9) with net/http, seen about once in forty PutRecords on
// loopback: HTTP 200, and then "use of closed network connection" while the body of the answer is read. When
// the answer's head is there, the SDK closes the request's body; net/http, having sent it, reads once more to
// see that it ends; the SDK's body has a WriteTo that reports a closed body as io.EOF, which io.Copy takes for
// a failure; and net/http closes the connection under the answer. The records are stored and the client does
// not know. A body without WriteTo is read by Read, for which io.EOF is the end.
func SteadyBody(next http.RoundTripper) http.RoundTripper { return steady{next} }

type steady struct{ next http.RoundTripper }

func (s steady) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a RoundTripper must not change its request
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return s.next.RoundTrip(r)
}
