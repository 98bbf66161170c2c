// Package steady mends a race of the AWS SDK (smithy-go 1.28.9) with net/http,
// seen about once in forty PutRecords on loopback: HTTP 200, and then "use of
// closed network connection" while the body of the answer is read. When the
// answer's head is there, the SDK closes the request's body; net/http, having
// sent it, reads once more to see that it ends; the SDK's body has a WriteTo that
// reports a closed body as io.EOF, which io.Copy takes for a failure; and net/http
// closes the connection under the answer. The records are stored and the client
// does not know, which makes duplicates. A body without WriteTo is read by Read,
// for which io.EOF is the end.
package steady

import (
	"io"
	"net/http"
)

// Client is the HTTPClient option of an SDK client.
type Client interface {
	Do(*http.Request) (*http.Response, error)
}

// Body is next, given request bodies that have no WriteTo.
func Body(next Client) Client { return steady{next} }

type steady struct{ next Client }

func (s steady) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy: the SDK's own request keeps its body
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return s.next.Do(r)
}
