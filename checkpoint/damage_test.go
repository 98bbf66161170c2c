package checkpoint

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

const newestSlot = "orders/0/chk-00000000000000000003"

// two is a state with two checkpoints, of which the second is the newest.
func two(t *testing.T) *memory {
	t.Helper()
	m := newMemory()
	h := opened(t, m)
	write(t, h, full)
	write(t, h, full)
	require.NoError(t, h.Close())
	return m
}

func requireDamaged(t *testing.T, err error, path string) *DamagedError {
	t.Helper()
	var damaged *DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, path, damaged.Path)
	require.ErrorContains(t, err, "checkpoint: "+path+" is damaged at byte ")
	require.ErrorContains(t, err, damaged.Advice)
	return damaged
}

func TestADamagedCheckpointIsNamedAndNothingOlderIsTakenUnasked(t *testing.T) {
	for what, change := range map[string]func(b []byte) []byte{
		"truncated":    func(b []byte) []byte { return b[:len(b)-1] },
		"empty":        func(b []byte) []byte { return nil },
		"a bit":        func(b []byte) []byte { b[len(b)/2]++; return b },
		"longer":       func(b []byte) []byte { return append(b, '\n') },
		"another file": func(b []byte) []byte { return []byte("{}") },
		"zeros":        func(b []byte) []byte { clear(b); return b },
		"large":        func(b []byte) []byte { return make([]byte, maxManifest+1) },
		"old":          func(b []byte) []byte { return []byte(oldMagic + "state") },
	} {
		t.Run(what, func(t *testing.T) {
			m := two(t)
			m.change(newestSlot, change)
			before := m.names()
			h := opened(t, m)
			require.Equal(t, uint64(3), h.Epoch(), "it may have been an epoch of its own")
			_, err := h.Newest(t.Context())
			damaged := requireDamaged(t, err, newestSlot)
			require.Equal(t, "move chk-00000000000000000003 away (or restore a named one: --restore 2) to go back to checkpoint 2, "+
				"at the price of duplicates: what was settled since is sent again", damaged.Advice)
			require.Equal(t, what == "old", strings.Contains(err.Error(), "an older development version wrote it"))
			_, err = h.Find(t.Context(), 3)
			requireDamaged(t, err, newestSlot)
			list, err := List(t.Context(), m, orders)
			requireDamaged(t, err, newestSlot)
			require.Len(t, list, 1)
			_, err = At(t.Context(), m, newestSlot)
			require.Equal(t, "restore another one", requireDamaged(t, err, newestSlot).Advice)
			require.Subset(t, m.names(), before, "nothing was removed")

			clone := m.clone() // the one piece of advice works
			clone.rename(newestSlot, newestSlot+".damaged")
			require.Equal(t, uint64(2), newest(t, opened(t, clone)).ID)
			clone.change("orders/0/chk-00000000000000000002", change)
			_, err = opened(t, clone).Newest(t.Context())
			require.Contains(t, requireDamaged(t, err, "orders/0/chk-00000000000000000002").Advice, "there is none before it")

			c, err := h.Find(t.Context(), 2) // and the other
			require.NoError(t, err)
			require.NoError(t, h.RestoredFrom(c, Claim))
			_, err = h.Write(t.Context(), sharing(c))
			require.NoError(t, err)
			for range 3 {
				c, err = h.Write(t.Context(), full)
				require.NoError(t, err)
			}
			damaged = requireDamaged(t, h.PruneError(), newestSlot)
			require.Equal(t, "move it away: until then nothing is deleted, since nobody knows what files it names", damaged.Advice)
			_, err = h.Sweep(t.Context())
			requireDamaged(t, err, newestSlot)
			require.Subset(t, m.names(), before)
			require.Equal(t, c.Manifest, newest(t, opened(t, m)).Manifest, "it lies below the newest")
			m.delete(newestSlot)
			write(t, opened(t, m), full)
			require.Len(t, ids(t, m), 2)
		})
	}
}

