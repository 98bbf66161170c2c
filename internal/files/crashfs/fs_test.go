package crashfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
)

// below is the real file system under a folder.
type below struct {
	files.OS
	root string
}

func (b below) at(p string) string                  { return filepath.Join(b.root, p) }
func (b below) Mkdir(p string) error                { return b.OS.Mkdir(b.at(p)) }
func (b below) List(p string) ([]files.Info, error) { return b.OS.List(b.at(p)) }
func (b below) Create(p string) (files.File, error) { return b.OS.Create(b.at(p)) }
func (b below) Open(p string) (files.Reader, error) { return b.OS.Open(b.at(p)) }
func (b below) Rename(from, to string) error        { return b.OS.Rename(b.at(from), b.at(to)) }
func (b below) Link(from, to string) error          { return b.OS.Link(b.at(from), b.at(to)) }
func (b below) Remove(p string) error               { return b.OS.Remove(b.at(p)) }
func (b below) Sync(p string) error                 { return b.OS.Sync(b.at(p)) }

// act makes a random operation and returns what it said.
func act(on files.FS, r *rand.Rand) string {
	names := []string{"/a", "/b", "/d/a", "/d/b", "/d/e/a", "/a/x"}
	folders := []string{"/d", "/d/e"}
	all := append(folders, names...)
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	what, from, to := r.IntN(8), pick(names), pick(all)
	var err error
	said := ""
	switch what {
	case 0:
		to = pick(folders)
		err = on.Mkdir(to)
	case 1, 2:
		err = files.Write(on, to, func(w io.Writer) error {
			_, err := fmt.Fprint(w, from)
			return err
		})
	case 3:
		err = alike(on.Rename(from, to))
	case 4:
		err = alike(on.Link(from, to))
	case 5:
		err = on.Remove(to)
	case 6:
		err = on.Sync(to)
	case 7:
		var f files.Reader
		if f, err = on.Open(to); err == nil {
			b, at := make([]byte, 5), make([]byte, 4)
			n, rerr := f.Read(b)
			m, aterr := f.ReadAt(at, 1)
			said = fmt.Sprint(string(b[:n]), errno(rerr), string(at[:m]), errno(aterr), f.Close(), errno(f.Close()))
		}
	}
	return fmt.Sprint(what, " ", from, " ", to, " ", errno(err), " ", said)
}

// errno is what makes errors of two file systems alike.
func errno(err error) error {
	for _, e := range []error{io.EOF, fs.ErrClosed} {
		if errors.Is(err, e) {
			return e
		}
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return err
}

// alike is for operations on two paths that can be wrong at once: systems differ in what they see first.
func alike(err error) error {
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return syscall.ENOENT
	}
	return err
}

func TestItDoesAsTheRealOneDoes(t *testing.T) {
	for seed := range uint64(30) {
		model, real := New(), below{root: t.TempDir()}
		ours, theirs := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
		for range 300 {
			require.Equal(t, act(real, theirs), act(model, ours), "seed %d", seed)
		}
		require.Equal(t, tree(t, real), tree(t, model))
	}
}

func TestWhatIsLeftCanBeWrittenToTheRealFileSystem(t *testing.T) {
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := New("/var/lib")
	f.SetClock(func() time.Time { return modified })
	put(t, f, "/var/lib/a", "text", true)
	require.NoError(t, f.Link("/var/lib/a", "/var/b"))
	require.NoError(t, f.Sync("/var/lib"))
	require.NoError(t, f.Sync("/var"))
	put(t, f, "/var/lost", "text", true)

	dir := filepath.Join(t.TempDir(), "new")
	next := f.Crashed(nil)
	require.NoError(t, next.Dump(dir))
	require.Equal(t, map[string]string{"/var": "/", "/var/b": "text", "/var/lib": "/", "/var/lib/a": "text"}, tree(t, below{root: dir}))
	a, err := os.Stat(filepath.Join(dir, "var/lib/a"))
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(dir, "var/b"))
	require.NoError(t, err)
	require.True(t, os.SameFile(a, b))
	require.True(t, a.ModTime().Equal(modified))
	require.Equal(t, fs.FileMode(0o600), a.Mode())

	require.ErrorIs(t, next.Dump(dir), fs.ErrExist)
	file := filepath.Join(dir, "var/b")
	require.ErrorIs(t, next.Dump(file), syscall.ENOTDIR)
}

