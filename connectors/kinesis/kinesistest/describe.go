package kinesistest

// wireSummary is what DescribeStream and DescribeStreamSummary have in common.
type wireSummary struct {
	StreamName              string
	StreamARN               string
	StreamStatus            string
	StreamModeDetails       struct{ StreamMode string }
	StreamCreationTimestamp epoch
	RetentionPeriodHours    int
	EnhancedMonitoring      []struct{ ShardLevelMetrics []string }
	EncryptionType          string
}

// summary describes the stream. Callers hold mu.
func (st *stream) summary(c *call) wireSummary {
	w := wireSummary{
		StreamName: st.name, StreamARN: st.arn, StreamStatus: st.status(c.now), StreamCreationTimestamp: epoch(st.made),
		RetentionPeriodHours: 24, EnhancedMonitoring: []struct{ ShardLevelMetrics []string }{{[]string{}}}, EncryptionType: "NONE",
	}
	w.StreamModeDetails.StreamMode = "PROVISIONED"
	if st.onDemand {
		w.StreamModeDetails.StreamMode = "ON_DEMAND"
	}
	return w
}

func (s *Server) describeStreamSummary(c *call) (any, error) {
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	type description struct {
		wireSummary
		OpenShardCount             int
		ConsumerCount              int
		MaxRecordSizeInKiB         int
		RecordDistributionStrategy string `json:",omitempty"`
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	d := description{wireSummary: st.summary(c), OpenShardCount: len(st.open), MaxRecordSizeInKiB: st.maxRecordKiB}
	switch {
	case st.auto:
		d.RecordDistributionStrategy = "AUTO"
	case st.onDemand:
		d.RecordDistributionStrategy = "USER_PARTITION_KEY"
	}
	if d.StreamStatus == creating {
		d.OpenShardCount = 0
	}
	return struct{ StreamDescriptionSummary description }{d}, nil
}

// describePage is the most shards that DescribeStream shows.
const describePage = 100

func (s *Server) describeStream(c *call) (any, error) {
	var v violations
	v.number(c.in.Limit, "limit", 1, 10000, false)
	v.shard(c.in.ExclusiveStartShardID, "exclusiveStartShardId", false)
	if err := v.err(); err != nil {
		return nil, err
	}
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	type description struct {
		wireSummary
		Shards        []wireShard
		HasMoreShards bool
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	d := description{wireSummary: st.summary(c), Shards: []wireShard{}}
	if d.StreamStatus != creating {
		from, err := s.indexAfter(st, c.in.ExclusiveStartShardID)
		if err != nil {
			return nil, err
		}
		limit := describePage
		if c.in.Limit != nil {
			limit = min(limit, int(*c.in.Limit))
		}
		d.HasMoreShards = len(st.shards)-from > limit
		for _, sh := range st.shards[from:min(from+limit, len(st.shards))] {
			d.Shards = append(d.Shards, sh.wire())
		}
	}
	return struct{ StreamDescription description }{d}, nil
}

// indexAfter is the index of the shard that follows id; nil is before the first. Callers hold the stream's mu.
func (s *Server) indexAfter(st *stream, id *string) (int, error) {
	if id == nil {
		return 0, nil
	}
	sh := st.find(*id)
	if sh == nil {
		return 0, s.noShard(*id, st)
	}
	return sh.index + 1, nil
}