func TestEachByteOfTheNewestManifestThatIsFlippedOrCutIsADamagedErrorThatSaysWhatToDo(t *testing.T) {
	whole := two(t)
	for i := range whole.objects[newestSlot].data {
		for _, change := range []func(b []byte) []byte{
			func(b []byte) []byte { b[i] ^= 1 << (i % 8); return b },
			func(b []byte) []byte { return b[:i] },
		} {
			m := whole.clone()
			m.change(newestSlot, change)
			_, err := opened(t, m).Newest(t.Context())
			require.Contains(t, requireDamaged(t, err, newestSlot).Advice, "to go back to checkpoint 2")
		}
	}
}

func TestAMissingOrDamagedFileIsADamagedErrorThatSaysWhatToDo(t *testing.T) {
	const file = "orders/0/data/1-3"
	for what, change := range map[string]func(m *memory){
		"missing":   func(m *memory) { m.delete(file) },
		"truncated": func(m *memory) { m.change(file, func(b []byte) []byte { return b[:100] }) },
		"longer":    func(m *memory) { m.change(file, func(b []byte) []byte { return append(b, 0) }) },
		"a bit":     func(m *memory) { m.change(file, func(b []byte) []byte { b[100]++; return b }) },
	} {
		m := two(t)
		change(m)
		h := opened(t, m)
		_, err := h.Newest(t.Context())
		if what == "a bit" {
			require.NoError(t, err, "it is not read")
		} else {
			requireDamaged(t, err, file)
		}
		c, err := At(t.Context(), m, newestSlot)
		require.NoError(t, err, "which does not look at the files")
		requireDamaged(t, c.Verify(t.Context(), nil), file)

		list, err := List(t.Context(), m, orders)
		require.NoError(t, err)
		err = list[1].Verify(t.Context(), nil)
		damaged := requireDamaged(t, err, file)
		require.Contains(t, damaged.Advice, "move chk-00000000000000000003 away (or restore a named one: --restore 2)", what)
		require.Equal(t, what == "missing", errors.Is(err, fs.ErrNotExist))
		require.Equal(t, map[string]int64{"truncated": 100, "longer": 600}[what], damaged.Offset)
		require.NoError(t, list[0].Verify(t.Context(), nil))

		h = opened(t, newMemory()) // it is not carried on, to another store
		_, err = h.Write(t.Context(), copying(list[1]))
		requireDamaged(t, err, file)
	}
	m := two(t)
	c := newest(t, opened(t, m))
	m.delete(file)
	_, err := opened(t, m).Write(t.Context(), copying(c)) // nor within the store
	requireDamaged(t, err, file)
	_, err = opened(t, m).Write(t.Context(), sharing(c))
	require.ErrorContains(t, err, "data/1-3: it should have 600 bytes, and the store has 0")
}

func TestWhatAReaderFindsGetsTheAdviceAsWell(t *testing.T) {
	c := newest(t, opened(t, two(t)))
	why := &statecodec.FormatError{Offset: 17, Fault: statecodec.Checksum}
	err := c.Damaged(c.State(), 17, why)
	require.Contains(t, requireDamaged(t, err, "orders/0/data/1-4").Advice, "--restore 2")
	require.Equal(t, int64(17), err.Offset)
	require.ErrorIs(t, err, why)
}

func TestVerifyTellsHowFarItIsAndEndsWithItsContext(t *testing.T) {
	c := newest(t, opened(t, two(t)))
	var told []int64
	require.NoError(t, c.Verify(t.Context(), func(n int64) { told = append(told, n) }))
	require.IsNonDecreasing(t, told)
	require.Equal(t, c.Bytes(), told[len(told)-1])
}

