package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spillway-go/spillway/pipeline"
)

const (
	redraw    = 200 * time.Millisecond
	logEvery  = 10 * time.Second
	rateSpan  = 10 // redraws that the rate on the status line is measured over
	separator = "   "
)

// watch shows how a job goes until ctx ends: on a terminal in the status line, elsewhere in the log.
func watch(ctx context.Context, stats func() pipeline.Stats, s *screen, log *slog.Logger) {
	meter := newMeter(s)
	refresh(ctx, s, func() {
		now := stats()
		rate := meter.rate(time.Now(), now.Delivered.Entries)
		if s.width != nil {
			s.draw(statusLine(now, rate))
			return
		}
		log.Info("progress", "rate", int64(rate), "delivered", now.Delivered.Entries, "held", now.Held().Entries,
			"in_flight", now.InFlight.Entries, "retried", now.Retried.Entries)
	})
}

// refresh calls show, at the pace of a terminal or of a log, until ctx ends.
func refresh(ctx context.Context, s *screen, show func()) {
	every := logEvery
	if s.width != nil {
		every = redraw
	}
	defer s.draw("")
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			show()
		}
	}
}

func statusLine(s pipeline.Stats, rate float64) string {
	return fmt.Sprint(
		thousands(int64(rate)), "/s", separator, "delivered ", thousands(s.Delivered.Entries), separator, "held ", thousands(s.Held().Entries),
		separator, "in flight ", thousands(s.InFlight.Entries), separator, "retried ", thousands(s.Retried.Entries))
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// meter measures how fast a count grows, over the last span of readings.
type meter struct {
	span     int
	readings []reading
}

type reading struct {
	at    time.Time
	count int64
}

// newMeter measures at the pace of refresh, from zero and now on.
func newMeter(s *screen) *meter {
	m := &meter{span: 1}
	if s.width != nil {
		m.span = rateSpan
	}
	m.rate(time.Now(), 0)
	return m
}

// rate takes a reading and returns how much a second the count has grown since the oldest one kept.
func (m *meter) rate(at time.Time, count int64) float64 {
	m.readings = append(m.readings, reading{at, count})
	if n := len(m.readings); n > m.span+1 {
		m.readings = m.readings[n-m.span-1:]
	}
	first := m.readings[0]
	if past := at.Sub(first.at); past > 0 {
		return float64(count-first.count) / past.Seconds()
	}
	return 0
}
