package kinesistest

import "slices"

// listPage is the most shards that ListShards shows.
const listPage = 1000

func (s *Server) listShards(c *call) (any, error) {
	in := &c.in
	var v violations
	v.number(in.MaxResults, "maxResults", 1, 10000, false)
	v.shard(in.ExclusiveStartShardID, "exclusiveStartShardId", false)
	if err := v.err(); err != nil {
		return nil, err
	}
	alone := in.StreamName == nil && in.ExclusiveStartShardID == nil && in.StreamCreationTimestamp == nil && in.ShardFilter == nil
	if in.NextToken != nil && !alone {
		return nil, refuse("InvalidArgumentException",
			"NextToken cannot be provided together with StreamName, StreamCreationTimestamp, ExclusiveStartShardId or ShardFilter.")
	}
	page := token{Kind: listKind, Shard: -1}
	if in.NextToken != nil {
		t, ok := parseToken(*in.NextToken)
		if !ok || t.Kind != listKind {
			return nil, refuse("InvalidArgumentException", "Invalid NextToken.")
		}
		if t.expired(c.now) {
			return nil, refuse("ExpiredNextTokenException", "NextToken expired: it is valid for 300 seconds.")
		}
		page = t
	}
	st, err := s.lookup(in)
	if err != nil {
		return nil, err
	}
	namesake := in.NextToken != nil && page.Made != st.made
	if at := in.StreamCreationTimestamp; namesake || (at != nil && int64(*at) != st.made/1000) {
		return nil, s.notFound(st.name)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if status := st.status(c.now); status == creating {
		return nil, s.notActive(st, status)
	}
	if in.NextToken == nil {
		after, err := s.indexAfter(st, in.ExclusiveStartShardID)
		if err != nil {
			return nil, err
		}
		page.Shard = after - 1
		if err := s.setFilter(&page, st, in.ShardFilter); err != nil {
			return nil, err
		}
	}
	limit := listPage
	if in.MaxResults != nil {
		limit = min(limit, int(*in.MaxResults))
	}
	return listPageOf(st, page, limit, c), nil
}

type shardList struct {
	Shards    []wireShard
	NextToken string `json:",omitempty"`
}

func listPageOf(st *stream, page token, limit int, c *call) shardList {
	out := shardList{Shards: []wireShard{}}
	for _, sh := range st.shards[min(page.Shard+1, len(st.shards)):] {
		if !page.shows(sh) {
			continue
		}
		if len(out.Shards) == limit {
			page.Issued, page.Stream, page.Made = c.now.UnixMilli(), st.name, st.made
			out.NextToken = page.String()
			break
		}
		out.Shards = append(out.Shards, sh.wire())
		page.Shard = sh.index
	}
	return out
}

var filters = []string{"AFTER_SHARD_ID", "AT_TRIM_HORIZON", "FROM_TRIM_HORIZON", "AT_LATEST", "AT_TIMESTAMP", "FROM_TIMESTAMP"}

// setFilter puts a filter into the token, so that the pages that follow show the same shards. Callers hold the
// stream's mu.
func (s *Server) setFilter(t *token, st *stream, f *shardFilter) error {
	if f == nil {
		return nil
	}
	var v violations
	v.oneOf(f.Type, "shardFilter.type", true, filters...)
	if err := v.err(); err != nil {
		return err
	}
	t.Filter = *f.Type
	needsShard, needsTime := t.Filter == "AFTER_SHARD_ID", t.Filter == "AT_TIMESTAMP" || t.Filter == "FROM_TIMESTAMP"
	if needsShard != (f.ShardID != nil) || needsTime != (f.Timestamp != nil) {
		return refuse("InvalidArgumentException", "ShardFilter %s does not go with the properties given: ShardId belongs to AFTER_SHARD_ID, "+
			"Timestamp to AT_TIMESTAMP and FROM_TIMESTAMP.", t.Filter)
	}
	switch {
	case needsShard:
		after, err := s.indexAfter(st, f.ShardID)
		if err != nil {
			return err
		}
		t.Shard = max(t.Shard, after-1)
	case needsTime:
		t.FilterTime = millisOf(*f.Timestamp)
	}
	return nil
}

// shows reports whether the filter lets a shard through. Nothing is ever trimmed, so the trim horizon is the
// stream's creation.
func (t *token) shows(sh *shard) bool {
	switch t.Filter {
	case "AT_TRIM_HORIZON":
		return len(sh.parents) == 0
	case "AT_LATEST":
		return sh.isOpen()
	case "AT_TIMESTAMP":
		return sh.made <= t.FilterTime && (sh.isOpen() || sh.closed >= t.FilterTime)
	case "FROM_TIMESTAMP":
		return sh.isOpen() || sh.closed >= t.FilterTime
	}
	return slices.Contains(filters, t.Filter) || t.Filter == ""
}
