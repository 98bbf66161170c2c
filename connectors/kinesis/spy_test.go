package kinesis

import (
	"context"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
)

// concurrency is an API that knows how many PutRecords calls were out at once.
type concurrency struct {
	API
	now, most atomic.Int64
}

func (c *concurrency) PutRecords(ctx context.Context, in *sdk.PutRecordsInput, o ...func(*sdk.Options)) (*sdk.PutRecordsOutput, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return c.API.PutRecords(ctx, in, o...)
}

// spy is an API that remembers what it was asked to put.
type spy struct {
	API
	mu   sync.Mutex
	puts []put
}

type put struct {
	keys  []string
	bytes int // of data and keys
}

func (s *spy) PutRecords(ctx context.Context, in *sdk.PutRecordsInput, o ...func(*sdk.Options)) (*sdk.PutRecordsOutput, error) {
	var p put
	for _, e := range in.Records {
		p.keys = append(p.keys, aws.ToString(e.PartitionKey))
		p.bytes += len(aws.ToString(e.PartitionKey)) + len(e.Data)
	}
	s.mu.Lock()
	s.puts = append(s.puts, p)
	s.mu.Unlock()
	return s.API.PutRecords(ctx, in, o...)
}

func (s *spy) inputs() []put {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puts
}

// quiet is for servers that log what a test provokes.
var quiet = log.New(io.Discard, "", 0)

func responseError(status int, err error) *smithyhttp.ResponseError {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}
}
