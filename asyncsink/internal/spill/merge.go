package spill

import (
	"context"
	"slices"

	"github.com/spillway-go/spillway/statecodec"
)

const (
	fanIn   = 8 // segments that one merge makes one of
	bigPart = 8 // a segment of an eighth of Config.Segment is left as it is
)

// Merge makes one segment of several small ones that follow each other. The owner plans it and ends it; what lies between
// runs beside the owner.
type Merge struct {
	in      *folder
	section statecodec.Section
	from    []*Segment
	places  [][]place // of from, which the owner may hand out meanwhile
	space   int64     // bytes
	level   int
	out     *Segment // nil: not created
	broken  *Segment // one of from that can't be read
	done    bool
}

// PlanMerge looks for segments that should be one; nil: there are none, or no space for a copy, or the merge before has
// not been ended. Each one that it returns must go to EndMerge, also after Close and without Run.
func (l *Log) PlanMerge() *Merge {
	if l.in == nil || l.closed || l.merging {
		return nil
	}
	from := l.suspects()
	if from == nil {
		from = l.small()
	}
	if from == nil {
		return nil
	}
	m := &Merge{in: l.in, section: l.section, from: slices.Clone(from), space: l.in.overhead}
	for _, s := range from {
		m.space += s.space - l.in.overhead
		m.level = max(m.level, s.level)
		m.places = append(m.places, s.places)
	}
	if len(from) > 1 {
		m.level++
	}
	if !l.in.reserve(m.space) {
		return nil
	}
	for _, s := range from {
		s.Pin()
	}
	l.merging = true
	return m
}

// From are the segments that become one.
func (m *Merge) From() []*Segment { return m.from }

// Into is what they become; nil before Run has begun.
func (m *Merge) Into() *Segment { return m.out }

// suspects are segments of which a sync failed: one is copied by itself.
func (l *Log) suspects() []*Segment {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	for i, s := range l.segments {
		if s.doubt != nil && l.mergeable(s) {
			return l.segments[i : i+1]
		}
	}
	return nil
}

func (l *Log) mergeable(s *Segment) bool { return s != l.current && s.fed == 0 && !s.broken }

// small are segments that should be one.
func (l *Log) small() []*Segment {
	run := l.segments[l.at:l.at]
	for i, s := range l.segments[l.at:] {
		if l.mergeable(s) && s.space < l.segment/bigPart {
			run = l.segments[l.at+i-len(run) : l.at+i+1]
			if same := run[max(0, len(run)-fanIn):]; len(same) == fanIn && level(same) {
				return same
			}
			continue
		}
		if s != l.current && len(run) > 1 { // no other will follow these
			return upTo(run, l.segment)
		}
		run = nil
	}
	return nil
}

// level says whether all of run have been through as many merges.
func level(run []*Segment) bool {
	return !slices.ContainsFunc(run, func(s *Segment) bool { return s.level != run[0].level })
}

// upTo returns the first of run that have limit bytes together.
func upTo(run []*Segment, limit int64) []*Segment {
	for i, s := range run {
		if limit -= s.space; limit < 0 {
			return run[:i]
		}
	}
	return run
}

// Run writes the new segment. It holds one block at a time. After an error the segments stay as they are: a *[DiskError],
// a *[DamagedError] (that segment takes part in no other merge), or ctx has ended.
func (m *Merge) Run(ctx context.Context) error {
	out, err := m.in.create()
	if err != nil {
		return err
	}
	m.out, out.space, out.level = out, m.space, m.level
	var r statecodec.BlockReader
	for i, s := range m.from {
		if err := m.copy(ctx, &r, s, m.places[i]); err != nil {
			return err
		}
	}
	out.end()
	if err := out.Seal(); err != nil {
		return err
	}
	m.done = true
	return nil
}

// copy appends the blocks of s.
func (m *Merge) copy(ctx context.Context, r *statecodec.BlockReader, s *Segment, places []place) error {
	f, err := m.in.fs.Open(s.path)
	if err != nil {
		m.broken = s
		return diskError("open", s.path, err)
	}
	defer f.Close()
	out := m.out
	for _, p := range places {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.load(r, f, p, m.section); err != nil {
			m.broken = s
			return err
		}
		if err := out.writeRest(); err != nil {
			return err
		}
		p.at = out.written
		if _, err := out.write(r.Raw()); err != nil {
			return err
		}
		out.join(p)
		out.frame.Add(r.Raw())
	}
	return nil
}

// EndMerge puts the new segment in the place of the old ones, which are freed; false: Run has not done its work, or one of
// them has begun to be fed, so that its entries are somebody's already, and they stay.
func (l *Log) EndMerge(m *Merge) bool {
	l.merging = false
	at := slices.Index(l.segments, m.from[0])
	unfed := !slices.ContainsFunc(m.from, func(s *Segment) bool { return s.fed > 0 })
	swap := m.done && unfed && at >= 0 // below 0: closed
	switch {
	case swap:
		l.segments = slices.Replace(l.segments, at, at+len(m.from), m.out)
		for _, s := range m.from {
			l.in.free(s)
		}
		l.in.mu.Lock()
		l.in.copied += m.out.written
		l.in.mu.Unlock()
	case m.out != nil:
		l.in.free(m.out)
	default:
		l.in.release(m.space)
	}
	if m.broken != nil {
		m.broken.broken = true
	}
	for _, s := range m.from {
		s.Unpin()
	}
	return swap
}
