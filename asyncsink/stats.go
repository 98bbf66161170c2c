package asyncsink

import (
	"maps"
	"sync"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// Count is entries and their bytes on the wire.
type Count = core.Count

// Histogram counts durations; see its Quantile and Bound.
type Histogram = core.Histogram

// Stats is what a writer has done in this life and what it holds. It is a copy:
// reading it stops nobody. It is at most 256 writes, or the time to the writer's
// next wake-up, behind.
//
// Always, by entries and by bytes:
//
//	Accepted + Restored = Delivered + Dead + Unwritten + Buffered + InFlight + Spilled
type Stats struct {
	Accepted  Count // taken by Write
	Restored  Count // taken back from a snapshot
	Delivered Count
	Dead      Count // given up, and acknowledged by the dead-letter output
	Unwritten Count // given up, not yet acknowledged
	Buffered  Count // ready, behind another of their key, or waiting out a back-off
	InFlight  Count // in a request whose answer is awaited
	Spilled   Count // on disk, waiting for room in memory

	Requests           int64 // sent
	Retried            Count // entries sent again
	PossibleDuplicates Count // of them, sent again after an attempt of unknown effect
	Throttled          int64 // times that an entry was refused for load
	ThrottledRequests  int64 // requests refused for load as a whole
	Rejected           int64 // entries given up
	TimedOut           int64 // requests that passed their time-out
	LateReplies        int64 // answers that came after it: counted, not applied
	Bisected           int64 // requests that were refused as a whole and halved

	RequestsInFlight int
	Abandoned        int           // timed-out attempts that have not returned and hold a slot
	Window           int64         // entries that may be in flight now
	OldestAge        time.Duration // of what is held, since it was first accepted
	Blocked          time.Duration // that Write has waited for room, over all callers
	Latency          Histogram     // from acceptance to delivery

	SpillBytes int64 // of the files of the spill log
	Found      int64 // entries that an earlier life left, those that could not be read not included

	Connector map[string]int64 // the connector's own counters
}

// Held is what counts against the caps: what lies in memory.
func (s *Stats) Held() Count {
	return Count{
		Entries: s.Unwritten.Entries + s.Buffered.Entries + s.InFlight.Entries,
		Bytes:   s.Unwritten.Bytes + s.Buffered.Bytes + s.InFlight.Bytes,
	}
}

// published is the copy that Stats reads.
type published struct {
	mu     sync.Mutex
	stats  Stats
	oldest core.Time
	any    bool // something is held, since oldest

	connector map[string]int64
}

func (w *Writer[E]) publish() {
	c := w.core
	p := &w.published
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.stats
	l, n := &c.Ledger, &c.Counters
	s.Accepted, s.Restored, s.Delivered, s.Dead = l.Accepted, l.Restored, l.Delivered, l.Dead
	s.Unwritten, s.Buffered, s.InFlight, s.Spilled = l.Unwritten, l.Buffered, l.InFlight, l.Spilled
	s.Requests, s.Retried, s.PossibleDuplicates = n.Requests, n.Retried, n.PossibleDuplicates
	s.Throttled, s.ThrottledRequests, s.Rejected = n.Throttled, n.ThrottledRequests, n.Rejected
	s.TimedOut, s.LateReplies, s.Bisected = n.TimedOut, n.LateReplies, n.Bisected
	s.RequestsInFlight, s.Abandoned = c.Requests()
	s.Window, s.Blocked, s.Latency = c.Window(), w.blocked, c.Latency
	s.SpillBytes, s.Found = w.queue.log.Stats().Disk, w.found
	p.oldest, p.any = c.OldestBorn()
}

// Stats returns the counters and gauges. Any goroutine may call it at any time.
func (w *Writer[E]) Stats() Stats {
	p := &w.published
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	if p.any {
		s.OldestAge = max(0, w.clock.read().Sub(p.oldest))
	}
	s.Connector = maps.Clone(p.connector)
	return s
}

func (w *Writer[E]) count(name string, n int64) {
	p := &w.published
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connector == nil {
		p.connector = map[string]int64{}
	}
	p.connector[name] += n
}
