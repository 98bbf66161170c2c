package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"github.com/spillway-go/spillway/internal/files"
)

// Local is a [Store] in a folder, a [Locker] and an [Importer]. Any goroutine may call it. Objects are files (0600) of
// their names, in folders (0700) that are made when they are needed. What is being written, or was at a crash, has a
// name that ends in eight hex digits and .tmp: it is never listed, and [Local.Lock] removes it. Other files that lie
// there are objects too; links are not, nor sockets, and links to folders are not followed by List.
//
// The root must lie on a local file system with locks, hard links and syncs, of a system with flock(2). Elsewhere Lock or
// Create fails with an error that matches [errors.ErrUnsupported].
//
// Besides those of [Store] its errors are a *[NameError] for a name that is no path below the root, and those of the file
// system, wrapped, with what a person can do. A file operation that has begun goes on when ctx ends.
type Local struct {
	fs   files.FS
	root string
	made sync.Map // paths of folders that are there and synced, up to the root of the file system
}

var (
	_ Store    = (*Local)(nil)
	_ Locker   = (*Local)(nil)
	_ Importer = (*Local)(nil)
)

// OpenLocal returns the store in a folder. It does not touch the file system: the folder, and those above it, are made when
// they are needed. A relative root is relative to the working directory of now. A *[NameError] if root is empty.
func OpenLocal(root string) (*Local, error) {
	if root == "" {
		return nil, failed("open a local store", &NameError{Field: "root", Bound: "the path of a folder"})
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, failed("open a local store", err)
	}
	return OpenLocalOn(files.OS{}, root), nil
}

// OpenLocalOn is OpenLocal on a file system of this module's own making: for its tests of crashes. root is absolute.
func OpenLocalOn(on files.FS, root string) *Local { return &Local{fs: on, root: root} }

// Path returns where the object of a name lies, if it is there; of "": the root.
func (l *Local) Path(name string) string { return filepath.Join(l.root, filepath.FromSlash(name)) }

// String is the path of the root.
func (l *Local) String() string { return l.root }

// Put implements [Store]. The bytes are synced before the name is given, and its folder after that. An error of fill passes
// as it is.
func (l *Local) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	var filled error
	err := l.publish(ctx, name, func(tmp string) error {
		return files.Write(l.fs, tmp, func(w io.Writer) error {
			out := &writer{ctx: ctx, to: w}
			err := fill(out)
			if out.err != nil {
				return out.err // whatever fill made of it
			}
			filled = err
			return err
		})
	}, l.fs.Rename)
	if filled != nil {
		return filled
	}
	return failedIf("put", name, err)
}

// writer fails once ctx has ended, and remembers what it failed with.
type writer struct {
	ctx context.Context
	to  io.Writer
	err error
}

func (w *writer) Write(p []byte) (n int, err error) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err == nil {
		n, w.err = w.to.Write(p)
	}
	return n, w.err
}

// Create implements [Store]: a link to what was written and synced, which of many one gets.
func (l *Local) Create(ctx context.Context, name string, data []byte) error {
	err := l.publish(ctx, name, func(tmp string) error {
		return files.Write(l.fs, tmp, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}, func(tmp, path string) error {
		err := l.link(tmp, path)
		if errors.Is(err, fs.ErrExist) {
			return ErrExists
		}
		return err
	})
	return failedIf("create", name, err)
}

// Copy implements [Store]: a second link to the file. Its bytes are copied where the file system can't link it.
func (l *Local) Copy(ctx context.Context, from, to string) error {
	if err := checkObject(from); err != nil {
		return failed("copy", err)
	}
	err := l.takeOver(ctx, l.Path(from), to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return failedIf("copy "+from+" to", to, err)
	}
	r, err := l.Open(ctx, from)
	if err != nil {
		return err
	}
	defer r.Close()
	return l.Put(ctx, to, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return failedIf("copy", from, err)
	})
}

// Import implements [Importer]. The error matches [errors.ErrUnsupported] where path lies on another file system, or on one
// without links.
func (l *Local) Import(ctx context.Context, path, name string) error {
	return failedIf("import "+path+" as", name, l.takeOver(ctx, path, name))
}

// takeOver links a file, in place of what has the name: an attempt that failed may have left it. The rename does nothing if
// the two are the same file.
func (l *Local) takeOver(ctx context.Context, path, name string) error {
	return l.publish(ctx, name, func(tmp string) error {
		if err := l.fs.Sync(path); err != nil {
			return missing(err)
		}
		return l.link(path, tmp)
	}, l.fs.Rename)
}

// publish makes an object of a temporary file that write makes, whose bytes it syncs, by giving it its name. A crash at any
// point leaves what was there before, or all of the new one.
func (l *Local) publish(ctx context.Context, name string, write func(tmp string) error, give func(tmp, path string) error,
) error {
	if err := begin(ctx, name); err != nil {
		return err
	}
	path := l.Path(name)
	dir, tmp := filepath.Dir(path), files.Temp(path)
	if err := l.folder(dir); err != nil {
		return err
	}
	if err := write(tmp); err != nil {
		l.made.Delete(dir) // somebody may have removed it
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = give(tmp, path)
	}
	_ = l.fs.Remove(tmp) // it got no name, or has two by now; if it stays, Lock removes it
	if err != nil {
		return err
	}
	if err := l.fs.Sync(dir); err != nil {
		_ = l.fs.Remove(path) // what is reported as failed must not be there
		return err
	}
	return nil
}

// folder makes a folder, unless it did before, such that no crash takes it away.
func (l *Local) folder(path string) error {
	if _, ok := l.made.Load(path); ok {
		return nil
	}
	if err := files.MkdirAll(l.fs, path); err != nil {
		return err
	}
	if err := files.SyncAbove(l.fs, l.root, path); err != nil {
		return err
	}
	l.made.Store(path, nil)
	return nil
}

// link is Link, whose errors match errors.ErrUnsupported when a copy of the bytes would do.
func (l *Local) link(from, to string) error {
	err := l.fs.Link(from, to)
	for _, no := range []error{syscall.EXDEV, syscall.EPERM, syscall.EMLINK} { // EPERM: "does not support hard links", link(2)
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return err
}

// Open implements [Store].
func (l *Local) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := begin(ctx, name); err != nil {
		return nil, failedIf("open", name, err)
	}
	r, err := l.fs.Open(l.Path(name))
	if err != nil {
		return nil, failedIf("open", name, missing(err))
	}
	return r, nil
}

// missing makes the errors match fs.ErrNotExist that say that a file lies where a folder would, or the other way round.
func missing(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Delete implements [Store]. It syncs nothing, which costs no promise: after a crash of the machine the object may be there
// again, whole, and of two the one that was deleted first alone. Whoever deletes for good looks again after a crash. What
// is made in the folder afterwards makes it final.
func (l *Local) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, name); err != nil {
		return failedIf("delete", name, err)
	}
	path := l.Path(name)
	l.made.Delete(path) // an empty folder is removed as well
	err := missing(l.fs.Remove(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) { // the latter: a folder that is not empty
		return nil
	}
	return failedIf("delete", name, err)
}

func begin(ctx context.Context, name string) error {
	if err := checkObject(name); err != nil {
		return err
	}
	return ctx.Err()
}

const anObject = `a path like "a/b", without ".", "..", "\" and control characters, and not one of a temporary file`

func checkObject(name string) error {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) || files.IsTemp(path.Base(name)) ||
		strings.Contains(name, `\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return &NameError{Field: "object", Value: name, Bound: anObject}
	}
	return nil
}

func failedIf(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return failed(doing+" "+name, err)
}
