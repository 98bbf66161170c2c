package checkpoint

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var invoices = Job{Name: "invoices", Instance: "0"}

// failedJob leaves two checkpoints of another job, of which the second shares a file of the first.
func failedJob(t *testing.T, s Store) (first, second *Checkpoint) {
	t.Helper()
	h, err := Open(t.Context(), s, invoices, Options{})
	require.NoError(t, err)
	first = write(t, h, full)
	second = write(t, h, func(ctx context.Context, d *Draft) error {
		require.NoError(t, d.Share(first.Files[0]))
		return full(ctx, d)
	})
	require.NoError(t, h.Close())
	return first, second
}

func under(m *memory, prefix string) map[string]object {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := maps.Clone(m.objects)
	maps.DeleteFunc(found, func(name string, _ object) bool { return !strings.HasPrefix(name, prefix) })
	return found
}

func requireSame(t *testing.T, want, got map[string]object) {
	t.Helper()
	for name, o := range want {
		require.Contains(t, got, name)
		require.True(t, bytes.Equal(o.data, got[name].data), name)
	}
}

func TestManifestsSayWhatTheirLifeWasRestoredFrom(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	first := write(t, h, full)
	require.Nil(t, first.Lineage.RestoredFrom, "it began without")
	h = opened(t, m)
	require.NoError(t, h.RestoredFrom(newest(t, h), Continue))
	want := &Origin{Name: "orders/0/chk-00000000000000000002", ID: 2, CRC32C: first.crc, Mode: Continue}
	require.Equal(t, want, write(t, h, sharing(first)).Lineage.RestoredFrom)
	require.Equal(t, want, write(t, h, sharing(first)).Lineage.RestoredFrom, "also those that follow")

	elsewhere := newMemory()
	h = opened(t, named{elsewhere, "mem:elsewhere"})
	require.NoError(t, h.RestoredFrom(first, NoClaim))
	require.Equal(t, "another", write(t, h, copying(first)).Lineage.RestoredFrom.Store)
	require.Equal(t, "mem:elsewhere/orders/0", h.Path())
	fourth := newest(t, h)
	h = opened(t, newMemory())
	require.NoError(t, h.RestoredFrom(fourth, NoClaim))
	require.Equal(t, "mem:elsewhere", write(t, h, copying(fourth)).Lineage.RestoredFrom.Store)
}

// named is a store that knows what it is called.
type named struct {
	*memory
	name string
}

func (n named) String() string { return n.name }

func TestRestoringIsSaidOnceBeforeTheFirstWriteAndFits(t *testing.T) {
	m := newMemory()
	_, foreign := failedJob(t, m)
	h := opened(t, m)
	require.EqualError(t, h.RestoredFrom(foreign, Continue),
		"checkpoint: invoices/0/chk-00000000000000000003 is not of this job: claim it, or restore it with no-claim")
	require.EqualError(t, h.RestoredFrom(foreign, "steal"), `checkpoint: mode: "steal": must be continue, claim or no-claim`)
	require.NoError(t, h.RestoredFrom(foreign, NoClaim))
	require.ErrorContains(t, h.RestoredFrom(foreign, NoClaim), "once, before its first checkpoint")
	h = opened(t, m)
	write(t, h, full)
	require.ErrorContains(t, h.RestoredFrom(foreign, NoClaim), "once, before its first checkpoint")
}

// FLINK-39964: an incremental checkpoint that follows a claim must stand when what was claimed is gone.
func TestWhatWasClaimedOfAnotherJobIsDeletedOnceSubsumedAndWhatFollowsCanBeRestored(t *testing.T) {
	for _, lock := range []bool{false, true} {
		l := newLocked()
		m := l.memory
		var s Store = m
		if lock {
			s = l
		}
		first, second := failedJob(t, s)
		h := opened(t, s, Options{Retained: 3})
		c, err := At(t.Context(), s, second.Name())
		require.NoError(t, err)
		require.Equal(t, second.Manifest, c.Manifest)
		require.NoError(t, h.RestoredFrom(c, Claim))
		_, err = h.Sweep(t.Context())
		require.NoError(t, err)
		require.Error(t, h.RestoredFrom(c, Claim))
		require.NoError(t, c.Verify(t.Context(), nil), "not subsumed yet")

		release := h.Retain(c.ID) // it is still being read
		next := write(t, h, copying(c))
		require.NoError(t, c.Verify(t.Context(), nil))
		release()
		last := write(t, h, sharing(next))
		_, err = At(t.Context(), s, "invoices/0/chk-00000000000000000003")
		require.Error(t, err)
		left, err := List(t.Context(), s, invoices)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, first.Manifest, left[0].Manifest)
		require.NoError(t, left[0].Verify(t.Context(), nil), "it shared a file of it")
		requireNoOrphans(t, m)
		require.NoError(t, h.Close())

		h = opened(t, s, Options{Retained: 3})
		require.Equal(t, last.Manifest, newest(t, h).Manifest)
		write(t, h, sharing(last))
		require.NoError(t, h.Close())
	}
}

