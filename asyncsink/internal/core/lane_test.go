package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// newTestLanes are lanes over a log of n entries of ten bytes, which it returns.
func newTestLanes(n int) (*lanes[int], []ref) {
	log := newArrivals[int]([16]byte{}, true, false)
	refs := make([]ref, n)
	for i := range refs {
		refs[i] = log.append(0, i, 10, 0)
	}
	return &lanes[int]{log: &log, byKey: newIndex(1)}, refs
}

// drain pops all that is parked.
func (l *lanes[E]) drain(a *lane) (got []ref) {
	for a.parked > 0 {
		got = append(got, l.pop(a))
	}
	return got
}

func TestLaneIsAFIFO(t *testing.T) {
	l, e := newTestLanes(6)
	for _, c := range []struct {
		name string
		do   func(a *lane)
		want []ref
	}{
		{"parked", func(a *lane) { l.park(a, e[0]); l.park(a, e[1]); l.park(a, e[2]) }, e[:3]},
		{"put back into an empty one", func(a *lane) { l.putBack(a, e[0]); l.park(a, e[1]) }, e[:2]},
		{"put back before those behind, last first", func(a *lane) {
			l.park(a, e[2])
			l.park(a, e[3])
			l.putBack(a, e[1])
			l.putBack(a, e[0])
			l.park(a, e[4])
		}, e[:5]},
		{"popped in between", func(a *lane) {
			l.park(a, e[5])
			require.Equal(t, e[5], l.pop(a))
			l.park(a, e[0])
			l.park(a, e[1])
			require.Equal(t, e[0], l.pop(a))
			l.putBack(a, e[0])
		}, e[:2]},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := l.open(1)
			a := &l.slab[i]
			c.do(a)
			require.Equal(t, c.want, l.drain(a))
			l.close(i)
		})
	}
}

func TestAFailedHeadIsMarked(t *testing.T) {
	l, e := newTestLanes(1)
	a := &l.slab[l.open(1)]
	require.False(t, a.failed)
	l.putBack(a, e[0])
	require.True(t, a.failed)
}

func TestLanesExistWhileSomethingIsOutstanding(t *testing.T) {
	l, _ := newTestLanes(1)
	_, ok := l.find(7)
	require.False(t, ok)
	i := l.open(7)
	l.slab[i].out = 3
	found, ok := l.find(7)
	require.True(t, ok)
	require.Equal(t, i, found)
	l.close(i)
	_, ok = l.find(7)
	require.False(t, ok)
	require.Equal(t, lane{hash: 8, open: true}, l.slab[l.open(8)], "a slot is used again, and remembers nothing")
	require.Len(t, l.slab, 1)
}

func TestAnOpenedGateIsCounted(t *testing.T) {
	l, e := newTestLanes(2)
	a := &l.slab[l.open(1)]
	l.park(a, e[0])
	l.park(a, e[1])
	l.pass(a)
	require.True(t, a.queued)
	require.Equal(t, []int64{1, 10}, []int64{l.entries, l.bytes}, "the head alone may go")
	require.Equal(t, e[0], l.passed.pop())
}

func TestFIFOKeepsOrderAndLetsMemoryGo(t *testing.T) {
	var q fifo
	in, out := 0, 0
	for range 100_000 { // never empty, never longer than 3,000
		for q.len() < 3000 {
			q.push(ref(in))
			in++
		}
		require.Equal(t, ref(out), q.pop())
		out++
	}
	require.LessOrEqual(t, cap(q.refs), 4*3000, "memory grows with what went through")
	for q.len() > 0 {
		require.Equal(t, ref(out), q.pop())
		out++
	}
	require.Equal(t, in, out)
}
