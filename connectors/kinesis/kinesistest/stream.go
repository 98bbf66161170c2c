package kinesistest

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stream is one stream. Name, ARN, creation time and mode never change; mu guards the rest.
type stream struct {
	name, arn string
	made      int64 // Unix milliseconds
	onDemand  bool
	auto      bool

	mu           sync.Mutex
	shards       []*shard // by index, closed ones included
	open         []*shard // by first hash key
	arrivals     uint64   // records taken so far
	turn         int      // of the AUTO distribution
	maxRecordKiB int
	settledAt    time.Time
	unsettled    string // status until settledAt
}

const (
	active   = "ACTIVE"
	creating = "CREATING"
	updating = "UPDATING"
)

func newStream(c StreamConfig, onDemand bool, region, account string, now time.Time) *stream {
	st := &stream{
		name: c.Name, arn: "arn:aws:kinesis:" + region + ":" + account + ":stream/" + c.Name, made: now.UnixMilli(),
		onDemand: onDemand || c.Auto, auto: c.Auto, maxRecordKiB: orDefault(c.MaxRecordKiB, DefaultMaxRecordKiB),
	}
	starts := createStarts(max(c.Shards, 1))
	for i, start := range starts {
		end := maxHashKey
		if i+1 < len(starts) {
			end = starts[i+1].prev()
		}
		st.shards = append(st.shards, newShard(i, start, end, st.made))
	}
	st.open = slices.Clone(st.shards)
	return st
}

// status is what a description shows. The clock alone moves it on: no timer, no goroutine. Callers hold mu.
func (st *stream) status(now time.Time) string {
	if now.Before(st.settledAt) {
		return st.unsettled
	}
	return active
}

// unsettle starts a transition. Callers hold mu.
func (st *stream) unsettle(status string, now time.Time, delay time.Duration) {
	st.unsettled, st.settledAt = status, now.Add(delay)
}

// find is the shard of an id, or nil. A bare number will do, as in the service. Callers hold mu.
func (st *stream) find(id string) *shard {
	digits := strings.TrimPrefix(id, "shardId-")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n >= uint64(len(st.shards)) {
		return nil
	}
	return st.shards[n]
}

// nameOfARN is the stream's name in an ARN, or "".
func nameOfARN(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 {
		return ""
	}
	name, ok := strings.CutPrefix(parts[5], "stream/")
	if !ok {
		return ""
	}
	return name
}

// notFound and notActive are the service's words.
func (s *Server) notFound(name string) *apiError {
	return refuse("ResourceNotFoundException", "Stream %s under account %s not found.", name, s.account)
}

func (s *Server) notActive(st *stream, status string) *apiError {
	return refuse("ResourceInUseException", "Stream %s under account %s not ACTIVE, instead in state %s",
		st.name, s.account, status)
}

func (s *Server) noShard(id string, st *stream) *apiError {
	return refuse("ResourceNotFoundException", "Could not find shard %s in stream %s under account %s.", id, st.name, s.account)
}

// lookup finds the stream that a request names, by name, by ARN or by both.
func (s *Server) lookup(in *input) (*stream, error) {
	var v violations
	v.name(in.StreamName, false)
	if err := v.err(); err != nil {
		return nil, err
	}
	name := in.stream()
	if name == "" {
		return nil, refuse("InvalidArgumentException", "Either StreamName or a valid StreamARN must be provided.")
	}
	s.mu.RLock()
	st := s.streams[name]
	s.mu.RUnlock()
	if st == nil || (in.StreamARN != nil && *in.StreamARN != st.arn) {
		return nil, s.notFound(name)
	}
	return st, nil
}

// stream is the name that the request gives, directly or in an ARN or token; "" when it gives none.
func (in *input) stream() string {
	switch {
	case in.StreamName != nil:
		return *in.StreamName
	case in.StreamARN != nil:
		return nameOfARN(*in.StreamARN)
	case in.ShardIterator != nil:
		it, _ := parseToken(*in.ShardIterator)
		return it.Stream
	case in.NextToken != nil:
		t, _ := parseToken(*in.NextToken)
		return t.Stream
	}
	return ""
}
