package crashfs

import (
	"bytes"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
)

// put makes a file with some text, synced or not.
func put(t *testing.T, f *FS, at, text string, sync bool) {
	t.Helper()
	w, err := f.Create(at)
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	if sync {
		require.NoError(t, w.Sync())
	}
	require.NoError(t, w.Close())
}

// tree returns the text of each file by its path; of a folder "/".
func tree(t *testing.T, f files.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	var in func(at string)
	in = func(at string) {
		list, err := f.List(at)
		require.NoError(t, err)
		for _, i := range list {
			p := path.Join(at, i.Name)
			if i.Dir {
				found[p] = "/"
				in(p)
				continue
			}
			r, err := f.Open(p)
			require.NoError(t, err)
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Len(t, b, int(i.Size))
			found[p] = string(b)
		}
	}
	in("/")
	return found
}

// outcomes crashes with many seeds and returns the trees that there may be, each as one text.
func outcomes(t *testing.T, f *FS) []string {
	t.Helper()
	seen := map[string]bool{}
	for seed := range uint64(300) {
		var b strings.Builder
		found := tree(t, f.Crashed(rand.New(rand.NewPCG(seed, 1))))
		for _, p := range slices.Sorted(maps.Keys(found)) {
			b.WriteString(p + "=" + found[p] + " ")
		}
		seen[strings.TrimSpace(b.String())] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestACrashForgetsNamesAndBytesThatWereNotSynced(t *testing.T) {
	f := New()
	put(t, f, "/bytes", "text", true)
	require.Empty(t, tree(t, f.Crashed(nil)), "the name was not synced")

	f = New()
	put(t, f, "/name", "text", false)
	require.NoError(t, f.Sync("/"))
	require.Equal(t, map[string]string{"/name": ""}, tree(t, f.Crashed(nil)), "the bytes were not synced")

	next := f.Crashed(nil)
	put(t, next, "/other", "text", true)
	require.NotContains(t, tree(t, next.Crashed(nil)), "/other", "nor after a crash before")
}

func TestWhatWasSyncedOutlivesEachCrash(t *testing.T) {
	f := New("/d")
	put(t, f, "/d/a", "text", true)
	put(t, f, "/d/b", "more", false)
	require.NoError(t, f.Sync("/d/b"))
	require.NoError(t, f.Link("/d/a", "/d/c"))
	require.NoError(t, f.Remove("/d/a"))
	require.NoError(t, f.Sync("/d"))
	require.Equal(t, []string{"/d=/ /d/b=more /d/c=text"}, outcomes(t, f))

	again := f.Crashed(nil).Crashed(rand.New(rand.NewPCG(1, 2)))
	require.Equal(t, tree(t, f.Crashed(nil)), tree(t, again))
}

func TestOfTwoRenamesTheSecondAloneMaySurvive(t *testing.T) {
	f := New()
	put(t, f, "/1.tmp", "1", true)
	put(t, f, "/2.tmp", "2", true)
	require.NoError(t, f.Sync("/"))
	require.NoError(t, f.Rename("/1.tmp", "/1"))
	require.NoError(t, f.Rename("/2.tmp", "/2"))
	require.Equal(t, []string{"/1.tmp=1 /2.tmp=2", "/1.tmp=1 /2=2", "/1=1 /2.tmp=2", "/1=1 /2=2"}, outcomes(t, f))
}

func TestChangesOfTheSameNameKeepTheirOrder(t *testing.T) {
	f := New()
	put(t, f, "/1", "1", true)
	put(t, f, "/2", "2", true)
	require.NoError(t, f.Sync("/"))
	require.NoError(t, f.Rename("/1", "/x"))
	require.NoError(t, f.Rename("/2", "/x"))
	require.Equal(t, []string{"/1=1 /2=2", "/1=1 /x=2", "/2=2 /x=1", "/x=2"}, outcomes(t, f))
}

func TestARenameBetweenFoldersMayLeaveBothNamesOrNone(t *testing.T) {
	f := New("/a", "/b")
	put(t, f, "/a/x", "1", true)
	require.NoError(t, f.Sync("/a"))
	require.NoError(t, f.Rename("/a/x", "/b/x"))
	require.Equal(t, []string{"/a=/ /a/x=1 /b=/", "/a=/ /a/x=1 /b=/ /b/x=1", "/a=/ /b=/", "/a=/ /b=/ /b/x=1"}, outcomes(t, f))
}

func TestAFolderThatIsLostTakesAlongWhatLiesInIt(t *testing.T) {
	f := New()
	require.NoError(t, f.Mkdir("/d"))
	put(t, f, "/d/a", "text", true)
	require.NoError(t, f.Sync("/d"))
	require.Equal(t, []string{"", "/d=/ /d/a=text"}, outcomes(t, f))
	require.NoError(t, f.Sync("/"))
	require.Equal(t, []string{"/d=/ /d/a=text"}, outcomes(t, f))
}

func TestARemovedFileMayBeBack(t *testing.T) {
	f := New()
	put(t, f, "/a", "text", true)
	require.NoError(t, f.Sync("/"))
	require.NoError(t, f.Remove("/a"))
	require.Equal(t, []string{"", "/a=text"}, outcomes(t, f))
}

func TestNamesOfAFileOutliveACrashEachForItself(t *testing.T) {
	f := New()
	put(t, f, "/a", "text", true)
	require.NoError(t, f.Sync("/"))
	require.NoError(t, f.Link("/a", "/b"))
	require.NoError(t, f.Remove("/a"))
	require.Equal(t, []string{"", "/a=text", "/a=text /b=text", "/b=text"}, outcomes(t, f))

	f = New()
	put(t, f, "/a", "text", true)
	require.NoError(t, f.Link("/a", "/b"))
	require.NoError(t, f.Sync("/"))
	next := f.Crashed(nil)
	require.NoError(t, next.Rename("/a", "/b"), "nothing happens to two names of one file")
	require.Len(t, tree(t, next), 2)
}

// Of the bytes that were not synced any sector may survive, with zeros for those before it.
func TestBytesThatWereNotSyncedAreKeptOrLostOrZero(t *testing.T) {
	const synced = 700 // amid the second sector
	f := New()
	w, err := f.Create("/a")
	require.NoError(t, err)
	_, err = w.Write(bytes.Repeat([]byte{'s'}, synced))
	require.NoError(t, err)
	require.NoError(t, w.Sync())
	require.NoError(t, f.Sync("/"))
	_, err = w.Write(bytes.Repeat([]byte{'u'}, 3*sector))
	require.NoError(t, err)

	var none, all, cut, holes bool
	for seed := range uint64(300) {
		text := tree(t, f.Crashed(rand.New(rand.NewPCG(seed, 1))))["/a"]
		require.Equal(t, strings.Repeat("s", synced), text[:synced])
		rest := text[synced:]
		require.Empty(t, strings.Trim(rest, "u\x00"))
		none = none || rest == ""
		all = all || rest == strings.Repeat("u", 3*sector)
		cut = cut || rest != "" && len(rest) < 3*sector
		holes = holes || strings.Contains(rest, "\x00u")
	}
	require.True(t, none && all && cut && holes, "none %v, all %v, cut %v, holes %v", none, all, cut, holes)
	require.Len(t, tree(t, f.Crashed(nil))["/a"], synced)
}

func TestASyncOfAFileThatFailedIsNotMendedByAnother(t *testing.T) {
	f := New()
	w, err := f.Create("/a")
	require.NoError(t, err)
	_, err = io.WriteString(w, "text")
	require.NoError(t, err)
	f.FailAt(f.Ops()+1, syscall.EIO)
	require.ErrorIs(t, f.Sync("/a"), syscall.EIO)
	require.NoError(t, w.Sync())
	require.NoError(t, f.Sync("/a"))
	require.Equal(t, "text", tree(t, f)["/a"], "as long as the process lives nobody sees it")

	require.NoError(t, f.Sync("/"))
	require.Equal(t, map[string]string{"/a": ""}, tree(t, f.Crashed(nil)))
}

func TestASyncOfAFolderThatFailedMayBeTriedAgain(t *testing.T) {
	f := New()
	put(t, f, "/a", "text", true)
	f.FailAt(f.Ops()+1, syscall.EIO)
	require.ErrorIs(t, f.Sync("/"), syscall.EIO)
	require.NoError(t, f.Sync("/"))
	require.Equal(t, []string{"/a=text"}, outcomes(t, f))
}

func TestASeedGivesTheSameEachTimeWhateverTheNamesAre(t *testing.T) {
	crashed := func(seed uint64, name string) string {
		f := New()
		for _, text := range []string{"a", "b", "c", "d"} {
			put(t, f, "/"+name+text, text, false)
			name += "-" + name
		}
		return strings.Join(slices.Sorted(maps.Values(tree(t, f.Crashed(rand.New(rand.NewPCG(seed, 1)))))), "|")
	}
	for seed := range uint64(50) {
		require.Equal(t, crashed(seed, "x"), crashed(seed, "y"))
	}
}
