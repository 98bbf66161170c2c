package kinesistest

import (
	"iter"
	"time"
)

// Record is a stored record.
type Record struct {
	ShardID         string
	SequenceNumber  string
	PartitionKey    string // "" when it was not given, which AUTO streams allow
	ExplicitHashKey string // "" when it was not given
	Data            []byte // the server's own bytes: read only
	Arrived         time.Time
	// Arrival is the record's place in the arrival order of its stream, over all shards, from 0 and without gaps.
	Arrival uint64
}

// All yields the records of a stream, shard by shard in the order of their ids, and within a shard in order of
// arrival. Since the children of a split or merge have higher ids than the parents, the records of one key come
// in order of arrival too. It sees what had arrived when the iteration began, holds no lock while it yields,
// and copies no data. A stream that does not exist has no records.
func (s *Server) All(stream string) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		s.mu.RLock()
		st := s.streams[stream]
		s.mu.RUnlock()
		if st == nil {
			return
		}
		type part struct {
			*shard
			log log
		}
		st.mu.Lock()
		parts := make([]part, len(st.shards))
		for i, sh := range st.shards {
			parts[i] = part{sh, sh.log.view()}
		}
		st.mu.Unlock()
		for _, p := range parts {
			for _, b := range p.log.blocks {
				for i := range b.recs {
					m, e := b.at(i)
					if !yield(p.record(b.first+uint64(i), m, e)) {
						return
					}
				}
			}
		}
	}
}

// Records is All, gathered.
func (s *Server) Records(stream string) []Record {
	var out []Record
	for r := range s.All(stream) {
		out = append(out, r)
	}
	return out
}

func (sh *shard) record(pos uint64, m entryMeta, e entry) Record {
	return Record{
		ShardID: sh.id, SequenceNumber: sh.sequence(pos),
		PartitionKey: string(e.key), ExplicitHashKey: string(e.explicit), Data: e.data,
		Arrived: millisTime(m.millis), Arrival: m.arrival,
	}
}
