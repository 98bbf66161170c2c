package kinesistest

import (
	"fmt"
	"time"
)

// shard is one shard of a stream: a range of hash keys, a log of records, a meter. The stream's lock guards it.
type shard struct {
	index      int
	id         string
	start, end hashKey // inclusive
	parents    []*shard
	children   []*shard
	made       int64  // Unix milliseconds
	closed     int64  // Unix milliseconds, once it has children
	head       string // of its sequence numbers
	log        log
	meter      meter
}

func shardID(index int) string { return fmt.Sprintf("shardId-%012d", index) }

func newShard(index int, start, end hashKey, madeMillis int64, parents ...*shard) *shard {
	for _, p := range parents {
		madeMillis = max(madeMillis, p.made) // the clock may go back; a child's numbers start above its parents'
	}
	s := &shard{
		index: index, id: shardID(index), start: start, end: end, parents: parents, made: madeMillis,
		head: sequenceHeadOf(madeMillis, index),
	}
	for _, p := range parents {
		p.children = append(p.children, s)
		p.closed = madeMillis
	}
	return s
}

func (s *shard) isOpen() bool { return len(s.children) == 0 }

// sequence is the number of the record at a position of the log: the first record has number 1, the shard
// itself starts at 0.
func (s *shard) sequence(pos uint64) string { return string(appendSequence(nil, s.head, pos+1)) }

// wire is the shard as ListShards and DescribeStream show it.
func (s *shard) wire() wireShard {
	w := wireShard{
		ShardID:             s.id,
		HashKeyRange:        wireRange{s.start.String(), s.end.String()},
		SequenceNumberRange: wireSequences{Starting: string(appendSequence(nil, s.head, 0))},
	}
	if len(s.parents) > 0 {
		w.Parent = s.parents[0].id
	}
	if len(s.parents) > 1 {
		w.Adjacent = s.parents[1].id
	}
	if !s.isOpen() {
		w.SequenceNumberRange.Ending = string(appendSequence(nil, s.head, lastPosition))
	}
	return w
}

// wireChildren are the children of a closed shard as GetRecords shows them at its end.
func (s *shard) wireChildren() []wireChild {
	var out []wireChild
	for _, c := range s.children {
		w := wireChild{ShardID: c.id, HashKeyRange: wireRange{c.start.String(), c.end.String()}}
		for _, p := range c.parents {
			w.Parents = append(w.Parents, p.id)
		}
		out = append(out, w)
	}
	return out
}

func millisTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
