package core

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// payload is an entry whose memory can be seen.
type payload = *[64]byte

func newTestLog() *arrivals[payload] {
	l := newArrivals[payload]([16]byte{1}, false, true)
	return &l
}

func (l *arrivals[E]) appendN(n int, e func() E) []ref {
	refs := make([]ref, n)
	for i := range refs {
		refs[i] = l.append(Time(l.last), e(), 1, 0)
	}
	return refs
}

func newPayload() payload { return new([64]byte) }

func (l *arrivals[E]) chunks() int { return len(l.slab) - len(l.free) }

// pin does what a snapshot does to the log; unpin what Release does.
func (l *arrivals[E]) pin() uint64 {
	l.snapshots++
	l.pins = append(l.pins, l.snapshots)
	return l.snapshots
}

func (l *arrivals[E]) unpin(number uint64) {
	for i, p := range l.pins {
		if p == number {
			l.pins = append(l.pins[:i], l.pins[i+1:]...)
			return
		}
	}
}

func TestSequencesAreAssignedWithoutGaps(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(3*chunkLen+5, newPayload)
	for i, r := range refs {
		require.Equal(t, Seq(i+1), l.seq(r))
		require.Equal(t, Time(i), l.born(r))
	}
	require.Equal(t, 4, l.chunks())
	require.Equal(t, Seq(1), l.lowWater())
}

func TestOneStuckEntryRetainsOneChunk(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(chunkLen/2, newPayload)
	stuck := refs[7]
	for range 1000 {
		for _, r := range refs {
			if r != stuck {
				l.settle(r, 1)
			}
		}
		refs = l.appendN(chunkLen, newPayload)
	}
	require.LessOrEqual(t, l.chunks(), 3, "the stuck one, and those being filled")
	require.LessOrEqual(t, len(l.slab), 4, "slots are used again")
	require.Equal(t, Seq(8), l.lowWater())
	l.settle(stuck, 1)
	require.Equal(t, l.seq(refs[0]), l.lowWater())
}

func TestLowWaterPassesSettledEntriesOnly(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(2*chunkLen, newPayload)
	for _, c := range []struct {
		off, n int
		want   Seq
	}{
		{1, 62, 1}, {0, 1, 64}, {63, 1, 65}, {64, chunkLen - 64, chunkLen + 1},
		{chunkLen + 1, chunkLen - 1, chunkLen + 1}, {chunkLen, 1, 2*chunkLen + 1},
	} {
		l.settle(refs[c.off], c.n)
		require.Equal(t, c.want, l.lowWater(), "after %d from %d", c.n, c.off)
	}
	require.Zero(t, l.chunks())
	require.Equal(t, []Range{{1, 2 * chunkLen}}, joined(l.ranges))
}

// joined merges neighbours, in whatever order they settled.
func joined(ranges []Range) []Range {
	var last Seq
	first := ^Seq(0)
	n := Seq(0)
	for _, r := range ranges {
		first, last, n = min(first, r.First), max(last, r.Last), n+r.Last-r.First+1
	}
	if n != last-first+1 {
		return ranges
	}
	return []Range{{first, last}}
}

func TestASettledSlotHoldsNoPayload(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(10, newPayload)
	c := l.slab[refs[0].slot()].chunk
	l.settle(refs[3], 4)
	for i, e := range c.entries[:10] {
		require.Equal(t, i >= 3 && i < 7, e == nil, "slot %d", i)
	}
}

func TestWhatSettlesUnderASnapshotIsClearedAfterItsRelease(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(10, newPayload)
	c := l.slab[refs[0].slot()].chunk
	one, two := l.pin(), l.pin()
	l.settle(refs[0], 2)
	three := l.pin()
	l.settle(refs[2], 2)
	held := func() (n int) {
		for _, e := range c.entries {
			if e != nil {
				n++
			}
		}
		return n
	}
	for _, s := range []struct {
		number uint64
		want   int
	}{{two, 10}, {one, 8}, {three, 6}} {
		l.unpin(s.number)
		require.False(t, l.sweep(100))
		require.Equal(t, s.want, held())
	}
	require.Zero(t, c.dirty)
	l.settle(refs[4], 1)
	require.Equal(t, 5, held(), "no snapshot is left, so at once")
}