func TestANewerFormatIsNoDamageAndChangesNothing(t *testing.T) {
	m := two(t)
	m.change(newestSlot, func([]byte) []byte { return sealed(`{"format": 1}` + "\n") })
	before := m.names()
	_, err := Open(t.Context(), m, orders, Options{})
	var newer *statecodec.NewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, uint32(1), newer.Found)
	require.ErrorContains(t, err, "checkpoint: "+newestSlot+": ")
	require.False(t, errors.As(err, new(*DamagedError)))
	require.Equal(t, before, m.names())
	list, err := List(t.Context(), m, orders)
	require.ErrorAs(t, err, &newer)
	require.Len(t, list, 1)
	_, err = At(t.Context(), m, newestSlot)
	require.ErrorAs(t, err, &newer)
}

// A newer program that opens the state while an older one runs has taken it over.
func TestAProcessThatMeetsANewerFormatStops(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	write(t, h, full)
	require.NoError(t, m.Create(t.Context(), newestSlot, sealed(`{"format": 1}`+"\n")))
	for range 2 {
		_, err := h.Write(t.Context(), full)
		require.ErrorAs(t, err, new(*statecodec.NewerError))
	}
	require.True(t, bytes.Contains(m.objects[newestSlot].data, []byte(`"format": 1`)), "it was left alone")
}

func TestAnotherJobsStateIsRefusedAndLeftAlone(t *testing.T) {
	m := newMemory()
	other, err := Open(t.Context(), m, invoices, Options{})
	require.NoError(t, err)
	write(t, other, full)
	for _, name := range m.names() {
		m.rename(name, strings.Replace(name, "invoices", "orders", 1))
	}
	before := m.names()
	_, err = Open(t.Context(), m, orders, Options{})
	var found *OtherJobError
	require.ErrorAs(t, err, &found)
	require.Equal(t, OtherJobError{Path: "orders/0/chk-00000000000000000001", Found: invoices, Want: orders}, *found)
	require.ErrorContains(t, err, `belongs to job "invoices", instance "0", not to job "orders", instance "0"`)
	require.Equal(t, before, m.names())
}

func TestACheckpointCopiedFromAnotherJobIsRefused(t *testing.T) {
	m := two(t)
	other, err := Open(t.Context(), m, invoices, Options{})
	require.NoError(t, err)
	c := write(t, other, full)
	m.change("orders/0/"+slotName(2), func([]byte) []byte { return m.objects[c.Path()].data })
	_, err = Open(t.Context(), m, orders, Options{})
	require.ErrorAs(t, err, new(*OtherJobError))
	_, err = List(t.Context(), m, orders)
	require.ErrorAs(t, err, new(*OtherJobError))
}

func TestAManifestUnderAnotherNumberIsDamaged(t *testing.T) {
	m := two(t)
	m.change(newestSlot, func([]byte) []byte { return m.objects["orders/0/"+slotName(2)].data })
	_, err := opened(t, m).Newest(t.Context())
	requireDamaged(t, err, newestSlot)
	require.ErrorContains(t, err, "it is that of checkpoint 2, under another name")
}

func TestAnErrorOfTheStoreIsNoDamage(t *testing.T) {
	m := two(t)
	m.setHook(func(op, name string) fate {
		if op == "open" {
			return fails
		}
		return works
	})
	_, err := Open(t.Context(), m, orders, Options{})
	require.ErrorIs(t, err, errStore)
	require.False(t, errors.As(err, new(*DamagedError)))
	m.setHook(nil)
	h := opened(t, m)
	c := newest(t, h)
	m.setHook(func(string, string) fate { return fails })
	_, err = h.Newest(t.Context())
	require.ErrorIs(t, err, errStore)
	for _, err := range []error{err, c.Verify(t.Context(), nil), c.Check(t.Context())} {
		require.ErrorIs(t, err, errStore)
		require.ErrorContains(t, err, "checkpoint 3: the store fails")
		require.False(t, errors.As(err, new(*DamagedError)))
	}
}
