package core

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// newBusyCore holds numbers, of which some fail, and settles the rest at once.
func newBusyCore(held limits.Entries, order Order) *busy {
	r := rand.New(rand.NewPCG(11, 11))
	return &busy{rand: r, core: New(Config[*int]{
		Limits: limits.Set{
			Batch: limits.Batch{Entries: 50}, Held: limits.Held{Entries: held},
			InFlight: limits.InFlight{Requests: 8, Controller: limits.Static},
		}.WithDefaults(),
		Order: order, DeadLetters: true, Settlement: true, Rand: r,
		Size: func(*int) int { return 1 },
		Hash: func(n *int) uint64 { return uint64(*n % 100) },
	})}
}

type busy struct {
	rand *rand.Rand
	core *Core[*int]
	now  Time
	next int
	out  []*Batch[*int]
}

// step offers entries while there is room, sends what goes and answers some of
// what is out.
func (b *busy) step() {
	b.now = b.now.Add(ms)
	for range 100 {
		n := b.next
		if _, err := b.core.Offer(b.now, &n); err != nil {
			break
		}
		b.next++
	}
	for a := b.core.Next(b.now); a.Kind != Wait; a = b.core.Next(b.now) {
		switch a.Kind {
		case Send:
			b.out = append(b.out, a.Batch)
		case Bury:
			b.core.Buried()
		}
	}
	for len(b.out) > 0 && b.rand.IntN(3) > 0 {
		i := b.rand.IntN(len(b.out))
		batch := b.out[i]
		b.out = slices.Delete(b.out, i, i+1)
		var fails []Failure
		for i := range batch.Entries {
			if b.rand.IntN(10) == 0 {
				fails = append(fails, Failure{i, Outcome{Kind: pickOne(b.rand, Retry, Ambiguous, Rejected, Throttled)}})
			}
		}
		b.core.Done(b.now, batch, Outcome{}, fails)
	}
}

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// shows is what a snapshot must yield, copied when it is taken.
func (b *busy) shows() []Held[*int] { return b.core.everything() }

// Snapshots are read on other goroutines while the core goes on: run with -race.
func TestSnapshotsShowTheirMomentWhileTheCoreGoesOn(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey} {
		b := newBusyCore(5000, order)
		var readers sync.WaitGroup
		type reading struct {
			snap *Snapshot[*int]
			want []Held[*int]
			got  chan []Held[*int]
		}
		var open []reading
		for i := range 1000 {
			b.step()
			if i%50 == 0 {
				r := reading{b.core.Snapshot(), b.shows(), make(chan []Held[*int], 1)}
				require.EqualValues(t, len(r.want), r.snap.Held.Entries)
				require.Equal(t, b.core.Last()+1, r.snap.Next)
				open = append(open, r)
				readers.Add(1)
				go func() {
					defer readers.Done()
					r.got <- slices.Collect(r.snap.All())
				}()
			}
			if len(open) > 4 {
				r := open[b.rand.IntN(2)]
				open = slices.DeleteFunc(open, func(x reading) bool { return x.snap == r.snap })
				require.Equal(t, r.want, <-r.got)
				require.Equal(t, r.want, slices.Collect(r.snap.All()), "read again, later")
				b.core.Release(r.snap)
			}
		}
		readers.Wait()
		require.NoError(t, b.core.Ledger.check())
		require.Greater(t, b.core.Ledger.Delivered.Entries, int64(5*chunkLen))
	}
}

func TestASnapshotCanBeReadAgainAndInPart(t *testing.T) {
	b := newBusyCore(100, Unordered)
	for range 20 {
		b.step()
	}
	s, want := b.core.Snapshot(), b.shows()
	for range s.All() {
		break
	}
	require.Equal(t, want, slices.Collect(s.All()))
	b.core.Release(s)
	b.core.Release(s) // a second time does nothing
	require.Empty(t, b.core.log.pins)
}

func TestAnEmptySnapshotYieldsNothing(t *testing.T) {
	s := newBusyCore(1, Unordered).core.Snapshot()
	require.Empty(t, slices.Collect(s.All()))
	require.Equal(t, Seq(1), s.Next)
	require.Zero(t, s.Held)
}

// The pause is a copy of the slab's headers: nothing is copied for each entry.
func TestThePauseOfASnapshotDoesNotDependOnTheEntries(t *testing.T) {
	const snapshots = 100
	copied := func(chunks int) uint64 { // bytes
		k := newBusyCore(limits.Entries(chunks*chunkLen), Unordered)
		for i := range chunks * chunkLen {
			_, err := k.core.Offer(0, &i)
			require.NoError(t, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range snapshots {
			k.core.Release(k.core.Snapshot())
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / snapshots
	}
	perChunk := (copied(1000) - copied(1)) / 1000
	require.LessOrEqual(t, perChunk, uint64(20), "bytes copied for each chunk")
}

func TestUnsettledEntriesAreCountedByRange(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := newArrivals[int]([16]byte{1}, false, false)
		held := map[Seq]bool{}
		var refs []ref
		for i := range 1 + r.IntN(1000) {
			refs = append(refs, l.append(0, i, 1, 0))
			held[l.last] = true
		}
		for _, i := range r.Perm(len(refs))[:r.IntN(len(refs))] {
			held[Seq(i+1)] = false
			l.settle(refs[i], 1)
		}
		var ranges []Range
		for at := Seq(1 + r.IntN(50)); at < Seq(len(refs)); at += Seq(r.IntN(90)) {
			to := at + Seq(r.IntN(400))
			ranges, at = append(ranges, Range{at, to}), to+1
		}
		want, got := make([]int64, len(ranges)), make([]int64, len(ranges))
		for i, x := range ranges {
			for s := x.First; s <= x.Last; s++ {
				if held[s] {
					want[i]++
				}
			}
		}
		c := Core[int]{log: l}
		c.CountUnsettled(ranges, got)
		require.Equal(t, want, got, "seed %d", seed)
	}
}
