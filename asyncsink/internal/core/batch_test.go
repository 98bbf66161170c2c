package core

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBatchTakesRunsOfAChunk(t *testing.T) {
	writer := [16]byte{9}
	l := newArrivals[string](writer, true, false)
	var refs []ref
	for i, e := range []string{"a", "b", "c", "d"} {
		refs = append(refs, l.append(0, e, uint32(10+i), uint64(i)))
	}
	l.failed(refs[2])
	l.setUnsure(refs[1], true)

	for i, r := range refs {
		*l.lane(r) = int32(i)
	}
	var b Batch[string]
	b.take(&l, refs[1], 3, 36)
	b.take(&l, refs[0], 1, 10)
	require.Equal(t, []string{"b", "c", "d", "a"}, b.Entries)
	require.Equal(t, []Seq{2, 3, 4, 1}, b.Seqs)
	require.Equal(t, []uint16{0, 1, 0, 0}, b.Attempts)
	require.Equal(t, []int32{1, 2, 3, 0}, b.lanes)
	require.EqualValues(t, 46, b.Bytes)
	require.Equal(t, []ref{refs[1]}, b.unsure, "possible duplicates, once they are sent")
	require.True(t, l.unsure(refs[1]), "nothing has been sent yet")
	require.Nil(t, b.IDs, "derived from the sequences")
}

func TestBatchKeepsTheIDsOfRestoredEntries(t *testing.T) {
	now, then := [16]byte{2}, [16]byte{1}
	l := newArrivals[string](now, false, false)
	restored := l.restore(Held[string]{ID: ID{then, 77}, Entry: "old"}, 1, 0)
	offered := l.append(0, "offered meanwhile", 1, 0)
	l.seal()
	fresh := l.append(0, "new", 1, 0)

	for _, order := range [][]ref{{restored, offered, fresh}, {fresh, offered, restored}} {
		var b Batch[string]
		for _, r := range order {
			b.take(&l, r, 1, 1)
		}
		b.inOrder()
		require.Equal(t, []string{"old", "offered meanwhile", "new"}, b.Entries)
		require.Equal(t, []ID{{then, 77}, {now, 2}, {now, 3}}, b.IDs)
	}
}

func TestBatchIsPutInArrivalOrderWithAllThatBelongsToAnEntry(t *testing.T) {
	l := newArrivals[int]([16]byte{}, true, false)
	var refs []ref
	for i := range 50 {
		r := l.restore(Held[int]{ID: ID{Seq: Seq(1000 + i)}, Entry: i, Attempts: i}, 1, uint64(i))
		refs = append(refs, r)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	for _, r := range refs {
		*l.lane(r) = int32(l.seq(r)) - 1
	}
	var b Batch[int]
	for _, r := range refs {
		b.take(&l, r, 1, 1)
	}
	b.inOrder()
	for i := range 50 {
		require.Equal(t, i, b.Entries[i])
		require.Equal(t, Seq(i+1), b.Seqs[i])
		require.Equal(t, Seq(1000+i), b.IDs[i].Seq)
		require.EqualValues(t, i, b.Attempts[i])
		require.EqualValues(t, i, b.lanes[i])
		require.Equal(t, Seq(i+1), l.seq(b.refs[i]))
	}
}

func TestARecycledBatchHoldsNoEntries(t *testing.T) {
	l := newArrivals[*int]([16]byte{}, false, false)
	var b Batch[*int]
	b.take(&l, l.append(0, new(int), 1, 0), 1, 1)
	entries := b.Entries[:1]
	b.reset()
	require.Nil(t, entries[0])
	require.Equal(t, Batch[*int]{Entries: b.Entries, Seqs: b.Seqs, Attempts: b.Attempts, refs: b.refs}, b)
	require.Empty(t, b.Entries)
}

func TestFlightsStandInTheOrderOfTheirDeadlines(t *testing.T) {
	var f flights[int]
	r := rand.New(rand.NewPCG(1, 1))
	var out []*Batch[int]
	for range 500 {
		if len(out) > 0 && r.IntN(3) == 0 {
			i := r.IntN(len(out))
			f.remove(out[i])
			out = slices.Delete(out, i, i+1)
		} else {
			b := &Batch[int]{Deadline: Time(r.IntN(1000))} // a lowered time-out makes earlier ones
			f.add(b)
			out = append(out, b)
		}
		require.Equal(t, len(out), f.n)
		var back []*Batch[int]
		at := Time(0)
		for b := f.first; b != nil; b = b.newer {
			require.GreaterOrEqual(t, b.Deadline, at)
			at = b.Deadline
			back = append(back, b)
		}
		require.True(t, slices.Equal(out, back))
	}
}