func TestFilesKnowTheirSizeAndWhenTheyWereModified(t *testing.T) {
	f := New("/d")
	now := time.Unix(100, 0)
	f.SetClock(func() time.Time { return now })
	put(t, f, "/d/a", "text", false)
	now = time.Unix(200, 0)
	put(t, f, "/d/b", "", false)
	require.NoError(t, f.Mkdir("/d/c"))
	list, err := f.List("/d")
	require.NoError(t, err)
	require.Equal(t, []files.Info{
		{Name: "a", Size: 4, Modified: time.Unix(100, 0)},
		{Name: "b", Modified: now},
		{Name: "c", Modified: now, Dir: true},
	}, list)
	require.NoError(t, f.Sync("/d"))
	list, err = f.Crashed(nil).List("/d")
	require.NoError(t, err)
	require.Equal(t, files.Info{Name: "a", Modified: time.Unix(100, 0)}, list[0])
}

func TestAFullDiskTakesWhatFitsAndRemovedFilesMakeRoom(t *testing.T) {
	f := New()
	f.SetSpace(6)
	put(t, f, "/a", "four", false)
	require.NoError(t, f.Link("/a", "/twice"))
	w, err := f.Create("/b")
	require.NoError(t, err)
	n, err := io.WriteString(w, "four")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 2, n)
	n, err = io.WriteString(w, "r")
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Zero(t, n)

	require.NoError(t, f.Remove("/a"))
	require.NoError(t, f.Remove("/twice"))
	_, err = io.WriteString(w, "ur")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"/b": "four"}, tree(t, f))
	require.False(t, f.Failed(), "nobody made it fail")
}

func TestAnOperationThatIsMadeToFailHasNoEffectAndTheNextHasOne(t *testing.T) {
	f := New()
	f.FailAt(1, syscall.EIO)
	require.ErrorIs(t, f.Mkdir("/d"), syscall.EIO)
	require.NoError(t, f.Mkdir("/d"))
	require.True(t, f.Failed())

	f.FailOn(func(o Op) error {
		if o.Name == "rename" && o.To == "/d/b" {
			return syscall.EROFS
		}
		return nil
	})
	put(t, f, "/d/a", "text", false)
	require.ErrorIs(t, f.Rename("/d/a", "/d/b"), syscall.EROFS)
	require.Equal(t, map[string]string{"/d": "/", "/d/a": "text"}, tree(t, f))

	f.FailOn(nil)
	w, err := f.Create("/d/c")
	require.NoError(t, err)
	f.FailAt(f.Ops()+1, syscall.EIO)
	n, err := io.WriteString(w, "text")
	require.ErrorIs(t, err, syscall.EIO)
	require.Equal(t, 2, n, "but for half of a write")
	n, err = io.WriteString(w, "xt")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, "text", tree(t, f)["/d/c"])
}

// Each operation is one that can fail.
func TestAfterACrashEachOperationFailsAndHasNoEffect(t *testing.T) {
	f := New()
	put(t, f, "/a", "text", false)
	r, err := f.Open("/a")
	require.NoError(t, err)
	w, err := f.Create("/b")
	require.NoError(t, err)
	lock, err := f.Lock("/LOCK")
	require.NoError(t, err)
	before := tree(t, f)
	ops := f.Ops()

	f.CrashAt(ops + 1)
	_, err = f.List("/")
	require.ErrorIs(t, err, ErrCrash)
	_, err = f.Open("/a")
	require.ErrorIs(t, err, ErrCrash)
	_, err = f.Create("/c")
	require.ErrorIs(t, err, ErrCrash)
	_, err = f.Lock("/c")
	require.ErrorIs(t, err, ErrCrash)
	require.ErrorIs(t, f.Mkdir("/c"), ErrCrash)
	require.ErrorIs(t, f.Rename("/a", "/c"), ErrCrash)
	require.ErrorIs(t, f.Link("/a", "/c"), ErrCrash)
	require.ErrorIs(t, f.Remove("/a"), ErrCrash)
	require.ErrorIs(t, f.Sync("/a"), ErrCrash)
	_, err = r.Read(make([]byte, 4))
	require.ErrorIs(t, err, ErrCrash)
	_, err = r.ReadAt(make([]byte, 4), 0)
	require.ErrorIs(t, err, ErrCrash)
	n, err := io.WriteString(w, "text")
	require.ErrorIs(t, err, ErrCrash)
	require.Zero(t, n)
	require.ErrorIs(t, w.Sync(), ErrCrash)
	require.ErrorIs(t, w.Close(), ErrCrash)
	require.ErrorIs(t, lock.Close(), ErrCrash)
	require.Equal(t, ops+1, f.Ops(), "they are not counted")
	require.Equal(t, fmt.Sprintf("%d list /: crash", ops+1), f.Trace()[ops])

	dir := t.TempDir()
	require.NoError(t, f.Dump(dir))
	require.Equal(t, before, tree(t, below{root: dir}))
	require.Equal(t, map[string]string{}, tree(t, f.Crashed(nil)))
}

