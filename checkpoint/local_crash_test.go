package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
)

const localRoot = "/var/lib/state" // of which /var is there

const none = "nothing" // what is there of an object that is not

// localStory is what a process was told of its objects, over all its lives.
type localStory struct {
	t       *testing.T
	disk    *crashfs.FS
	lives   int
	texts   int
	objects map[string]told
}

// told is what may be there of an object.
type told struct {
	now   []string // for the process that was told
	later []string // after a crash
}

func newLocalStory(t *testing.T, disk *crashfs.FS) *localStory {
	return &localStory{t: t, disk: disk, objects: map[string]told{}}
}

// on is the same story as it goes on on another disk, or on the same one that will fail in another way.
func (s *localStory) on(disk *crashfs.FS) *localStory {
	next := *s
	next.disk, next.objects = disk, map[string]told{}
	for name, o := range s.objects {
		next.objects[name] = told{slices.Clone(o.now), slices.Clone(o.later)}
	}
	return &next
}

// text is another one each time, and longer than a sector of the disk.
func (s *localStory) text() string {
	s.texts++
	return strings.Repeat(fmt.Sprintf("%d ", s.texts), 300)
}

func (s *localStory) of(name string) told {
	if o, ok := s.objects[name]; ok {
		return o
	}
	return told{now: []string{none}, later: []string{none}}
}

// made notes that an object was made, or was not.
func (s *localStory) made(name, text string, err error) error {
	o := s.of(name)
	if err == nil {
		o = told{now: []string{text}, later: []string{text}}
	} else {
		o.now = append(o.now, none)
		o.later = append(o.later, none, text)
	}
	s.objects[name] = o
	return err
}

func (s *localStory) put(l *Local, name string) error {
	text := s.text()
	return s.made(name, text, l.Put(s.t.Context(), name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))
}

func (s *localStory) create(l *Local, name string) error {
	text, there := s.text(), s.of(name).now
	err := l.Create(s.t.Context(), name, []byte(text))
	if errors.Is(err, ErrExists) {
		require.NotEqual(s.t, []string{none}, there, "%s is not there", name)
		return nil
	}
	if err == nil {
		require.Contains(s.t, there, none, "%s is created twice", name)
	} else if !slices.Contains(there, none) {
		return err // it can't have been created
	}
	return s.made(name, text, err)
}

func (s *localStory) copy(l *Local, from, to string) error {
	there := s.of(from).now
	err := l.Copy(s.t.Context(), from, to)
	if errors.Is(err, fs.ErrNotExist) {
		require.Contains(s.t, there, none)
		return nil
	}
	if err == nil && len(there) > 1 { // an attempt failed before
		there = []string{s.read(l, to)}
	}
	return s.made(to, there[0], err)
}

// take writes a file elsewhere, which it does not sync, and imports it.
func (s *localStory) take(l *Local, name string) error {
	text := s.text()
	from := fmt.Sprintf("/var/segment%d", s.texts)
	w, err := s.disk.Create(from)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return s.made(name, text, l.Import(s.t.Context(), from, name))
}

func (s *localStory) delete(l *Local, name string) error {
	err := l.Delete(s.t.Context(), name)
	o := s.of(name)
	o.later = append(o.later, none)
	if err == nil {
		o.now = []string{none}
	}
	s.objects[name] = o
	return err
}

func (s *localStory) read(l *Local, name string) string {
	r, err := l.Open(s.t.Context(), name)
	require.NoError(s.t, err)
	b, err := io.ReadAll(r)
	require.NoError(s.t, err)
	require.NoError(s.t, r.Close())
	return string(b)
}

