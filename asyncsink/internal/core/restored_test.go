package core

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an earlier life has settled leaves gaps: sequences go on, gaps are never shown, examined or reported.
func TestRestoredEntriesKeepTheirSequencesOverGaps(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		l := newArrivals[int]([16]byte{2}, r.IntN(2) == 0, true)
		var want []Seq
		var refs []ref
		seq := Seq(0)
		for range 1 + r.IntN(600) {
			seq += Seq(1 + r.IntN(3))
			if r.IntN(40) == 0 {
				seq += Seq(r.IntN(1000))
			}
			refs = append(refs, l.restore(Held[int]{Seq: seq, ID: ID{[16]byte{1}, seq}, Entry: int(seq)}, 1, 0))
			want = append(want, seq)
		}
		require.Equal(t, want[0], l.lowWater())
		var got []Seq
		for { // in the order in which the frontier meets them
			c, off, n := l.frontier()
			if n == 0 {
				break
			}
			got = append(got, c.first+Seq(off))
			require.EqualValues(t, c.first+Seq(off), c.entries[off])
			require.Equal(t, ID{[16]byte{1}, got[len(got)-1]}, c.ids[off])
			l.front.off++
		}
		require.Equal(t, want, got, "seed %d", seed)
		for i, at := range refs {
			require.Equal(t, want[i], l.seq(at))
			l.settle(at, 1)
		}
		l.seal()
		require.Equal(t, -1, l.oldest, "nothing is retained")
		reported := 0
		for _, x := range l.ranges {
			reported += int(x.Last-x.First) + 1
		}
		require.Equal(t, len(want), reported)
		require.Equal(t, seq+1, l.lowWater())
	}
}

func TestSpilledEntriesComeBackUnderTheirSequencesAndNothingPassesThem(t *testing.T) {
	b := newBusyCore(100, PerKey)
	c := b.core
	c.Resume(41)
	c.Feed(false)
	n := 7
	seq, err := c.Offer(1, &n)
	require.NoError(t, err)
	require.Equal(t, Seq(42), seq)
	size, err := c.Admit(&n)
	require.NoError(t, err)
	require.Equal(t, Seq(43), c.Spill(size))
	require.Equal(t, Seq(44), c.Spill(size))
	c.Feed(true)
	_, err = c.Offer(1, &n)
	require.ErrorIs(t, err, ErrFull)
	require.Equal(t, Seq(44), c.Last())
	require.Equal(t, Seq(42), c.Fed())
	for want := Seq(43); want <= 44; want++ {
		require.True(t, c.Restore(2, Held[*int]{Seq: want, ID: ID{c.Writer, want}, Entry: &n}))
		require.Equal(t, want, c.Fed())
	}
	c.Feed(false)
	require.Equal(t, Count{}, c.Ledger.Spilled)
	require.EqualValues(t, 3, c.Ledger.Accepted.Entries)
	require.Zero(t, c.Ledger.Restored)
	require.NoError(t, c.Ledger.check())
	seq, err = c.Offer(3, &n)
	require.NoError(t, err)
	require.Equal(t, Seq(45), seq)
	for h := range c.Snapshot().All() {
		require.Equal(t, ID{c.Writer, h.Seq}, h.ID)
	}
}
