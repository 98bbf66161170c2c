package kinesistest

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an Amazon Kinesis in memory: an [http.Handler] for a socket, and for the AWS SDK's HTTPClient
// option an HTTP client that answers without one. Make it with [New] or [NewServer]; the zero value is not
// usable. It needs no Close: it owns no goroutine.
type Server struct {
	region, account string
	limits          limits
	shardLimit      int
	statusDelay     time.Duration
	clock           func() time.Time
	client          *http.Client
	counts          map[string]*counters // by operation; fixed after New
	requests        atomic.Uint64
	faults          faultList
	credentials     credentialSet

	mu      sync.RWMutex // guards streams; taken before a stream's own lock
	streams map[string]*stream
}

// New makes a server. It fails only for a Config that does not validate.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := &Server{
		region: c.Region, account: c.Account,
		limits:     limits{orDefault(c.RecordsPerSecond, ShardRecords), orDefault(c.BytesPerSecond, ShardBytes)},
		shardLimit: c.ShardLimit, statusDelay: c.StatusDelay, clock: c.Clock,
		counts: map[string]*counters{}, streams: map[string]*stream{},
	}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.account == "" {
		s.account = "000000000000"
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	for op := range operations {
		s.counts[op] = new(counters)
	}
	s.client = &http.Client{Transport: s.Transport()}
	s.credentials.set(c.Credentials)
	now := s.clock()
	for _, sc := range c.Streams {
		s.streams[sc.Name] = newStream(sc, false, s.region, s.account, now)
	}
	return s, nil
}

// TB is the part of [testing.TB] that NewServer needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// NewServer is [New] for a test, which it ends when the Config does not validate.
func NewServer(tb TB, c Config) *Server {
	tb.Helper()
	s, err := New(c)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return s
}

// operations are what the server can do, by the name in X-Amz-Target. A reply is a value to encode, bytes to
// send as they are, or nil for an empty answer.
var operations = map[string]func(*Server, *call) (reply any, err error){
	"CreateStream":          (*Server).createStream,
	"DeleteStream":          (*Server).deleteStream,
	"DescribeStream":        (*Server).describeStream,
	"DescribeStreamSummary": (*Server).describeStreamSummary,
	"GetRecords":            (*Server).getRecords,
	"GetShardIterator":      (*Server).getShardIterator,
	"ListShards":            (*Server).listShards,
	"ListStreams":           (*Server).listStreams,
	"MergeShards":           (*Server).mergeShards,
	"PutRecord":             (*Server).putRecord,
	"PutRecords":            (*Server).putRecords,
	"SplitShard":            (*Server).splitShard,
	"UpdateMaxRecordSize":   (*Server).updateMaxRecordSize,
	"UpdateShardCount":      (*Server).updateShardCount,
}

// ServeHTTP answers one request. Injected faults strike here: a cut or cut short answer ends in a panic with
// [http.ErrAbortHandler], the standard way to break a connection off.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.requests.Add(1)
	w.Header().Set("x-amzn-RequestId", fmt.Sprintf("%08x-0000-4000-8000-%012x", id>>48, id&(1<<48-1)))
	w.Header().Set("Content-Type", contentType)

	body := borrow()
	defer body.giveBack()
	if err := body.readFrom(w, r); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		panic(http.ErrAbortHandler) // the client is gone
	}
	op, err := operationOf(r)
	if err != nil {
		send(w, nil, err)
		return
	}
	count := s.counts[op]
	count.requests.Add(1)
	c := &call{op: op, now: s.clock(), count: count, body: body}
	err = s.authenticate(r, body.raw, c.now)
	if err == nil {
		err = c.decode()
	}
	if err != nil {
		count.refused.Add(1)
		send(w, nil, err)
		return
	}
	c.plan = s.faults.plan(op, c.in.stream(), c.entries)
	s.perform(w, r, c)
}

// perform carries a decoded request out, with the faults planned for it on either side.
func (s *Server) perform(w http.ResponseWriter, r *http.Request, c *call) {
	ctx := r.Context()
	p := &c.plan
	if p.delayBefore > 0 {
		wait(ctx, c, p.delayBefore)
		c.now = s.clock()
	}
	if p.ending != nil && !p.ending.After && p.ending.Do != TruncateReply {
		end(ctx, w, c, p.ending)
		return
	}
	reply, err := operations[c.op](s, c)
	if err != nil {
		c.count.refused.Add(1)
	}
	if p.delayAfter > 0 {
		wait(ctx, c, p.delayAfter)
	}
	switch {
	case p.ending == nil:
		send(w, reply, err)
	case p.ending.Do == TruncateReply:
		c.count.unanswered.Add(1)
		sendHalf(w, reply, err)
	default:
		end(ctx, w, c, p.ending)
	}
}
