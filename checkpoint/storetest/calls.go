package storetest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var calls = []promise{
	{"names may have many levels", manyLevels},
	{"names that are no paths are refused", oddNames},
	{"a ctx that has ended changes nothing", endedContext},
}

func manyLevels(t *testing.T, e *env) {
	names := []string{
		"0/" + strings.Repeat("level/", 20) + "name", "a/b.c/d-e_f/..g/h..", "a/b/c/d/e/f/g", "b/" + strings.Repeat("n", 200) + "/0/data/3-17",
	}
	for n, name := range names {
		e.put(t, name, content(uint64(n), 10))
	}
	for n, name := range names {
		e.has(t, name, content(uint64(n), 10))
	}
	require.Equal(t, names, e.names(t, ""))
}

func oddNames(t *testing.T, e *env) {
	e.put(t, "a", content(1, 10))
	for _, name := range []string{
		"", "/", ".", "..", "/a", "a/", "a//b", "./a", "a/.", "a/./b", "../a", "a/..", "b/../a", `b\a`, "b\x00", "b\n", "\xff",
	} {
		filled := false
		require.Error(t, e.Put(t.Context(), name, func(io.Writer) error { filled = true; return nil }), "put %q", name)
		require.False(t, filled, "put %q", name)
		require.Error(t, e.Create(t.Context(), name, nil), "create %q", name)
		_, err := e.read(t.Context(), name)
		require.Error(t, err, "open %q", name)
		require.Error(t, e.Copy(t.Context(), "a", name), "copy to %q", name)
		require.Error(t, e.Copy(t.Context(), name, "b"), "copy from %q", name)
		require.Error(t, e.Delete(t.Context(), name), "delete %q", name)
	}
	require.Equal(t, []string{"a"}, e.names(t, ""))
	e.has(t, "a", content(1, 10))
}

func endedContext(t *testing.T, e *env) {
	e.put(t, "a", content(1, 10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, opened := e.Open(ctx, "a")
	_, listed := e.List(ctx, "")
	for call, err := range map[string]error{
		"put":    e.Put(ctx, "b", writing(nil)),
		"create": e.Create(ctx, "c", nil),
		"open":   opened,
		"list":   listed,
		"copy":   e.Copy(ctx, "a", "d"),
		"delete": e.Delete(ctx, "a"),
	} {
		require.ErrorIs(t, err, context.Canceled, "%s", call)
	}
	require.Equal(t, []string{"a"}, e.names(t, ""))
	e.has(t, "a", content(1, 10))
}
