package core

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHistogramBoundsAreAtMostAQuarterAboveWhatTheyCount(t *testing.T) {
	var h Histogram
	for d := time.Duration(1); d < 60*time.Hour; d += d/7 + 1 {
		b := bucketOf(d)
		require.GreaterOrEqual(t, h.Bound(b), d.Truncate(time.Microsecond), "bucket %d of %v", b, d)
		if b > 0 {
			require.LessOrEqual(t, h.Bound(b-1), d, "%v belongs into bucket %d", d, b-1)
			require.LessOrEqual(t, float64(h.Bound(b)), 1.25*float64(d), "bound of %v", d)
		}
	}
}

func TestHistogramBoundsAscend(t *testing.T) {
	var h Histogram
	for b := 1; b < HistogramBuckets; b++ {
		require.Greater(t, h.Bound(b), h.Bound(b-1), "bucket %d", b)
	}
}

func TestHistogramTakesEveryDuration(t *testing.T) {
	for _, c := range []struct {
		d      time.Duration
		bucket int
	}{
		{-time.Hour, 0}, {0, 0}, {time.Microsecond - 1, 0}, {time.Microsecond, 1},
		{2 * time.Microsecond, 5}, {3 * time.Microsecond, 7},
		{67 * time.Hour, HistogramBuckets - 1}, {math.MaxInt64, HistogramBuckets - 1},
	} {
		require.Equal(t, c.bucket, bucketOf(c.d), "%v", c.d)
	}
}

func TestQuantileIsTheBoundOfTheBucketThatHoldsIt(t *testing.T) {
	bound := func(d time.Duration) time.Duration { return new(Histogram).Bound(bucketOf(d)) }
	var tenth, one Histogram
	for i := range 10 {
		tenth.Observe(time.Duration(1<<i)*time.Millisecond, 1)
	}
	one.Observe(time.Second, 1)
	for _, c := range []struct {
		h    *Histogram
		q    float64
		want time.Duration
	}{
		{&Histogram{}, 0.99, 0},
		{&one, 0, bound(time.Second)},
		{&one, 1, bound(time.Second)},
		{&tenth, 0, bound(time.Millisecond)},
		{&tenth, 0.1, bound(time.Millisecond)},
		{&tenth, 0.5, bound(16 * time.Millisecond)},
		{&tenth, 0.51, bound(32 * time.Millisecond)},
		{&tenth, 0.99, bound(512 * time.Millisecond)},
		{&tenth, 1, bound(512 * time.Millisecond)},
	} {
		require.Equal(t, c.want, c.h.Quantile(c.q), "quantile %v", c.q)
	}
}

func TestObserveRunCountsEveryEntryOnce(t *testing.T) {
	var h, want Histogram
	now := Time(time.Second)
	h.observeRun(now, []Time{0, 0, 0, Time(500 * time.Millisecond), now, now})
	want.Observe(time.Second, 3)
	want.Observe(500*time.Millisecond, 1)
	want.Observe(0, 2)
	require.Equal(t, want, h)
}
