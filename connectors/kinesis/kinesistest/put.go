package kinesistest

import "fmt"

const (
	throttledCode = "ProvisionedThroughputExceededException"
	internalCode  = "InternalFailure"
)

// putResult is the outcome of one entry. A code means that the entry is answered as failed; it may be applied
// all the same, when a fault says so.
type putResult struct {
	shard *shard
	pos   uint64
	code  string
}

// putRecords applies each entry for itself, in the order of the request.
func (s *Server) putRecords(c *call) (any, error) {
	st, err := s.writable(c)
	if err != nil {
		return nil, err
	}
	results := s.apply(st, c)
	failed := 0
	for _, r := range results {
		if r.code != "" {
			failed++
		}
	}
	results = results[:max(0, len(results)-c.plan.missing)]
	b := c.body
	b.reply = append(b.reply[:0], `{"EncryptionType":"NONE","FailedRecordCount":`...)
	b.reply = fmt.Append(b.reply, failed)
	b.reply = append(b.reply, `,"Records":[`...)
	for i, r := range results {
		if i > 0 {
			b.reply = append(b.reply, ',')
		}
		b.reply = s.appendResult(b.reply, st, r)
	}
	b.reply = append(b.reply, "]}"...)
	return b.reply, nil
}

func (s *Server) appendResult(dst []byte, st *stream, r putResult) []byte {
	if r.code != "" {
		dst = append(append(dst, `{"ErrorCode":"`...), r.code...)
		dst = append(append(dst, `","ErrorMessage":"`...), s.failure(st, r)...)
		return append(dst, `"}`...)
	}
	dst = append(dst, `{"SequenceNumber":"`...)
	dst = appendSequence(dst, r.shard.head, r.pos+1)
	dst = append(append(dst, `","ShardId":"`...), r.shard.id...)
	return append(dst, `"}`...)
}

// failure is the ErrorMessage that goes with a failed entry.
func (s *Server) failure(st *stream, r putResult) string {
	switch r.code {
	case throttledCode:
		return "Rate exceeded for shard " + r.shard.id + " in stream " + st.name + " under account " + s.account + "."
	case internalCode:
		return "Internal Service Failure"
	}
	return "Injected by kinesistest"
}

// putRecord is one entry, whose failure is the request's. Numbers grow within a shard anyway, so that
// SequenceNumberForOrdering has no effect beyond the check of its form.
func (s *Server) putRecord(c *call) (any, error) {
	st, err := s.writable(c)
	if err != nil {
		return nil, err
	}
	r := s.apply(st, c)[0]
	if r.code != "" {
		return nil, refuse(r.code, "%s", s.failure(st, r))
	}
	return struct {
		EncryptionType string
		SequenceNumber string
		ShardID        string `json:"ShardId"`
	}{"NONE", r.shard.sequence(r.pos), r.shard.id}, nil
}

// point is where the entry lies in the hash space.
func (e *entry) point() hashKey {
	if e.explicit != nil {
		k, _ := parseHashKey(string(e.explicit)) // checked by checkWrite
		return k
	}
	return hashOf(e.key)
}

// apply stores what neither a fault nor a meter refuses.
func (s *Server) apply(st *stream, c *call) []putResult {
	points := make([]hashKey, len(c.entries))
	if !st.auto {
		for i := range c.entries {
			points[i] = c.entries[i].point() // outside the lock: MD5 is the dearest part
		}
	}
	results := make([]putResult, len(c.entries))
	millis, second := c.now.UnixMilli(), c.now.Unix()
	var applied, throttled, failed int64

	st.mu.Lock()
	for i := range c.entries {
		e, r := &c.entries[i], &results[i]
		r.shard = st.place(points[i])
		fate := c.plan.fate(i)
		if fate.code != "" && !fate.applied {
			r.code = fate.code
			failed++
			continue
		}
		if !r.shard.meter.take(second, e.size(), s.limits) {
			r.code = throttledCode
			throttled++
			continue
		}
		r.pos = r.shard.log.add(e, millis, st.arrivals)
		st.arrivals++
		applied++
		if r.code = fate.code; r.code != "" {
			failed++
		}
	}
	st.mu.Unlock()

	c.count.applied.Add(applied)
	c.count.throttled.Add(throttled)
	c.count.failedEntries.Add(failed)
	return results
}

// place is the open shard of a point, or the next in turn. Callers hold mu.
func (st *stream) place(k hashKey) *shard {
	if !st.auto {
		return route(st.open, k)
	}
	turn := st.turn % len(st.open)
	st.turn++
	return st.open[turn]
}
