package core

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets of a quarter of a power of two, in
// microseconds, so that a bound is at most 25 % above what it counts. Bucket 0
// takes what is below a microsecond; the last one everything from 66 hours.
type Histogram [HistogramBuckets]uint64

// HistogramBuckets is how many buckets a Histogram has.
const HistogramBuckets = 4*38 + 1

// observeRun counts entries accepted at those times and settled now.
// Neighbours share their time of acceptance, since the clock is not read for each.
func (h *Histogram) observeRun(now Time, born []Time) {
	for i := 0; i < len(born); {
		n := 1
		for i+n < len(born) && born[i+n] == born[i] {
			n++
		}
		h.Observe(now.Sub(born[i]), uint64(n))
		i += n
	}
}

// Observe counts d, n times.
func (h *Histogram) Observe(d time.Duration, n uint64) { h[bucketOf(d)] += n }

func bucketOf(d time.Duration) int {
	us := uint64(max(d, 0)) / 1000
	if us == 0 {
		return 0
	}
	power := bits.Len64(us) - 1
	quarter := (us << 2 >> power) & 3
	return min(1+4*power+int(quarter), HistogramBuckets-1)
}

// Bound is the upper bound of a bucket.
func (h *Histogram) Bound(bucket int) time.Duration {
	if bucket == 0 {
		return time.Microsecond
	}
	power, quarter := (bucket-1)/4, (bucket-1)%4
	return time.Duration(uint64(5+quarter) << power * 1000 / 4)
}

// Quantile is the bound of the bucket in which the q-th part (0 to 1) lies; 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total uint64
	for _, n := range h {
		total += n
	}
	rank, seen := max(1, uint64(math.Ceil(q*float64(total)))), uint64(0)
	for i, n := range h {
		if seen += n; seen >= rank {
			return h.Bound(i)
		}
	}
	return 0
}
