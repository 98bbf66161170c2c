package kinesistest

import (
	"cmp"
	"slices"
	"time"
)

// split closes sh and opens two shards that share its range at first, the first key of the upper one. Callers
// hold mu.
func (st *stream) split(sh *shard, first hashKey, now time.Time) {
	ms := now.UnixMilli()
	lower := newShard(len(st.shards), sh.start, first.prev(), ms, sh)
	upper := newShard(len(st.shards)+1, first, sh.end, ms, sh)
	st.shards = append(st.shards, lower, upper)
	st.reopen(lower, upper)
}

// merge closes two adjacent shards and opens one over both ranges. Callers hold mu.
func (st *stream) merge(sh, adjacent *shard, now time.Time) {
	start, end := sh.start, adjacent.end
	if adjacent.start.less(sh.start) {
		start, end = adjacent.start, sh.end
	}
	child := newShard(len(st.shards), start, end, now.UnixMilli(), sh, adjacent)
	st.shards = append(st.shards, child)
	st.reopen(child)
}

// reopen brings the list of open shards up to date after newcomers have closed their parents.
func (st *stream) reopen(newcomers ...*shard) {
	open := slices.DeleteFunc(slices.Clone(st.open), func(s *shard) bool { return !s.isOpen() })
	st.open = append(open, newcomers...)
	slices.SortFunc(st.open, func(a, b *shard) int {
		return cmp.Or(cmp.Compare(a.start.hi, b.start.hi), cmp.Compare(a.start.lo, b.start.lo))
	})
}

// scaleTo makes n equal shards by splits at the borders that are missing and merges over those that are too
// many, as the service does; shards that do not fit the new borders live only within this call. Callers hold
// mu.
func (st *stream) scaleTo(n int, now time.Time) {
	wanted := map[hashKey]bool{}
	for _, first := range uniformStarts(n) {
		sh := route(st.open, first)
		switch {
		case first.near(sh.start, n):
			wanted[sh.start] = true
		case sh.end.near(first, n) && sh.end != maxHashKey:
			wanted[sh.end.next()] = true
		default:
			st.split(sh, first, now)
			wanted[first] = true
		}
	}
	for i := 1; i < len(st.open); {
		if wanted[st.open[i].start] {
			i++
			continue
		}
		st.merge(st.open[i-1], st.open[i], now)
	}
}

// reshard runs one change of shards. Plan looks at the stream and says how many shards more it will have and
// how to make them. Control calls exclude each other by the server's lock, since the account's shard limit
// looks at all streams: nothing moves between plan and apply.
func (s *Server) reshard(c *call, plan func(*stream) (more int, apply func(), err error)) (*stream, error) {
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	if st.onDemand {
		return nil, refuse("ValidationException", "Request is invalid. Stream %s under account %s is in On-Demand mode.", st.name, s.account)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	more, apply, err := s.planned(st, c, plan)
	if err != nil {
		return nil, err
	}
	if err := s.roomFor(more); err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	apply()
	st.unsettle(updating, c.now, s.statusDelay)
	return st, nil
}

func (s *Server) planned(st *stream, c *call, plan func(*stream) (int, func(), error)) (int, func(), error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if status := st.status(c.now); status != active {
		return 0, nil, s.notActive(st, status)
	}
	return plan(st)
}

// openShard is a shard that may be split or merged. Callers hold the stream's mu.
func (s *Server) openShard(st *stream, id string) (*shard, error) {
	sh := st.find(id)
	if sh == nil {
		return nil, s.noShard(id, st)
	}
	if !sh.isOpen() {
		return nil, refuse("InvalidArgumentException", "Shard %s in stream %s under account %s has already been merged or split, "+
			"and thus is not eligible for merging or splitting.", sh.id, st.name, s.account)
	}
	return sh, nil
}

func (s *Server) splitShard(c *call) (any, error) {
	in := &c.in
	var v violations
	v.shard(in.ShardToSplit, "shardToSplit", true)
	v.text(in.NewStartingHashKey, "newStartingHashKey", 39, hashKeyRegexp, true)
	if err := v.err(); err != nil {
		return nil, err
	}
	_, err := s.reshard(c, func(st *stream) (int, func(), error) {
		sh, err := s.openShard(st, *in.ShardToSplit)
		if err != nil {
			return 0, nil, err
		}
		first, ok := parseHashKey(*in.NewStartingHashKey)
		if !ok || !sh.start.next().less(first) || !first.less(sh.end) {
			return 0, nil, refuse("InvalidArgumentException", "NewStartingHashKey %s used in SplitShard() on shard %s "+
				"in stream %s under account %s is not both greater than one plus the shard's StartingHashKey %s and less than the shard's EndingHashKey %s.",
				*in.NewStartingHashKey, sh.id, st.name, s.account, sh.start, sh.end)
		}
		return 1, func() { st.split(sh, first, c.now) }, nil
	})
	return nil, err
}

// precedes reports whether o's range follows at once. The space does not wrap round: the last shard precedes none.
func (s *shard) precedes(o *shard) bool { return s.end != maxHashKey && s.end.next() == o.start }

func (s *Server) mergeShards(c *call) (any, error) {
	in := &c.in
	var v violations
	v.shard(in.ShardToMerge, "shardToMerge", true)
	v.shard(in.AdjacentShardToMerge, "adjacentShardToMerge", true)
	if err := v.err(); err != nil {
		return nil, err
	}
	_, err := s.reshard(c, func(st *stream) (int, func(), error) {
		a, err := s.openShard(st, *in.ShardToMerge)
		if err != nil {
			return 0, nil, err
		}
		b, err := s.openShard(st, *in.AdjacentShardToMerge)
		if err != nil {
			return 0, nil, err
		}
		if !a.precedes(b) && !b.precedes(a) {
			return 0, nil, refuse("InvalidArgumentException", "Shards %s and %s in stream %s under account %s are not an adjacent pair of shards "+
				"eligible for merging", a.id, b.id, st.name, s.account)
		}
		return -1, func() { st.merge(a, b, c.now) }, nil
	})
	return nil, err
}

func (s *Server) updateShardCount(c *call) (any, error) {
	in := &c.in
	var v violations
	v.number(in.TargetShardCount, "targetShardCount", 1, maxShards, true)
	v.oneOf(in.ScalingType, "scalingType", true, "UNIFORM_SCALING")
	if err := v.err(); err != nil {
		return nil, err
	}
	target := int(*in.TargetShardCount)
	current := 0
	st, err := s.reshard(c, func(st *stream) (int, func(), error) {
		current = len(st.open)
		limit := ""
		switch {
		case target > 2*current:
			limit = "up over double"
		case 2*target < current:
			limit = "down below half"
		}
		if limit != "" {
			return 0, nil, refuse("LimitExceededException", "UpdateShardCount cannot scale %s your current open shard count. "+
				"Current open shard count: %d Target shard count: %d", limit, current, target)
		}
		return target - current, func() { st.scaleTo(target, c.now) }, nil
	})
	if err != nil {
		return nil, err
	}
	return struct {
		StreamName, StreamARN               string
		CurrentShardCount, TargetShardCount int
	}{st.name, st.arn, current, target}, nil
}
