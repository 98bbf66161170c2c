package core

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapGivesTheSmallestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	h := heap[int64]{key: func(x int64) int64 { return x }}
	var want []int64
	for range 1000 {
		x := r.Int64N(200)
		h.push(x)
		want = append(want, x)
		if r.IntN(3) == 0 {
			slices.Sort(want)
			require.Equal(t, want[0], h.min())
			require.Equal(t, want[0], h.pop())
			want = want[1:]
		}
	}
	slices.Sort(want)
	for _, x := range want {
		require.Equal(t, x, h.pop())
	}
	require.Zero(t, h.len())
}

func TestHeapSinksARootWhoseKeyHasGrown(t *testing.T) {
	type box struct{ key int64 }
	h := heap[*box]{key: func(b *box) int64 { return b.key }}
	boxes := []*box{{1}, {2}, {3}, {4}}
	for _, b := range boxes {
		h.push(b)
	}
	boxes[0].key = 10
	h.sink()
	var got []int64
	for h.len() > 0 {
		got = append(got, h.pop().key)
	}
	require.Equal(t, []int64{2, 3, 4, 10}, got)
}

func TestHeapForgetsWhatItGave(t *testing.T) {
	h := heap[*int]{key: func(p *int) int64 { return int64(*p) }}
	for i := range 3 {
		h.push(&i)
	}
	h.pop()
	require.Nil(t, h.items[:3][2], "the slot behind the last item still points to one")
}
