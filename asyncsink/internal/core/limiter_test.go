package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

const second = Time(time.Second)

// requireSoon allows for the hair that a wait is longer than the quotient.
func requireSoon(t *testing.T, want, got Time) {
	t.Helper()
	require.GreaterOrEqual(t, got, want)
	require.LessOrEqual(t, got, want+4)
}

// The rate is exact over time, whatever requests cost, above the burst as well:
// what a large one overdraws delays those behind it.
func TestLimiterKeepsTheRateOverTime(t *testing.T) {
	for name, c := range map[string]struct {
		rate    limits.RecordsPerSecond
		burst   limits.Entries
		largest int
	}{
		"costs below the burst": {1000, 100, 80},
		"costs above the burst": {1000, 100, 5000},
		"a burst of one":        {50, 1, 500},
		"a fractional rate":     {0.7, 1, 3},
		"a large rate":          {1e9, 1000, 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			l := newLimiter(limits.Rate{Records: c.rate, RecordBurst: c.burst})
			now, sent, last := second, int64(0), int64(0)
			for range 2000 {
				n := 1 + r.IntN(c.largest)
				now = l.wait(now, n, 0)
				require.Equal(t, now, l.wait(now, n, 0), "the time that wait named is not enough")
				l.charge(now, n, 0)
				last = int64(n)
				sent += last
			}
			allowed := float64(c.burst) + float64(c.rate)*now.Sub(second).Seconds()
			require.LessOrEqual(t, float64(sent), 1.000001*allowed+float64(last), "more than the rate and the last request's debt")
			require.GreaterOrEqual(t, float64(sent), 0.999999*allowed-float64(c.burst)-1, "less than the rate, with work at hand")
		})
	}
}

func TestLimiterWaitsForTheSlowestBucket(t *testing.T) {
	rate := limits.Rate{Records: 10, RecordBurst: 1, Bytes: 100, ByteBurst: 100, Requests: 2, RequestBurst: 1}
	l := newLimiter(rate)
	require.Equal(t, second, l.wait(second, 1, 100), "full buckets")
	l.charge(second, 1, 50)
	for _, c := range []struct {
		entries int
		bytes   int64
		want    time.Duration
	}{
		{1, 50, 500 * time.Millisecond},   // one request in half a second
		{1, 100, 500 * time.Millisecond},  // 50 bytes are back after half a second
		{99, 50, 500 * time.Millisecond},  // at most a full bucket is waited for
		{1, 9999, 500 * time.Millisecond}, // of bytes, too
	} {
		requireSoon(t, second.Add(c.want), l.wait(second, c.entries, c.bytes))
	}
}

func TestNoLimitNeverWaits(t *testing.T) {
	l := newLimiter(limits.Rate{})
	for range 100 {
		require.Equal(t, second, l.wait(second, 1<<30, 1<<40))
		l.charge(second, 1<<30, 1<<40)
	}
}

func TestTunedLimiterKeepsTokensAndDebt(t *testing.T) {
	l := newLimiter(limits.Rate{Records: 10, RecordBurst: 10})
	l.charge(second, 30, 0) // 20 owed
	l.tune(second, limits.Rate{Records: 20, RecordBurst: 10})
	requireSoon(t, second.Add(1050*time.Millisecond), l.wait(second, 1, 0))

	l.tune(second, limits.Rate{Records: 20, RecordBurst: 1})
	now := second.Add(time.Minute)
	l.charge(now, 1, 0)
	requireSoon(t, now.Add(50*time.Millisecond), l.wait(now, 1, 0))

	l.tune(now, limits.Rate{})
	require.Equal(t, now, l.wait(now, 1000, 0), "the limit is gone")
	l.tune(now, limits.Rate{Records: 1, RecordBurst: 5})
	require.Equal(t, now, l.wait(now, 5, 0), "a new limit begins with a full bucket")
}

// A wake-up so far away that time cannot express it must not come out in the past.
func TestLimiterOfAVerySmallRateWaitsForEver(t *testing.T) {
	l := newLimiter(limits.Rate{Records: 1e-12, RecordBurst: 1})
	l.charge(second, 1000, 0)
	require.Equal(t, Never, l.wait(second, 1, 0))
}

// A charge is one step, however small the burst: this one would take a trillion
// steps in slices of a byte.
func TestLimiterChargesInOneStep(t *testing.T) {
	l := newLimiter(limits.Rate{Bytes: 1e12, ByteBurst: 1})
	l.charge(second, 1, 1e12)
	requireSoon(t, second.Add(time.Second), l.wait(second, 1, 1))
}
