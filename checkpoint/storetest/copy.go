package storetest

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

var copies = []promise{
	{"a copy has the bytes of the other", copyHasTheBytes},
	{"a copy outlives the other", copyOutlives},
	{"copy of nothing says that there is none", copyOfNothing},
	{"delete removes an object, and only it", deleteRemoves},
	{"delete of nothing is no error", deleteTwice},
}

func copyHasTheBytes(t *testing.T, e *env) {
	for _, n := range []int{0, 1000, large} {
		e.put(t, "from/1", content(1, n))
		require.NoError(t, e.Copy(t.Context(), "from/1", "to/deep/1"))
		e.has(t, "to/deep/1", content(1, n))
		e.has(t, "from/1", content(1, n))
		infos, err := e.List(t.Context(), "to/")
		require.NoError(t, err)
		require.Len(t, infos, 1)
		require.Equal(t, int64(n), infos[0].Size)
		require.NoError(t, e.Delete(t.Context(), "to/deep/1"))
	}
}

func copyOutlives(t *testing.T, e *env) {
	e.put(t, "from", content(1, 1000))
	require.NoError(t, e.Copy(t.Context(), "from", "deleted"))
	require.NoError(t, e.Copy(t.Context(), "from", "replaced"))
	e.put(t, "from", content(2, 10))
	e.has(t, "replaced", content(1, 1000))
	require.NoError(t, e.Delete(t.Context(), "from"))
	e.has(t, "deleted", content(1, 1000))
	require.NoError(t, e.Copy(t.Context(), "deleted", "again"))
	require.NoError(t, e.Delete(t.Context(), "deleted"))
	e.has(t, "again", content(1, 1000))
}

func copyOfNothing(t *testing.T, e *env) {
	e.put(t, "a/b", content(1, 10))
	for _, from := range []string{"x", "a", "a/b/c"} {
		require.ErrorIs(t, e.Copy(t.Context(), from, "to"), fs.ErrNotExist)
	}
	require.Equal(t, []string{"a/b"}, e.names(t, ""))
}

func deleteRemoves(t *testing.T, e *env) {
	for _, name := range []string{"a/1", "a/11", "a/b/1", "b"} {
		e.put(t, name, content(1, 10))
	}
	require.NoError(t, e.Delete(t.Context(), "a/1"))
	require.NoError(t, e.Delete(t.Context(), "b"))
	_, err := e.read(t.Context(), "a/1")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, []string{"a/11", "a/b/1"}, e.names(t, ""))
	e.put(t, "b/c", content(1, 10)) // the name is free for others below it
	e.has(t, "b/c", content(1, 10))
}

func deleteTwice(t *testing.T, e *env) {
	e.put(t, "a/b/c", content(1, 10))
	for _, name := range []string{"x", "a", "a/b", "a/b/c", "a/b/c", "a/b/c/d"} {
		require.NoError(t, e.Delete(t.Context(), name), "%s", name)
	}
	require.Empty(t, e.names(t, ""))
}
