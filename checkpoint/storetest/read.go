package storetest

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

var reads = []promise{
	{"open of nothing says that there is none", openOfNothing},
	{"an object can be read twice at once, and in part", openTwice},
}

func openOfNothing(t *testing.T, e *env) {
	e.put(t, "a/b/c", content(1, 10))
	for _, name := range []string{"x", "a", "a/b", "a/b/c/d", "a/b/x", "a/b/cc"} {
		r, err := e.Open(t.Context(), name)
		require.ErrorIs(t, err, fs.ErrNotExist, "%s", name)
		require.Nil(t, r)
	}
}

func openTwice(t *testing.T, e *env) {
	b := content(1, 1<<20)
	e.put(t, "a", b)
	first, err := e.Open(t.Context(), "a")
	require.NoError(t, err)
	head := make([]byte, 1000)
	_, err = io.ReadFull(first, head)
	require.NoError(t, err)
	require.Equal(t, b[:1000], head)
	e.has(t, "a", b)
	_, err = io.ReadFull(first, head)
	require.NoError(t, err)
	require.Equal(t, b[1000:2000], head)
	require.NoError(t, first.Close(), "before its end")
}

var lists = []promise{
	{"list is by name", listIsByName},
	{"list has the objects that begin with the prefix", listByPrefix},
	{"list says size and time", listSays},
	{"list does not show what is being written", listWhileWriting},
	{"a list may be long", listIsLong},
}

func listIsByName(t *testing.T, e *env) {
	require.Empty(t, e.names(t, ""))
	names := []string{"chk-2", "chk-10", "b/1", "a", "data/3-17", "data/3-2", "data-1", "data.d/1", "data_1/x", "B", "data/3/deep", "1"}
	for _, name := range names {
		e.put(t, name, nil)
	}
	slices.Sort(names) // by bytes: - and . come before /, which comes before digits and letters
	require.Equal(t, names, e.names(t, ""))
}

func listByPrefix(t *testing.T, e *env) {
	for _, name := range []string{"jobs/0/chk-1", "jobs/0/chk-2", "jobs/0/data/1-1", "jobs/00/chk-1", "jobs/1/chk-1", "other/0/chk-1"} {
		e.put(t, name, nil)
	}
	for prefix, want := range map[string][]string{
		"jobs/0/":       {"jobs/0/chk-1", "jobs/0/chk-2", "jobs/0/data/1-1"},
		"jobs/0/chk-":   {"jobs/0/chk-1", "jobs/0/chk-2"},
		"jobs/0":        {"jobs/0/chk-1", "jobs/0/chk-2", "jobs/0/data/1-1", "jobs/00/chk-1"}, // of the name, not a folder
		"jobs/0/chk-1":  {"jobs/0/chk-1"},
		"o":             {"other/0/chk-1"},
		"jobs/0/chk-11": {},
		"nothing/":      {},
	} {
		require.Equal(t, want, e.names(t, prefix), "prefix %q", prefix)
	}
}

func listSays(t *testing.T, e *env) {
	e.put(t, "a", content(1, 12345))
	e.put(t, "empty", nil)
	e.put(t, "large", content(2, large))
	require.NoError(t, e.Create(t.Context(), "made", content(3, 77)))
	infos, err := e.List(t.Context(), "")
	require.NoError(t, err)
	sizes := map[string]int64{}
	for _, i := range infos {
		sizes[i.Name] = i.Size
		require.WithinDuration(t, time.Now(), i.Modified, time.Hour, "%s: clocks differ, but not by as much", i.Name)
	}
	require.Equal(t, map[string]int64{"a": 12345, "empty": 0, "large": large, "made": 77}, sizes)
}

func listWhileWriting(t *testing.T, e *env) {
	old, half := content(1, 10), content(2, large/2)
	e.put(t, "old", old)
	for _, name := range []string{"new", "old"} {
		require.NoError(t, e.Put(t.Context(), name, func(w io.Writer) error {
			for range 2 {
				if err := writing(half)(w); err != nil {
					return err
				}
				infos, err := e.List(t.Context(), "")
				require.NoError(t, err)
				for _, i := range infos {
					require.NotEqual(t, "new", i.Name)
					require.Equal(t, int64(10), i.Size, "%s is the old one", i.Name)
				}
				require.Len(t, infos, 1)
				_, err = e.read(t.Context(), "new")
				require.ErrorIs(t, err, fs.ErrNotExist)
				e.has(t, "old", old)
			}
			return nil
		}))
		e.has(t, name, append(half, half...))
		require.NoError(t, e.Delete(t.Context(), "new"))
	}
	require.Equal(t, []string{"old"}, e.names(t, ""))
}

func listIsLong(t *testing.T, e *env) {
	want := make([]string, e.objects)
	errs := make(chan error, e.objects)
	var writers sync.WaitGroup
	limit := make(chan struct{}, 8)
	for n := range want {
		want[n] = fmt.Sprintf("data/%06d", n)
		writers.Go(func() {
			limit <- struct{}{}
			errs <- e.Put(t.Context(), want[n], writing(content(uint64(n), n%7)))
			<-limit
		})
	}
	writers.Wait()
	for range want {
		require.NoError(t, <-errs)
	}
	e.put(t, "a", nil)
	e.put(t, "z", nil)
	infos, err := e.List(t.Context(), "data/")
	require.NoError(t, err)
	require.Len(t, infos, len(want))
	for n, i := range infos {
		require.Equal(t, checkpoint.Info{Name: want[n], Size: int64(n % 7), Modified: i.Modified}, i)
	}
}