func TestTheTraceTellsWhatWasDone(t *testing.T) {
	f := New()
	f.FailAt(4, syscall.EIO)
	put(t, f, "/a", "text", false)
	require.Error(t, f.Rename("/a", "/b"))
	require.NoError(t, f.Rename("/a", "/c"))
	require.Equal(t, []string{
		"1 create /a", "2 write /a", "3 close /a", "4 rename /a to /b: input/output error", "5 rename /a to /c",
	}, f.Trace())
}

func TestALockIsHeldUntilItsCloseOrACrash(t *testing.T) {
	f := New()
	lock, err := f.Lock("/LOCK")
	require.NoError(t, err)
	_, err = f.Lock("/LOCK")
	var locked *files.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, files.LockedError{Path: "/LOCK", PID: os.Getpid()}, *locked)
	require.NoError(t, lock.Close())
	require.NoError(t, lock.Close())

	_, err = f.Lock("/LOCK")
	require.NoError(t, err)
	require.NoError(t, lock.Close(), "it is another's by now")
	_, err = f.Lock("/LOCK")
	require.ErrorAs(t, err, &locked)

	_, err = f.Crashed(rand.New(rand.NewPCG(1, 1))).Lock("/LOCK")
	require.NoError(t, err)
}

func TestAFileThatIsReadOutlivesItsName(t *testing.T) {
	f := New()
	put(t, f, "/a", "text", false)
	r, err := f.Open("/a")
	require.NoError(t, err)
	require.NoError(t, f.Remove("/a"))
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "text", string(b))
	require.NoError(t, r.Close())
	_, err = r.Read(b)
	require.ErrorIs(t, err, fs.ErrClosed)
}

func TestAWriterThatWasClosedIsNoMoreOfUse(t *testing.T) {
	f := New()
	w, err := f.Create("/a")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = w.Write(nil)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.ErrorIs(t, w.Sync(), fs.ErrClosed)
	require.ErrorIs(t, w.Close(), fs.ErrClosed)
}

func TestTheRootStays(t *testing.T) {
	f := New()
	require.Error(t, f.Remove("/"))
	require.Error(t, f.Rename("/", "/a"))
	_, err := f.Lock("/")
	require.Error(t, err)
	_, err = f.Create("/")
	require.Error(t, err)
	require.Error(t, f.Mkdir("/a/b"))
	require.NoError(t, f.Mkdir("/a"))
	require.Error(t, f.Rename("/a", "/b"), "it is of files only")
}

// Many goroutines work while one crashes it; the race detector looks on.
func TestManyGoroutinesMayUseIt(t *testing.T) {
	f := New()
	f.CrashAt(500)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				at := fmt.Sprintf("/%d-%d", g, i)
				err := files.Write(f, at, func(w io.Writer) error {
					_, err := io.WriteString(w, at)
					return err
				})
				if err == nil {
					err = f.Sync("/")
				}
				if err != nil {
					return
				}
				f.Ops()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 500, f.Ops())
	left := tree(t, f.Crashed(nil))
	require.NotEmpty(t, left)
	for at, text := range left {
		require.Contains(t, []string{at, ""}, text)
	}
}
