package core

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Against a map, with hashes that collide at their home and wrap around the end.
func TestTheIndexIsAMap(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		x, model := newIndex(r.Uint64()), map[uint64]int32{}
		for range 20_000 {
			hash := r.Uint64N(400) << (r.IntN(3) * 20)
			lane, ok := x.get(hash)
			want, there := model[hash]
			require.Equal(t, there, ok)
			switch {
			case !ok:
				l := r.Int32N(1 << 20)
				x.put(hash, l)
				model[hash] = l
			case r.IntN(2) == 0:
				require.Equal(t, want, lane)
				x.remove(hash)
				delete(model, hash)
			}
			require.Equal(t, len(model), x.n)
		}
		for hash, want := range model {
			lane, ok := x.get(hash)
			require.True(t, ok)
			require.Equal(t, want, lane)
		}
	}
}

func TestTheIndexGrowsAndFindsAll(t *testing.T) {
	x := newIndex(0x9E3779B97F4A7C15)
	for i := range int32(100_000) {
		x.put(uint64(i), i)
	}
	for i := range int32(100_000) {
		lane, ok := x.get(uint64(i))
		require.True(t, ok)
		require.Equal(t, i, lane)
	}
	require.Less(t, len(x.slots), 300_000)
}
