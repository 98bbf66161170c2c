package core

import (
	"math"

	"golang.org/x/time/rate"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// limiter is the three token buckets that a request is charged to.
//
// A cost above a bucket's burst would never be granted (golang/go#80698), so a
// request waits for at most a full bucket and is then charged all of its cost;
// the debt delays what follows, and the rate holds.
type limiter struct {
	records, bytes, requests *rate.Limiter // nil: no limit
}

func newLimiter(l limits.Rate) limiter {
	bucket := func(r float64, burst int) *rate.Limiter {
		if r <= 0 {
			return nil
		}
		return rate.NewLimiter(rate.Limit(r), max(burst, 1))
	}
	return limiter{
		records:  bucket(float64(l.Records), int(l.RecordBurst)),
		bytes:    bucket(float64(l.Bytes), int(min(int64(l.ByteBurst), math.MaxInt))),
		requests: bucket(float64(l.Requests), int(l.RequestBurst)),
	}
}

// wait is when a request of n entries and b bytes may be sent; now: at once.
func (l *limiter) wait(now Time, n int, b int64) Time {
	return max(waitFor(l.records, now, int64(n)), waitFor(l.bytes, now, b), waitFor(l.requests, now, 1))
}

// charge books a request that is sent now.
func (l *limiter) charge(now Time, n int, b int64) {
	charge(l.records, now, int64(n))
	charge(l.bytes, now, b)
	charge(l.requests, now, 1)
}

func waitFor(l *rate.Limiter, now Time, cost int64) Time {
	if l == nil || cost <= 0 {
		return now
	}
	want := float64(min(cost, int64(l.Burst())))
	lack := want - l.TokensAt(now.Std())
	if lack <= 0 {
		return now
	}
	wait := lack / float64(l.Limit()) * 1e9
	// A hair more, against rounding: a wake-up that finds the bucket short would
	// only wait again.
	wait += wait*1e-9 + 1
	if wait >= float64(Never-now) {
		return Never
	}
	return now + Time(wait)
}

func charge(l *rate.Limiter, now Time, cost int64) {
	if l == nil {
		return
	}
	if burst := l.Burst(); cost > int64(burst) {
		// What the bucket holds is capped as of now, so this grants nothing more.
		l.SetBurstAt(now.Std(), int(cost))
		defer l.SetBurstAt(now.Std(), burst)
	}
	l.ReserveN(now.Std(), int(cost))
}

// tune changes rates and bursts from now on; tokens gathered so far are kept.
func (l *limiter) tune(now Time, r limits.Rate) {
	fresh := newLimiter(r)
	for _, p := range []struct{ old, new **rate.Limiter }{
		{&l.records, &fresh.records}, {&l.bytes, &fresh.bytes}, {&l.requests, &fresh.requests},
	} {
		if *p.old == nil || *p.new == nil {
			*p.old = *p.new
			continue
		}
		(*p.old).SetLimitAt(now.Std(), (*p.new).Limit())
		(*p.old).SetBurstAt(now.Std(), (*p.new).Burst())
	}
}