func TestAClaimIsCarriedOutByTheNextLifeIfTheFirstCrashed(t *testing.T) {
	m := newMemory()
	_, second := failedJob(t, m)
	h := opened(t, m)
	require.NoError(t, h.RestoredFrom(second, Claim))
	m.setHook(func(op, name string) fate {
		if op == "delete" {
			return fails
		}
		return works
	})
	c, err := h.Write(t.Context(), copying(second))
	require.NoError(t, err)
	require.ErrorIs(t, h.PruneError(), errStore)
	require.ErrorContains(t, h.PruneError(), "delete invoices/0/chk-00000000000000000003, which was claimed")
	m.setHook(nil)

	h = opened(t, m)
	require.NoError(t, h.RestoredFrom(newest(t, h), Continue))
	write(t, h, sharing(c))
	require.NotContains(t, m.names(), "invoices/0/chk-00000000000000000003")
	requireNoOrphans(t, m)

	// The other job runs again: its number is given again, and what has it now is not what was claimed.
	other, err := Open(t.Context(), m, invoices, Options{Retained: 5})
	require.NoError(t, err)
	require.Equal(t, uint64(3), other.number-1)
	write(t, other, full)
	before := under(m, "invoices/")
	h = opened(t, m)
	write(t, h, sharing(c))
	requireSame(t, before, under(m, "invoices/"))
}

func TestWhatARunningJobHasOrKeepsIsNotDeletedByAClaim(t *testing.T) {
	s := newLocked()
	_, second := failedJob(t, s)
	other, err := Open(t.Context(), s, invoices, Options{})
	require.NoError(t, err)
	h := opened(t, s)
	require.NoError(t, h.RestoredFrom(second, Claim))
	_, err = h.Write(t.Context(), copying(second))
	require.NoError(t, err)
	require.ErrorAs(t, h.PruneError(), new(*LockedError))
	require.NoError(t, second.Verify(t.Context(), nil))

	require.NoError(t, other.RestoredFrom(second, NoClaim))
	write(t, other, copying(second))
	require.NoError(t, other.Close())
	write(t, h, full)
	require.NoError(t, second.Verify(t.Context(), nil), "its job has promised to keep it")
	require.NoError(t, h.Close())
}

func TestADamagedSlotOfAnotherJobKeepsItsFilesFromBeingDeletedByAClaim(t *testing.T) {
	m := newMemory()
	_, second := failedJob(t, m)
	h := opened(t, m)
	require.NoError(t, h.RestoredFrom(second, Claim))
	m.change("invoices/0/chk-00000000000000000002", func(b []byte) []byte { return b[1:] })
	before := under(m, "invoices/")
	_, err := h.Write(t.Context(), copying(second))
	require.NoError(t, err)
	require.ErrorAs(t, h.PruneError(), new(*DamagedError))
	requireSame(t, before, under(m, "invoices/"))
	_, err = h.Sweep(t.Context())
	require.ErrorAs(t, err, new(*DamagedError))
}

func TestOnesOwnThatIsClaimedIsSharedAndSubsumedAsAnyOther(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 2})
	first := write(t, h, full)
	write(t, h, full)
	h = opened(t, m, Options{Retained: 2})
	c, err := h.Find(t.Context(), first.ID)
	require.NoError(t, err)
	require.NoError(t, h.RestoredFrom(c, Claim)) // back to the one before the newest
	next := write(t, h, sharing(c))
	last := write(t, h, sharing(next))
	require.Equal(t, []uint64{next.ID, last.ID}, ids(t, m))
	require.Equal(t, last.Manifest, newest(t, opened(t, m)).Manifest)
	requireNoOrphans(t, m)
}

