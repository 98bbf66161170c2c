package checkpoint

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListingReadsOnlyAndSeesEveryJob(t *testing.T) {
	l := newLocked()
	h := opened(t, l)
	defer h.Close()
	write(t, h, full)
	c := write(t, h, full)
	_, err := Open(t.Context(), l, Job{Name: "Aufträge 2", Instance: "b"}, Options{})
	require.NoError(t, err)
	for _, name := range []string{"orders/0/chk-7", "orders/chk-00000000000000000001", "a/b/c/chk-00000000000000000001",
		".hidden/0/chk-00000000000000000001", "orders/1/data/1-1", "orders/0/chk-99999999999999999999"} {
		require.NoError(t, l.Create(t.Context(), name, nil))
	}
	before := l.names()
	calls := len(l.calls)

	jobs, err := Jobs(t.Context(), l)
	require.NoError(t, err)
	require.Equal(t, []Job{{Name: "Aufträge 2", Instance: "b"}, orders}, jobs)
	list, err := List(t.Context(), l, Job{Name: "orders"})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, c.Manifest, list[1].Manifest)
	require.NoError(t, list[1].Check(t.Context()))
	list, err = List(t.Context(), l, jobs[0])
	require.NoError(t, err)
	require.Empty(t, list)
	for _, call := range l.since(calls) {
		require.Regexp(t, "^(list|open) ", call)
	}
	require.Equal(t, before, l.names())
}

func TestListingFailsWithTheStoreAndRefusesWrongNames(t *testing.T) {
	m := newMemory()
	c := write(t, opened(t, m), full)
	_, err := List(t.Context(), m, Job{})
	require.ErrorAs(t, err, new(*NameError))
	for _, name := range []string{"", "chk-1", "orders/0/", "/" + c.Path(), "a/../" + c.Path(), c.Path() + "x"} {
		_, err = At(t.Context(), m, name)
		require.ErrorContains(t, err, "must be the name of a manifest, such as orders/0/chk-00000000000000000042", name)
	}
	_, err = At(t.Context(), m, "orders/0/chk-00000000000000000007")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = At(t.Context(), m, "orders/0/chk-00000000000000000001")
	require.ErrorContains(t, err, "is an epoch record, no checkpoint")
	m.setHook(func(string, string) fate { return fails })
	_, err = List(t.Context(), m, orders)
	require.ErrorIs(t, err, errStore)
	_, err = Jobs(t.Context(), m)
	require.ErrorIs(t, err, errStore)
	_, err = At(t.Context(), m, c.Path())
	require.ErrorIs(t, err, errStore)
}

func TestAStoreThatCannotBeComparedIsTakenForAnother(t *testing.T) {
	m := newMemory()
	h := opened(t, uncomparable{m, nil})
	c := write(t, h, full)
	h = opened(t, uncomparable{m, nil})
	require.Error(t, h.RestoredFrom(c, Continue))
	require.NoError(t, h.RestoredFrom(c, NoClaim))
	require.NoError(t, write(t, h, copying(c)).Verify(t.Context(), nil))
}

type uncomparable struct {
	*memory
	_ []int
}