// live opens the store and works with it, until the first error, or to the end whatever fails.
func (s *localStory) live(whatever bool) error {
	s.lives++
	l := OpenLocalOn(s.disk, localRoot)
	var lock io.Closer
	slot := func(n int) string { return fmt.Sprintf("orders/0/chk-%d", n) }
	var errs []error
	for _, step := range []func() error{
		func() (err error) {
			lock, err = l.Lock(s.t.Context(), "orders/0/LOCK")
			return err
		},
		func() error { return s.create(l, slot(s.lives)) },
		func() error { return s.put(l, "orders/0/data/1") }, // from the second life on it replaces one
		func() error { return s.put(l, "orders/0/data/2") },
		func() error { return s.create(l, slot(s.lives)) }, // there is one
		func() error { return s.copy(l, "orders/0/data/1", "orders/0/data/3") },
		func() error { return s.copy(l, "orders/0/data/2", "orders/0/data/3") },
		func() error { return s.take(l, "orders/0/data/4") },
		func() error { return s.create(l, "orders/0/once") }, // from the second life on there is one
		func() error { return s.delete(l, slot(s.lives-1)) },
		func() error { return s.delete(l, "orders/0/data/2") },
		func() error { return s.create(l, slot(s.lives-1)) },
		func() error { return s.put(l, fmt.Sprintf("orders/%d/new", s.lives)) },
		func() error {
			if lock == nil {
				return nil
			}
			return lock.Close()
		},
	} {
		if err := step(); err != nil && !whatever {
			return err
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// check reads all that is there, on a disk that does not fail. before is where it was written.
func (s *localStory) check(crashed bool, before *crashfs.FS) {
	s.t.Helper()
	l := OpenLocalOn(s.disk, localRoot)
	list, err := l.List(s.t.Context(), "")
	require.NoError(s.t, err)
	there := map[string]string{}
	for _, i := range list {
		if strings.HasSuffix(i.Name, "/LOCK") {
			continue
		}
		there[i.Name] = s.read(l, i.Name)
		if _, ok := s.objects[i.Name]; !ok || len(there[i.Name]) != int(i.Size) {
			require.Fail(s.t, "an object that nobody made", "%+v after %v", i, before.Trace())
		}
	}
	for name, o := range s.objects {
		text, ok := there[name]
		if !ok {
			text = none
		}
		may := o.now
		if crashed {
			may = o.later
			s.objects[name] = told{[]string{text}, []string{text}}
		}
		if !slices.Contains(may, text) {
			require.Fail(s.t, "an object is lost, or not whole, or another one", "%s is %.20q and may be %.20q after %v", name, text, may, before.Trace())
		}
	}
}

// temporary counts the files that were not given their name, in a folder and below.
func temporary(t *testing.T, disk files.FS, folder string) (n int) {
	list, err := disk.List(folder)
	require.NoError(t, err)
	for _, i := range list {
		if i.Dir {
			n += temporary(t, disk, folder+"/"+i.Name)
		} else if files.IsTemp(i.Name) {
			n++
		}
	}
	return n
}

// A crash before each operation of two lives, then one before each of the life that follows, and then a life without.
func TestAfterACrashAnywhereAFolderHoldsWhatItSaidItDoes(t *testing.T) {
	seed, crashes := uint64(0), 0
	crash := func(s *localStory) *localStory {
		crashes++
		seed++
		next := s.on(s.disk.Crashed(rand.New(rand.NewPCG(seed, 1))))
		next.check(true, s.disk)
		return next
	}
	for n := 1; ; n++ {
		s := newLocalStory(t, crashfs.New("/var"))
		s.disk.CrashAt(n)
		err := s.live(false)
		if err == nil {
			err = s.live(false)
		}
		if !s.disk.Failed() {
			require.NoError(t, err)
			break
		}
		if err != nil {
			require.ErrorIs(t, err, crashfs.ErrCrash)
		}
		for k := 1; ; k += 7 + n%11 {
			again := crash(s)
			again.disk.CrashAt(again.disk.Ops() + k) // the check is not of the life
			err := again.live(false)
			if !again.disk.Failed() {
				require.NoError(t, err)
				again.disk.FailOn(nil)
				require.Zero(t, temporary(t, again.disk, localRoot+"/orders/0"))
				break
			}
			last := crash(again)
			require.NoError(t, last.live(false))
			crash(last)
		}
	}
	require.Greater(t, crashes, 2000)
}

// One operation fails, as on a full or failing disk, and the process goes on.
func TestAFailureAnywhereLeavesNothingHalfMade(t *testing.T) {
	for n := 1; ; n++ {
		s := newLocalStory(t, crashfs.New("/var"))
		require.NoError(t, s.live(false))
		injected := []error{syscall.EIO, syscall.ENOSPC}[n%2]
		s.disk.FailAt(s.disk.Ops()+n, injected)
		err := s.live(true)
		if !s.disk.Failed() {
			require.NoError(t, err)
			break
		}
		if err != nil { // it may have been one that does not matter
			require.ErrorIs(t, err, injected)
			if strings.Contains(err.Error(), "checkpoint: ") { // else the test's own file
				require.ErrorContains(t, err, files.Hint(injected))
			}
		}
		s.check(false, s.disk)
		for seed := range uint64(10) {
			s.on(s.disk.Crashed(rand.New(rand.NewPCG(seed, 1)))).check(true, s.disk)
		}
		require.NoError(t, s.live(false), "it can be tried again")
		s.check(false, s.disk)
		require.Zero(t, temporary(t, s.disk, localRoot+"/orders/0"))
		s.on(s.disk.Crashed(nil)).check(true, s.disk)
	}
}

func TestWhatCouldNotBeCleanedUpIsOutOfTheWayAndNotListed(t *testing.T) {
	s := newLocalStory(t, crashfs.New("/var"))
	l := OpenLocalOn(s.disk, localRoot)
	require.NoError(t, s.put(l, "orders/a"))
	s.disk.FailOn(func(o crashfs.Op) error {
		if files.IsTemp(path.Base(o.Path)) && (o.Name == "sync" || o.Name == "remove") {
			return syscall.EIO
		}
		return nil
	})
	require.ErrorIs(t, s.put(l, "orders/a"), syscall.EIO)
	require.ErrorIs(t, s.create(l, "orders/b"), syscall.EIO)
	s.disk.FailOn(nil)
	require.Equal(t, 2, temporary(t, s.disk, localRoot))
	s.check(false, s.disk)
	require.NoError(t, s.put(l, "orders/a"))
	require.NoError(t, s.create(l, "orders/b"))
	s.check(false, s.disk)

	s.disk.FailOn(func(o crashfs.Op) error {
		if o.Name == "remove" {
			return syscall.EIO
		}
		return nil
	})
	_, err := l.Lock(t.Context(), "orders/LOCK")
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorContains(t, err, "remove what a crash left")
	s.disk.FailOn(nil)
	lock, err := l.Lock(t.Context(), "orders/LOCK")
	require.NoError(t, err, "an attempt that failed holds no lock")
	require.NoError(t, lock.Close())
	require.Zero(t, temporary(t, s.disk, localRoot))
}

func TestAFolderWhoseSyncFailedIsSyncedAtTheNextAttempt(t *testing.T) {
	for n := 1; ; n++ {
		s := newLocalStory(t, crashfs.New("/var"))
		l := OpenLocalOn(s.disk, localRoot)
		s.disk.FailAt(n, syscall.EIO)
		err := s.put(l, "orders/a")
		if !s.disk.Failed() {
			break
		}
		if err != nil {
			require.NoError(t, s.put(l, "orders/a"))
		}
		s.on(s.disk.Crashed(nil)).check(true, s.disk)
	}
}

func TestAWriterThatWasLeftBehindDoesNotHinderTheLock(t *testing.T) {
	s := newLocalStory(t, crashfs.New("/var"))
	l := OpenLocalOn(s.disk, localRoot)
	require.NoError(t, l.Put(t.Context(), "orders/a", func(io.Writer) error {
		s.disk.FailOn(func(o crashfs.Op) error {
			if o.Name == "remove" {
				return syscall.ENOENT // it got its name between list and remove
			}
			return nil
		})
		_, err := l.Lock(t.Context(), "orders/LOCK")
		s.disk.FailOn(nil)
		return err
	}))
}

// A file system without links, or another one for the file.
func TestWhatCantBeLinkedIsCopiedByItsBytesOrRefused(t *testing.T) {
	for _, no := range []error{syscall.EXDEV, syscall.EPERM, syscall.EMLINK, syscall.ENOTSUP, syscall.ENOSYS} {
		s := newLocalStory(t, crashfs.New("/var"))
		l := OpenLocalOn(s.disk, localRoot)
		require.NoError(t, s.put(l, "a"))
		s.disk.FailOn(func(o crashfs.Op) error {
			if o.Name == "link" {
				return no
			}
			return nil
		})
		require.NoError(t, s.copy(l, "a", "b"), no)
		err := s.take(l, "c")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorIs(t, err, no)
		err = s.create(l, "d")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "put the state on a local file system")
		s.check(false, s.disk)
		s.disk.FailOn(nil)
		next := s.on(s.disk.Crashed(nil))
		next.check(true, s.disk)
		require.Zero(t, temporary(t, next.disk, localRoot))
	}
}
