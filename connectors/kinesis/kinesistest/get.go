package kinesistest

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

const (
	maxGetRecords = 10000
	maxGetBytes   = 10 << 20
)

// getShardIterator hands out a position in a shard's log, and nothing that would have to be kept.
func (s *Server) getShardIterator(c *call) (any, error) {
	in := &c.in
	var v violations
	v.shard(in.ShardID, "shardId", true)
	v.oneOf(in.ShardIteratorType, "shardIteratorType", true,
		"AFTER_SEQUENCE_NUMBER", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "TRIM_HORIZON")
	v.sequence(in.StartingSequenceNumber, "startingSequenceNumber")
	if err := v.err(); err != nil {
		return nil, err
	}
	st, err := s.lookup(in)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	sh := st.find(*in.ShardID)
	if sh == nil || st.status(c.now) == creating {
		return nil, refuse("ResourceNotFoundException", "Shard %s in stream %s under account %s does not exist", *in.ShardID, st.name, s.account)
	}
	at, err := s.startOf(in, st, sh, c.now)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		return nil, dryRun()
	}
	it := token{Kind: iteratorKind, Issued: c.now.UnixMilli(), Stream: st.name, Made: st.made, Shard: sh.index, At: at}
	return struct{ ShardIterator string }{it.String()}, nil
}

// startOf is the position at which an iterator starts. Callers hold the stream's mu.
func (s *Server) startOf(in *input, st *stream, sh *shard, now time.Time) (uint64, error) {
	kind, number := *in.ShardIteratorType, in.StartingSequenceNumber
	bySequence := kind == "AT_SEQUENCE_NUMBER" || kind == "AFTER_SEQUENCE_NUMBER"
	if bySequence != (number != nil) {
		given := "no"
		if number != nil {
			given = "also a"
		}
		return 0, refuse("InvalidArgumentException", "Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER "+
			"and StartingSequenceNumber or (2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. "+
			"Request specified %s and %s StartingSequenceNumber.", kind, given)
	}
	switch kind {
	case "TRIM_HORIZON":
		return 0, nil
	case "LATEST":
		return sh.log.count, nil
	case "AT_TIMESTAMP":
		return timestampStart(in.Timestamp, sh, now)
	}
	n, ok := parseSequence(*number, sh.head)
	if !ok || (n > sh.log.count && (n != lastPosition || sh.isOpen())) {
		return 0, refuse("InvalidArgumentException", "StartingSequenceNumber %s used in GetShardIterator on shard %s "+
			"in stream %s under account %s is invalid.", *number, sh.id, st.name, s.account)
	}
	n = min(n, sh.log.count) // the end of a closed shard
	if kind == "AT_SEQUENCE_NUMBER" && n > 0 {
		n-- // number n is the record at position n-1; 0 is the shard's own start
	}
	return n, nil
}

func timestampStart(seconds *float64, sh *shard, now time.Time) (uint64, error) {
	if seconds == nil {
		return 0, refuse("InvalidArgumentException",
			"Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. Current request has no timestamp parameter.")
	}
	ms := millisOf(*seconds)
	if ms > now.UnixMilli() {
		return 0, refuse("InvalidArgumentException", "The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. "+
			"timestampInMillis: %d, currentTimestampInMillis: %d", ms, now.UnixMilli())
	}
	return sh.log.since(ms), nil
}

// getRecords reads from an iterator: up to Limit records and 10 MiB, at least one if there is one. At the end
// of a closed shard there is no next iterator but the shard's children.
func (s *Server) getRecords(c *call) (any, error) {
	in := &c.in
	var v violations
	v.text(in.ShardIterator, "shardIterator", 512, nil, true)
	if in.Limit != nil && *in.Limit < 1 {
		v.number(in.Limit, "limit", 1, maxGetRecords, false)
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	limit := maxGetRecords
	if in.Limit != nil {
		if limit = int(*in.Limit); limit > maxGetRecords {
			return nil, refuse("InvalidArgumentException", "Limit %d is larger than %d, the most that GetRecords returns.", limit, maxGetRecords)
		}
	}
	it, ok := parseToken(*in.ShardIterator)
	if !ok || it.Kind != iteratorKind {
		return nil, refuse("InvalidArgumentException", "Invalid ShardIterator.")
	}
	if it.expired(c.now) {
		return nil, refuse("ExpiredIteratorException", "Iterator expired. The iterator was created at time %s while right now it is %s "+
			"which is further in the future than the tolerated delay of %d milliseconds.",
			millisTime(it.Issued).Format(time.UnixDate), c.now.UTC().Format(time.UnixDate), tokenLife.Milliseconds())
	}
	st, sh, err := s.shardOf(it)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		return nil, dryRun()
	}
	st.mu.Lock()
	view, children := sh.log.view(), sh.wireChildren()
	st.mu.Unlock()
	it.Issued = c.now.UnixMilli()
	return appendRecords(c, it, sh, &view, limit, children), nil
}

func (s *Server) shardOf(it token) (*stream, *shard, error) {
	s.mu.RLock()
	st := s.streams[it.Stream]
	s.mu.RUnlock()
	gone := refuse("ResourceNotFoundException", "Shard %s in stream %s under account %s does not exist",
		shardID(it.Shard), it.Stream, s.account)
	if st == nil || st.made != it.Made {
		return nil, nil, gone
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if it.Shard < 0 || it.Shard >= len(st.shards) || it.At > st.shards[it.Shard].log.count {
		return nil, nil, gone
	}
	return st, st.shards[it.Shard], nil
}

// appendRecords writes the answer of GetRecords into the lent memory. Only a closed shard has children.
func appendRecords(c *call, it token, sh *shard, l *log, limit int, children []wireChild) []byte {
	dst := append(c.body.reply[:0], `{"Records":[`...)
	start, at, last, size := it.At, it.At, int64(0), 0
	for ; at < l.count && at-start < uint64(limit); at++ {
		m, e := l.at(at)
		if size += e.size(); size > maxGetBytes && at > start {
			break
		}
		if at > start {
			dst = append(dst, ',')
		}
		last = m.millis
		dst = appendRecord(dst, sh, at, m, e)
	}
	behind := int64(0)
	if at < l.count {
		behind = max(0, c.now.UnixMilli()-last)
	}
	dst = append(dst, `],"MillisBehindLatest":`...)
	dst = strconv.AppendInt(dst, behind, 10)
	if len(children) > 0 && at == l.count {
		dst = append(dst, `,"ChildShards":`...)
		names, _ := json.Marshal(children) // strings always encode
		dst = append(dst, names...)
	} else {
		dst = append(dst, `,"NextShardIterator":"`...)
		it.At = at
		dst = append(append(dst, it.String()...), '"')
	}
	c.body.reply = append(dst, '}')
	return c.body.reply
}

func appendRecord(dst []byte, sh *shard, pos uint64, m entryMeta, e entry) []byte {
	dst = append(dst, `{"SequenceNumber":"`...)
	dst = appendSequence(dst, sh.head, pos+1)
	dst = append(dst, `","ApproximateArrivalTimestamp":`...)
	dst = appendEpoch(dst, m.millis)
	dst = append(dst, `,"EncryptionType":"NONE","Data":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, e.data)
	dst = append(dst, '"')
	if len(e.key) > 0 {
		dst = append(dst, `,"PartitionKey":`...)
		dst = appendString(dst, e.key)
	}
	return append(dst, '}')
}
