package spill

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// The owner writes, feeds, cuts and frees; beside it blocks are read, segments sealed and merged. The race detector looks on.
func TestAllThatMayRunBesideTheOwnerDoes(t *testing.T) {
	for _, policy := range []Policy{OnCheckpoint, Steady} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			l := open(t, Config{Dir: t.TempDir() + "/spill", Sync: policy, Segment: 512 << 10, block: 4 << 10})
			if l.syncer != nil {
				l.syncer.since = syncBytes // at once, and then at each segment's end
			}
			var beside sync.WaitGroup
			var mu sync.Mutex // what comes back to the owner
			var merged []*Merge
			settled := map[*Segment]int{}
			var seq uint64
			for round := range 400 {
				for range 40 {
					seq++
					require.NoError(t, l.Append(&statecodec.Entry{Seq: seq, Data: make([]byte, 100+seq%100)}, false))
				}
				if round%2 == 0 {
					l.Cut()
					list := l.Segments()
					for _, s := range list {
						s.Pin()
					}
					beside.Go(func() {
						for _, s := range list {
							if err := s.Seal(); err != nil {
								t.Error(err)
							}
							if s.Size() == 0 || s.CRC32C() == 0 || s.Last() < s.First() {
								t.Error("not sealed")
							}
							s.Unpin()
						}
					})
				}
				if m := l.PlanMerge(); m != nil {
					beside.Go(func() {
						if err := m.Run(context.Background()); err != nil {
							t.Error(err)
						}
						mu.Lock()
						merged = append(merged, m)
						mu.Unlock()
					})
				}
				for range round / 100 {
					b, ok := l.Next()
					if !ok {
						break
					}
					beside.Go(func() {
						var r statecodec.BlockReader
						if err := b.Read(&r); err != nil {
							t.Error(err)
						}
						var x statecodec.Entry
						for r.Entry(&x) == nil {
						}
						if x.Seq != b.Last {
							t.Errorf("the last is %d, want %d", x.Seq, b.Last)
						}
						mu.Lock()
						settled[b.Segment] += b.Entries
						mu.Unlock()
					})
				}
				if round == 99 { // from then on blocks are fed
					beside.Wait()
				}
				mu.Lock()
				for _, m := range merged {
					l.EndMerge(m)
				}
				merged = nil
				for _, s := range l.Segments() {
					if settled[s] == s.Entries() {
						l.Free(s)
					}
				}
				mu.Unlock()
			}
			beside.Wait()
			for _, m := range merged {
				l.EndMerge(m)
			}
			require.NotZero(t, l.Stats().Copied)
			require.NoError(t, l.Close())
		})
	}
}
