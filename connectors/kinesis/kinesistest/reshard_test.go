package kinesistest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lineage draws the shards of a stream: id, parents, and whether it is open.
func lineage(st *stream) (out []string) {
	for _, sh := range st.shards {
		line := fmt.Sprint(sh.index)
		for _, p := range sh.parents {
			line += fmt.Sprintf(" <%d", p.index)
		}
		if sh.isOpen() {
			line += " open"
		}
		out = append(out, line)
	}
	return out
}

func TestScalingTakesTheSplitsAndMergesThatItNeedsAndNoMore(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []string
	}{
		{2, 2, []string{"0 open", "1 open"}},
		{2, 4, []string{"0", "1", "2 <0 open", "3 <0 open", "4 <1 open", "5 <1 open"}},
		{4, 2, []string{"0", "1", "2", "3", "4 <0 <1 open", "5 <2 <3 open"}},
		{2, 3, []string{"0", "1", "2 <0 open", "3 <0", "4 <1", "5 <1 open", "6 <3 <4 open"}}, // 3 and 4 live only within the call
		{3, 6, []string{"0", "1", "2", "3 <0 open", "4 <0 open", "5 <1 open", "6 <1 open", "7 <2 open", "8 <2 open"}},
	} {
		st := newStream(StreamConfig{Name: "s", Shards: c.from}, false, "r", "a", time.Now())
		st.scaleTo(c.to, time.Now())
		require.Equal(t, c.want, lineage(st), "%d to %d", c.from, c.to)
	}
}

func TestAnyWayOfScalingLeavesShardsThatShareOutTheSpace(t *testing.T) {
	for seed := range 30 {
		st := newStream(StreamConfig{Name: "s", Shards: 1 + seed%7}, false, "r", "a", time.Now())
		for step := range 12 {
			n := max(1, min(40, len(st.open)+int(mix(uint64(100*seed+step))%7)-3))
			st.scaleTo(n, time.Now())
			require.Len(t, st.open, n)
			first := hashKey{}
			for i, sh := range st.open {
				require.Equal(t, first, sh.start)
				require.True(t, sh.isOpen())
				require.True(t, sh.start.near(uniformStarts(n)[i], 50) || uniformStarts(n)[i].near(sh.start, 50), "%d of %d", i, n)
				first = sh.end.next()
			}
			require.Equal(t, hashKey{}, first, "the last ends the space")
			for _, sh := range st.shards {
				require.Equal(t, sh.isOpen(), len(sh.children) == 0)
			}
		}
	}
}

func TestEitherOrderOfNeighboursMerges(t *testing.T) {
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		st := newStream(StreamConfig{Name: "s", Shards: 3}, false, "r", "a", time.Now())
		st.merge(st.shards[order[0]], st.shards[order[1]], time.Now())
		require.Equal(t, []string{"0", "1", "2 open", fmt.Sprintf("3 <%d <%d open", order[0], order[1])}, lineage(st))
		require.Equal(t, hashKey{}, st.open[0].start)
		require.Equal(t, st.open[0].end.next(), st.open[1].start)
	}
	st := newStream(StreamConfig{Name: "s", Shards: 3}, false, "r", "a", time.Now())
	require.False(t, st.shards[2].precedes(st.shards[0]), "the space does not wrap round")
}