func TestSweepDoesABoundedNumberAtATime(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(100, newPayload)
	one := l.pin()
	for i := 0; i < 100; i += 2 {
		l.settle(refs[i], 1)
	}
	require.False(t, l.sweep(10), "pinned: nothing to do")
	l.unpin(one)
	for range 4 {
		require.True(t, l.sweep(10))
	}
	require.False(t, l.sweep(10))
	require.Nil(t, l.dirty)
}

func TestAChunkThatASnapshotReadsIsNotUsedAgain(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(chunkLen, newPayload)
	one := l.pin()
	pinned := l.slab[refs[0].slot()].chunk
	l.settle(refs[0], chunkLen)
	require.Zero(t, l.chunks())
	require.Empty(t, l.pool)
	l.appendN(1, newPayload)
	require.NotSame(t, pinned, l.slab[l.newest].chunk)
	l.unpin(one)
	l.sweep(100)

	l.seal()
	refs = l.appendN(chunkLen, newPayload)
	free := l.slab[refs[0].slot()].chunk
	l.settle(refs[0], chunkLen)
	l.appendN(1, newPayload)
	require.Same(t, free, l.slab[l.newest].chunk, "without a snapshot, chunks are pooled")
}

func TestSettledChunksGiveTheirMemoryBack(t *testing.T) {
	l := newTestLog()
	before := heapInUse()
	refs := l.appendN(200*chunkLen, newPayload)
	one := l.pin()
	full := heapInUse() - before
	for _, r := range refs {
		l.settle(r, 1)
	}
	l.unpin(one)
	for l.sweep(1000) {
	}
	refs, l.ranges = nil, nil
	left := heapInUse() - before
	require.Less(t, left, full/20, "of %d bytes", full)
	runtime.KeepAlive(l)
}

func TestRestoredEntriesAndNewOnesShareNoChunk(t *testing.T) {
	l := newTestLog()
	l.append(0, newPayload(), 1, 0)
	id := ID{[16]byte{9}, 42}
	r := l.restore(Held[payload]{ID: id, Entry: newPayload(), Attempts: 1 << 20, Unsure: true}, 1, 0)
	require.Equal(t, 2, l.chunks())
	require.Equal(t, 1<<16-1, l.attempts(r), "saturated")
	require.True(t, l.unsure(r))
	require.Equal(t, id, l.slab[r.slot()].held(r.off(), l.writer).ID)
	l.seal()
	r = l.append(0, newPayload(), 1, 0)
	require.Equal(t, 3, l.chunks())
	require.Equal(t, ID{l.writer, 3}, l.slab[r.slot()].held(r.off(), l.writer).ID)
}

func TestAnEntryOfferedAmongRestoredOnesHasAnIDOfItsOwn(t *testing.T) {
	l := newTestLog()
	l.restore(Held[payload]{ID: ID{[16]byte{9}, 42}}, 1, 0)
	r := l.append(0, newPayload(), 1, 0)
	require.Equal(t, ID{l.writer, 2}, l.slab[r.slot()].held(r.off(), l.writer).ID)
}

func TestAttemptsAndDoubtsAreCountedForEachEntry(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(130, newPayload)
	for i, r := range refs {
		for range i % 4 {
			l.failed(r)
		}
		l.setUnsure(r, i%3 == 0)
	}
	for i, r := range refs {
		require.Equal(t, i%4, l.attempts(r))
		require.Equal(t, i%3 == 0, l.unsure(r))
	}
}

func TestFrontierWalksOverChunksThatWereReleased(t *testing.T) {
	l := newTestLog()
	refs := l.appendN(3*chunkLen, newPayload)
	pass := func() int {
		_, _, n := l.frontier()
		l.front.off += n
		return n
	}
	require.Equal(t, chunkLen, pass())
	l.settle(refs[0], chunkLen)
	require.Equal(t, chunkLen, pass())
	require.Equal(t, chunkLen, pass())
	l.settle(refs[2*chunkLen], chunkLen)
	l.settle(refs[chunkLen], chunkLen)
	require.Zero(t, pass())
	require.Zero(t, l.chunks())
	l.appendN(5, newPayload)
	require.Equal(t, 5, pass())
}
