package asyncsink

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEverySequenceSettlesOnceAndIsReportedOnce(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := Config{Settlement: true, DeadLetters: &deadLetters{}}
		c.Batch.Entries, c.Batch.Age, c.Retry.Base = 10, time.Millisecond, time.Millisecond
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			for i := range b.Len() {
				b.Set(i, Outcome{Kind: []Kind{Delivered, Retry, Delivered, Rejected, Ambiguous}[(i+b.Attempt(i))%5]})
			}
			return nil
		})
		r.open(c)
		const n = 2000
		settled := make([]int, n+1)
		pull := func() {
			for _, g := range r.AppendSettled(nil) {
				require.LessOrEqual(t, g.First, g.Last)
				for seq := g.First; seq <= g.Last; seq++ {
					settled[seq]++
				}
			}
		}
		for _, e := range entries(n, 20) {
			r.write(e)
			select {
			case <-r.Settled():
				pull()
			default:
			}
		}
		r.drain()
		pull() // also after Close
		for seq := 1; seq <= n; seq++ {
			require.Equal(t, 1, settled[seq], "sequence %d", seq)
		}
		require.Empty(t, r.AppendSettled(nil))
	})
}

func TestSettledTellsWhenThereIsSomethingNew(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Settlement = true
		r.open(c)
		r.write("a", "b", "c")
		r.pass(time.Second)
		require.Empty(t, r.Settled())
		for range 3 {
			open <- struct{}{}
			<-r.Settled()
			require.Len(t, r.AppendSettled(nil), 1)
		}
		r.pass(time.Second)
		require.Empty(t, r.Settled())
	})
}

func TestAppendSettledAppendsInTheOrderOfSettling(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.At(0) == "a" {
				time.Sleep(time.Second)
			}
			return nil
		})
		c := single()
		c.Settlement = true
		r.open(c)
		r.write("a", "b", "c")
		r.pass(2 * time.Second)
		mine := []Range{{First: 99, Last: 99}}
		got := r.AppendSettled(slices.Clone(mine))
		require.Equal(t, mine, got[:1])
		require.Equal(t, Range{First: 1, Last: 1}, got[len(got)-1])
	})
}

func TestWithoutSettlementNothingPilesUp(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(single())
		r.write("a", "b")
		r.drain()
		require.Empty(t, r.AppendSettled(nil))
		require.Empty(t, r.Settled())
	})
}
