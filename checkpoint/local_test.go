package checkpoint_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/storetest"
)

func local(t *testing.T) *checkpoint.Local {
	l, err := checkpoint.OpenLocal(filepath.Join(t.TempDir(), "state"))
	require.NoError(t, err)
	return l
}

func TestAFolderKeepsThePromisesOfAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store { return local(t) }, storetest.Objects(200))
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, s checkpoint.Store, name string) string {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	require.NoError(t, err)
	defer r.Close()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestToOpenAFolderTouchesNothingAndToReadItMakesNothing(t *testing.T) {
	l := local(t)
	list, err := l.List(t.Context(), "orders/")
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = l.Open(t.Context(), "orders/0/chk-1")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, l.Delete(t.Context(), "orders/0/chk-1"))
	require.NoDirExists(t, l.Path(""))
}

func TestAFolderNeedsAName(t *testing.T) {
	_, err := checkpoint.OpenLocal("")
	var name *checkpoint.NameError
	require.ErrorAs(t, err, &name)
	require.EqualError(t, err, `checkpoint: open a local store: root: "": must be the path of a folder`)
}

func TestARelativeFolderStaysWhereItWas(t *testing.T) {
	t.Chdir(t.TempDir())
	l, err := checkpoint.OpenLocal("state")
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, l.Put(t.Context(), "a/b", text("text")))
	require.Equal(t, filepath.Join(here, "state", "a", "b"), l.Path("a/b"))
	require.Equal(t, filepath.Join(here, "state"), l.String())
	require.FileExists(t, l.Path("a/b"))
}

func TestObjectsAreFilesOfTheirUserOnly(t *testing.T) {
	l := local(t)
	require.NoError(t, l.Put(t.Context(), "a/b", text("text")))
	require.NoError(t, l.Create(t.Context(), "a/c", []byte("text")))
	for name, mode := range map[string]fs.FileMode{"": fs.ModeDir | 0o700, "a": fs.ModeDir | 0o700, "a/b": 0o600, "a/c": 0o600} {
		i, err := os.Stat(l.Path(name))
		require.NoError(t, err)
		require.Equal(t, mode, i.Mode(), name)
	}
}

func TestANameThatIsNoPathBelowTheRootIsSaidToBeSo(t *testing.T) {
	l := local(t)
	_, err := l.List(t.Context(), "../a")
	var name *checkpoint.NameError
	require.ErrorAs(t, err, &name)
	err = l.Put(t.Context(), "a/b.0123abcd.tmp", text("text"))
	require.ErrorAs(t, err, &name)
	require.Equal(t, "a/b.0123abcd.tmp", name.Value)
	require.ErrorContains(t, err, `checkpoint: put a/b.0123abcd.tmp: object: "a/b.0123abcd.tmp": must be a path like "a/b"`)
	_, err = l.Lock(t.Context(), "../LOCK")
	require.ErrorAs(t, err, &name)
	require.ErrorAs(t, l.Import(t.Context(), l.Path("a"), "/a"), &name)
	require.ErrorAs(t, l.Copy(t.Context(), "a", "/a"), &name)
}

func TestACopyIsASecondLinkToTheFile(t *testing.T) {
	l := local(t)
	require.NoError(t, l.Put(t.Context(), "a", text("text")))
	require.NoError(t, l.Copy(t.Context(), "a", "b/a"))
	require.True(t, same(t, l.Path("a"), l.Path("b/a")))

	for range 2 { // also what is a link already, and what is itself
		require.NoError(t, l.Copy(t.Context(), "a", "b/a"))
		require.NoError(t, l.Copy(t.Context(), "a", "a"))
	}
	require.Equal(t, "text", read(t, l, "a"))
	require.Equal(t, "text", read(t, l, "b/a"))
	require.Equal(t, []string{"a", "b"}, names(t, l.Path("")), "and nothing beside them")
	require.Equal(t, []string{"a"}, names(t, l.Path("b")))
}

func TestAFileIsTakenOverWithoutItsBytes(t *testing.T) {
	l := local(t)
	spilled := filepath.Join(t.TempDir(), "segment")
	require.NoError(t, os.WriteFile(spilled, []byte("text"), 0o600))
	require.NoError(t, l.Put(t.Context(), "data/1", text("of an attempt that failed")))
	require.NoError(t, l.Import(t.Context(), spilled, "data/1"))
	require.True(t, same(t, spilled, l.Path("data/1")))
	require.NoError(t, l.Import(t.Context(), l.Path("data/1"), "data/1"), "itself")
	require.NoError(t, os.Remove(spilled))
	require.Equal(t, "text", read(t, l, "data/1"))
	require.Equal(t, []string{"1"}, names(t, l.Path("data")))

	err := l.Import(t.Context(), spilled, "data/2")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, l.Import(t.Context(), t.TempDir(), "data/2"), errors.ErrUnsupported, "a folder")
}

