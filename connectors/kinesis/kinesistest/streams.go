package kinesistest

import "slices"

// maxCreating is how many streams of an account may be CREATING at once.
const maxCreating = 5

func (s *Server) createStream(c *call) (any, error) {
	in := &c.in
	mode := "PROVISIONED"
	var v violations
	v.name(in.StreamName, true)
	if d := in.StreamModeDetails; d != nil {
		v.oneOf(d.StreamMode, "streamModeDetails.streamMode", true, "PROVISIONED", "ON_DEMAND")
		if d.StreamMode != nil {
			mode = *d.StreamMode
		}
	}
	v.oneOf(in.RecordDistributionStrategy, "recordDistributionStrategy", false, "AUTO", "USER_PARTITION_KEY")
	v.number(in.ShardCount, "shardCount", 1, maxShards, mode == "PROVISIONED")
	v.number(in.MaxRecordSizeInKiB, "maxRecordSizeInKiB", DefaultMaxRecordKiB, LargestMaxRecordKiB, false)
	if err := v.err(); err != nil {
		return nil, err
	}
	auto := in.RecordDistributionStrategy != nil && *in.RecordDistributionStrategy == "AUTO"
	if auto && mode != "ON_DEMAND" {
		return nil, refuse("InvalidArgumentException", "RecordDistributionStrategy AUTO is only supported for streams in ON_DEMAND mode.")
	}
	sc := StreamConfig{Name: *in.StreamName, Shards: 4, Auto: auto} // 4 is what an on-demand stream starts with
	if in.ShardCount != nil {
		sc.Shards = int(*in.ShardCount)
	}
	if in.MaxRecordSizeInKiB != nil {
		sc.MaxRecordKiB = int(*in.MaxRecordSizeInKiB)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[sc.Name] != nil {
		return nil, refuse("ResourceInUseException", "Stream %s under account %s already exists.", sc.Name, s.account)
	}
	if n := s.countCreating(c); n >= maxCreating {
		return nil, refuse("LimitExceededException", "Account %s has %d streams in the CREATING state, the most that are allowed.", s.account, n)
	}
	if err := s.roomFor(sc.Shards); err != nil {
		return nil, err
	}
	st := newStream(sc, mode == "ON_DEMAND", s.region, s.account, c.now)
	st.unsettle(creating, c.now, s.statusDelay)
	s.streams[sc.Name] = st
	return nil, nil
}

// countCreating and roomFor look at all streams. Callers hold the server's lock.
func (s *Server) countCreating(c *call) (n int) {
	for _, st := range s.streams {
		st.mu.Lock()
		if st.status(c.now) == creating {
			n++
		}
		st.mu.Unlock()
	}
	return n
}

func (s *Server) roomFor(more int) error {
	if s.shardLimit == 0 || more <= 0 {
		return nil
	}
	have := 0
	for _, st := range s.streams {
		st.mu.Lock()
		have += len(st.open)
		st.mu.Unlock()
	}
	if have+more > s.shardLimit {
		return refuse("LimitExceededException", "This request would exceed the shard limit for the account %s in %s. "+
			"Current shard count for the account: %d. Limit: %d. Number of additional shards that would have resulted from this request: %d. "+
			"Refer to the AWS Service Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) "+
			"for current limits and how to request higher limits.", s.account, s.region, have, s.shardLimit, more)
	}
	return nil
}

// deleteStream forgets the stream at once: nobody sees it DELETING.
func (s *Server) deleteStream(c *call) (any, error) {
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[st.name] == st { // and not a namesake, made meanwhile
		delete(s.streams, st.name)
	}
	return nil, nil
}

func (s *Server) updateMaxRecordSize(c *call) (any, error) {
	var v violations
	v.number(c.in.MaxRecordSizeInKiB, "maxRecordSizeInKiB", DefaultMaxRecordKiB, LargestMaxRecordKiB, true)
	if err := v.err(); err != nil {
		return nil, err
	}
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if status := st.status(c.now); status != active {
		return nil, s.notActive(st, status)
	}
	st.maxRecordKiB = int(*c.in.MaxRecordSizeInKiB)
	st.unsettle(updating, c.now, s.statusDelay)
	return nil, nil
}

func (s *Server) listStreams(c *call) (any, error) {
	var v violations
	v.number(c.in.Limit, "limit", 1, 10000, false)
	if err := v.err(); err != nil {
		return nil, err
	}
	after := ""
	if n := c.in.ExclusiveStartStreamName; n != nil {
		after = *n
	}
	names := []string{}
	s.mu.RLock()
	for name := range s.streams {
		if name > after {
			names = append(names, name)
		}
	}
	s.mu.RUnlock()
	slices.Sort(names)
	limit := 100
	if c.in.Limit != nil {
		limit = int(*c.in.Limit)
	}
	more := len(names) > limit
	return map[string]any{"StreamNames": names[:min(limit, len(names))], "HasMoreStreams": more}, nil
}
