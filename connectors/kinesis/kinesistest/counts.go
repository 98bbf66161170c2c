package kinesistest

import "sync/atomic"

// Counts is what happened to the requests of one operation. Requests is each request that named the operation;
// the others tell how requests and, for writes, their records ended.
type Counts struct {
	Requests   int64 // arrived
	Refused    int64 // answered with an error by the service's own rules: limits, states, credentials, PutRecord's throughput
	Failed     int64 // answered with an error by a fault in place of an answer
	Unanswered int64 // cut, hung, truncated, or given up by the client during a delay

	Applied       int64 // records stored, answered or not
	Throttled     int64 // records refused by the throughput of their shard
	FailedEntries int64 // records answered as failed by a fault
}

type counters struct {
	requests, refused, failed, unanswered atomic.Int64
	applied, throttled, failedEntries     atomic.Int64
}

// Counts returns the counts by operation, "PutRecords" and so on; operations that nobody called have zeros. It
// is a snapshot of moving numbers: exact once the calls under test have returned. (A call that its client has
// given up over a socket may still be at work.)
func (s *Server) Counts() map[string]Counts {
	out := make(map[string]Counts, len(s.counts))
	for op, c := range s.counts {
		out[op] = Counts{
			Requests: c.requests.Load(), Refused: c.refused.Load(), Failed: c.failed.Load(), Unanswered: c.unanswered.Load(),
			Applied: c.applied.Load(), Throttled: c.throttled.Load(), FailedEntries: c.failedEntries.Load(),
		}
	}
	return out
}