func TestAFolderIsLockedOnceAndTheErrorNamesIt(t *testing.T) {
	l := local(t)
	lock, err := l.Lock(t.Context(), "orders/0/LOCK")
	require.NoError(t, err)
	_, err = l.Lock(t.Context(), "orders/0/LOCK")
	var locked *checkpoint.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, checkpoint.LockedError{Path: l.Path("orders/0"), PID: os.Getpid()}, *locked)
	other, err := l.Lock(t.Context(), "orders/1/LOCK")
	require.NoError(t, err, "another folder is another lock")
	require.NoError(t, other.Close())
	require.NoError(t, lock.Close())
	lock, err = l.Lock(t.Context(), "orders/0/LOCK")
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestTheLockRemovesWhatACrashLeftInItsFolderAndNothingElse(t *testing.T) {
	l := local(t)
	for _, name := range []string{"orders/0/data/1", "orders/0/notes.tmp", "orders/0/chk", "orders/1/x"} {
		require.NoError(t, l.Put(t.Context(), name, text("text")))
	}
	for _, name := range []string{"orders/0/chk.0123abcd.tmp", "orders/0/data/1.0123abcd.tmp", "orders/1/x.0123abcd.tmp"} {
		require.NoError(t, os.WriteFile(l.Path(name), nil, 0o600))
	}
	list, err := l.List(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, list, 4, "they are not listed")

	lock, err := l.Lock(t.Context(), "orders/0/LOCK")
	require.NoError(t, err)
	defer lock.Close()
	require.Equal(t, []string{"LOCK", "chk", "data", "notes.tmp"}, names(t, l.Path("orders/0")))
	require.Equal(t, []string{"1"}, names(t, l.Path("orders/0/data")))
	require.Equal(t, []string{"x", "x.0123abcd.tmp"}, names(t, l.Path("orders/1")), "of another lock")
}

func TestAFolderThatWasRemovedIsMadeAgain(t *testing.T) {
	l := local(t)
	require.NoError(t, l.Put(t.Context(), "data/1", text("text")))
	require.NoError(t, l.Delete(t.Context(), "data/1"))
	require.NoError(t, l.Delete(t.Context(), "data"))
	require.NoError(t, l.Put(t.Context(), "data/1", text("text")))

	require.NoError(t, os.RemoveAll(l.Path("")))
	require.ErrorIs(t, l.Put(t.Context(), "data/1", text("text")), fs.ErrNotExist)
	require.NoError(t, l.Put(t.Context(), "data/1", text("text")), "at the next attempt")
}

func TestWhatLiesInTheWayIsNamed(t *testing.T) {
	l := local(t)
	require.NoError(t, l.Put(t.Context(), "orders", text("a file")))
	err := l.Put(t.Context(), "orders/0", text("text"))
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorContains(t, err, "checkpoint: put orders/0: ")
	require.ErrorContains(t, err, l.Path("orders/0"))
	require.NotErrorIs(t, l.Copy(t.Context(), "orders", "orders/0"), fs.ErrNotExist, "there is something to copy")
	_, err = l.List(t.Context(), "orders/")
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = l.Lock(t.Context(), "orders/LOCK")
	require.ErrorIs(t, err, syscall.ENOTDIR)
}

func TestAnErrorOfFillPassesAsItIs(t *testing.T) {
	l := local(t)
	mine := errors.New("mine")
	require.Equal(t, mine, l.Put(t.Context(), "a", func(io.Writer) error { return mine }))

	ctx, cancel := context.WithCancel(t.Context())
	err := l.Put(ctx, "a", func(w io.Writer) error {
		cancel()
		_, _ = w.Write([]byte("text"))
		return mine
	})
	require.ErrorIs(t, err, context.Canceled, "the writer's comes first")
	ctx, cancel = context.WithCancel(t.Context())
	require.ErrorIs(t, l.Put(ctx, "a", func(io.Writer) error { cancel(); return nil }), context.Canceled)
	require.Empty(t, names(t, l.Path("")))
}

func TestACallWhoseContextHasEndedDoesNothing(t *testing.T) {
	l := local(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.Lock(ctx, "LOCK")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, l.Import(ctx, "/dev/null", "a"), context.Canceled)
	require.NoDirExists(t, l.Path(""))
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	require.NoError(t, err)
	y, err := os.Stat(b)
	require.NoError(t, err)
	return os.SameFile(x, y)
}
