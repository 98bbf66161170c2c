package core

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

const ms = time.Millisecond

// newTestRetries holds refs that are their own sequences and weigh ten bytes.
func newTestRetries(l limits.Retry, src rand.Source) *retries {
	r := newRetries(l, rand.New(src), func(e ref) Seq { return Seq(e) }, func(ref) int64 { return 10 })
	return &r
}

// wakeAll wakes what is due and takes it all.
func (r *retries) wakeAll(now Time) (got []ref) {
	for r.wake(now) {
	}
	for {
		e, ok := r.next()
		if !ok {
			return got
		}
		got = append(got, e)
		r.drop()
	}
}

func TestBackOffDoublesUpToItsCap(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures int
		hint     time.Duration
		want     time.Duration
	}{
		{"first", 1, 0, 10 * ms},
		{"second", 2, 0, 20 * ms},
		{"third", 3, 0, 40 * ms},
		{"at the cap", 4, 0, 75 * ms},
		{"long after", 20, 0, 75 * ms},
		{"where doubling would overflow", 65_535, 0, 75 * ms},
		{"uncounted, such as an expired credential", 0, 0, 10 * ms},
		{"a longer hint", 1, 200 * ms, 200 * ms},
		{"a shorter hint", 3, 5 * ms, 40 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestRetries(limits.Retry{Base: 10 * ms, Cap: 75 * ms}, atTheBound{})
			r.add(1, c.failures)
			r.commit(second, c.hint)
			require.Equal(t, second.Add(c.want), r.wakeAt())
			require.Empty(t, r.wakeAll(second.Add(c.want)-1))
			require.Equal(t, []ref{1}, r.wakeAll(second.Add(c.want)))
			require.Equal(t, Never, r.wakeAt())
		})
	}
}

func TestJitterIsDrawnEvenlyFromZeroToTheBound(t *testing.T) {
	r := newTestRetries(limits.Retry{Base: 100 * ms, Cap: time.Second}, rand.NewPCG(3, 4))
	var quarters [4]int
	for range 4000 {
		r.add(1, 1)
		r.commit(0, 0)
		quarters[min(r.wakeAt().Sub(0)/(25*ms), 3)]++
		r.wakeAll(second)
	}
	for _, n := range quarters {
		require.InDelta(t, 1000, n, 120, "%v", quarters)
	}
}

func TestFailuresOfAnAnswerShareATimerForEachNumberOfFailures(t *testing.T) {
	r := newTestRetries(limits.Retry{Base: 10 * ms, Cap: time.Second}, atTheBound{})
	for e := ref(100); e > 0; e-- { // answers are read last entry first
		r.add(e, 1+int(e)%2)
	}
	r.commit(0, 0)
	require.Equal(t, 2, r.waiting.len())
	require.Len(t, r.wakeAll(Time(10*ms)), 50)
	require.Len(t, r.wakeAll(Time(20*ms)), 50)
}

func TestRetriesComeBackInArrivalOrder(t *testing.T) {
	r := newTestRetries(limits.Retry{Base: 10 * ms, Cap: 10 * ms}, rand.NewPCG(1, 1))
	want := make([]ref, 1000)
	for i := range want {
		want[i] = ref(i)
	}
	shuffled := slices.Clone(want)
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for answer := range slices.Chunk(shuffled, 7) {
		for _, e := range answer {
			r.add(e, 1)
		}
		r.commit(0, 0)
	}
	require.Equal(t, want, r.wakeAll(second))
}

func TestReadyRetriesAreCounted(t *testing.T) {
	r := newTestRetries(limits.Retry{Base: 10 * ms, Cap: time.Second}, atTheBound{})
	r.add(2, 1)
	r.add(1, 1)
	r.commit(0, 0)
	require.Zero(t, r.entries, "still waiting")
	require.True(t, r.wake(Time(10*ms)))
	require.False(t, r.wake(Time(10*ms)), "one group was due")
	require.Equal(t, []int64{2, 20}, []int64{r.entries, r.bytes})
	r.drop()
	require.Equal(t, []int64{1, 10}, []int64{r.entries, r.bytes})
	r.drop()
	require.Equal(t, []int64{0, 0}, []int64{r.entries, r.bytes})
}

func TestRetriesAllocateNothingInSteadyState(t *testing.T) {
	r := newTestRetries(limits.Retry{Base: 10 * ms, Cap: time.Second}, rand.NewPCG(1, 1))
	now := Time(0)
	round := func() {
		for e := ref(50); e > 0; e-- {
			r.add(e, 1)
		}
		r.commit(now, 0)
		now = now.Add(time.Second)
		for r.wake(now) {
		}
		for r.entries > 0 {
			r.drop()
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(100, round))
}