func TestWhatWasRestoredWithNoClaimIsNeverTouchedOverManyCheckpointsAndLives(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 3})
	first := write(t, h, full)
	kept := write(t, h, sharing(first)) // it shares files with one that is not kept
	write(t, h, sharing(kept))
	before := map[string]object{"orders/0/chk-00000000000000000003": {}}
	for _, f := range kept.Files {
		before["orders/0/"+f.Name] = object{}
	}
	for name := range before {
		before[name] = m.objects[name]
	}
	touched := func(op, name string) fate {
		_, of := before[name]
		assert.False(t, of && op != "open", "%s %s", op, name)
		return works
	}

	h = opened(t, m, Options{Retained: 1, Grace: instant})
	c, err := h.Find(t.Context(), kept.ID)
	require.NoError(t, err)
	require.NoError(t, h.RestoredFrom(c, NoClaim))
	m.setHook(touched)
	_, err = h.Write(t.Context(), sharing(c))
	require.EqualError(t, err,
		"checkpoint: write checkpoint 6: share data/1-1: checkpoint 3, which is kept as it is, names it: copy it")
	next := write(t, h, copying(c))
	for _, f := range next.Files {
		require.True(t, strings.HasPrefix(f.Name, "data/2-"), "a full one shares nothing: %s", f.Name)
	}
	require.Equal(t, []uint64{3}, next.Lineage.Keep)
	for life := range 5 {
		for range 5 {
			next = write(t, h, sharing(next))
			require.Equal(t, []uint64{3}, next.Lineage.Keep, "carried on")
			next = write(t, h, full)
		}
		_, err := h.Sweep(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Close())
		h = opened(t, m, Options{Retained: 1, Grace: instant})
		if life == 2 {
			require.EqualError(t, h.RestoredFrom(c, Claim),
				"checkpoint: "+kept.Path()+" is kept as it is, since it was restored with no-claim: use that again")
		}
		require.NoError(t, h.RestoredFrom(newest(t, h), Continue))
	}
	requireSame(t, before, under(m, "orders/"))
	require.Equal(t, []uint64{3, next.ID}, ids(t, m))
	requireNoOrphans(t, m)

	again, err := h.Find(t.Context(), kept.ID)
	require.NoError(t, err)
	require.NoError(t, again.Verify(t.Context(), nil))
}

func TestWhatIsKeptOutlivesManifestsThatAPersonMovedAway(t *testing.T) {
	m := newMemory()
	h := opened(t, m, Options{Retained: 1})
	kept := write(t, h, full)
	require.NoError(t, h.Close())
	h = opened(t, m, Options{Retained: 1})
	require.NoError(t, h.RestoredFrom(newest(t, h), NoClaim))
	next := write(t, h, copying(kept))
	require.NoError(t, h.Close())
	h = opened(t, m, Options{Retained: 1}) // whose epoch record says it as well
	require.NoError(t, h.Close())
	m.rename("orders/0/"+slotName(next.ID), "elsewhere")
	h = opened(t, m, Options{Retained: 1})
	require.Equal(t, kept.Manifest, newest(t, h).Manifest, "the one to go back to")
	for range 3 {
		write(t, h, full)
	}
	require.NoError(t, kept.Verify(t.Context(), nil))
}

func TestWhatWasRestoredWithNoClaimOfAnotherJobIsNeverTouched(t *testing.T) {
	m := newMemory()
	_, second := failedJob(t, m)
	before := under(m, "invoices/")
	h := opened(t, m, Options{Retained: 1, Grace: instant})
	require.NoError(t, h.RestoredFrom(second, NoClaim))
	_, err := h.Write(t.Context(), sharing(second))
	require.EqualError(t, err, "checkpoint: write checkpoint 2: share data/1-1: no checkpoint of this job names it")
	next := write(t, h, copying(second))
	for range 5 {
		next = write(t, h, sharing(next))
	}
	_, err = h.Sweep(t.Context())
	require.NoError(t, err)
	requireSame(t, before, under(m, "invoices/"))
	require.Len(t, under(m, "invoices/"), len(before))
}

func TestARootThatWasMovedOrCopiedStillRestores(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	first := write(t, h, full)
	last := write(t, h, sharing(first))
	moved := newMemory()
	for name, o := range m.objects {
		moved.objects[name] = o
		moved.objects["backup/monday/"+name] = o
	}
	clear(m.objects)
	h = opened(t, moved)
	require.Equal(t, last.Manifest, newest(t, h).Manifest)
	next := write(t, h, sharing(last))
	require.Equal(t, next.Manifest, newest(t, opened(t, moved)).Manifest)

	c, err := At(t.Context(), moved, "backup/monday/orders/0/chk-00000000000000000003")
	require.NoError(t, err)
	require.Equal(t, last.Manifest, c.Manifest)
	require.NoError(t, c.Verify(t.Context(), nil))
	h = opened(t, moved)
	require.NoError(t, h.RestoredFrom(c, NoClaim))
	write(t, h, copying(c))
}
