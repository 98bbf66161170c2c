package crashfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/spillway-go/spillway/internal/files"
)

var _ files.FS = (*FS)(nil)

// Mkdir is files.FS.
func (f *FS) Mkdir(at string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.add("mkdir", at, true)
	return err
}

// Create is files.FS.
func (f *FS) Create(at string) (files.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.add("create", at, false)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, path: at, node: n}, nil
}

// add makes a file or folder.
func (f *FS) add(op, at string, dir bool) (*node, error) {
	if err := f.step(op, at, ""); err != nil {
		return nil, err
	}
	in, name, err := f.folder(op, at)
	if err != nil {
		return nil, err
	}
	if in.seen[name] != nil {
		return nil, &fs.PathError{Op: op, Path: at, Err: syscall.EEXIST}
	}
	n := f.node(dir)
	in.change(change{name: n})
	return n, nil
}

// List is files.FS.
func (f *FS) List(at string) ([]files.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step("list", at, ""); err != nil {
		return nil, err
	}
	in, err := f.find("list", at)
	if err != nil {
		return nil, err
	}
	if !in.dir {
		return nil, &fs.PathError{Op: "list", Path: at, Err: syscall.ENOTDIR}
	}
	var list []files.Info
	for _, name := range slices.Sorted(maps.Keys(in.seen)) {
		n := in.seen[name]
		list = append(list, files.Info{Name: name, Size: int64(len(n.data)), Modified: n.modified, Dir: n.dir})
	}
	return list, nil
}

// Open is files.FS.
func (f *FS) Open(at string) (files.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step("open", at, ""); err != nil {
		return nil, err
	}
	n, err := f.find("open", at)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return nil, &fs.PathError{Op: "open", Path: at, Err: syscall.EISDIR}
	}
	return &reader{fs: f, path: at, node: n}, nil
}

// Rename is files.FS.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, source, target, err := f.move("rename", from, to)
	if err != nil {
		return err
	}
	fromName, toName := base(from), base(to)
	switch old := target.seen[toName]; {
	case old == n: // two links to one file: POSIX leaves both
	case old != nil && old.dir:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EEXIST}
	case source == target:
		target.change(change{fromName: nil, toName: n})
	default:
		target.change(change{toName: n})
		source.change(change{fromName: nil})
	}
	return nil
}

// Link is files.FS.
func (f *FS) Link(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _, target, err := f.move("link", from, to)
	if err != nil {
		return err
	}
	if target.seen[base(to)] != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EEXIST}
	}
	target.change(change{base(to): n})
	return nil
}

// move returns a file and the two folders of a rename or link.
func (f *FS) move(op, from, to string) (n, source, target *node, err error) {
	if err = f.step(op, from, to); err != nil {
		return nil, nil, nil, err
	}
	if source, _, err = f.folder(op, from); err != nil {
		return nil, nil, nil, err
	}
	if target, _, err = f.folder(op, to); err != nil {
		return nil, nil, nil, err
	}
	if n, err = f.find(op, from); err != nil {
		return nil, nil, nil, err
	}
	if n.dir { // a system would rename it; who uses files.FS does not
		return nil, nil, nil, &os.LinkError{Op: op, Old: from, New: to, Err: syscall.EPERM}
	}
	return n, source, target, nil
}

// Remove is files.FS.
func (f *FS) Remove(at string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step("remove", at, ""); err != nil {
		return err
	}
	in, name, err := f.folder("remove", at)
	if err != nil {
		return err
	}
	n := in.seen[name]
	if n == nil {
		return &fs.PathError{Op: "remove", Path: at, Err: syscall.ENOENT}
	}
	if len(n.seen) > 0 {
		return &fs.PathError{Op: "remove", Path: at, Err: syscall.ENOTEMPTY}
	}
	in.change(change{name: nil})
	return nil
}

// Sync is files.FS.
func (f *FS) Sync(at string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find("sync", at)
	return f.sync(at, n, err)
}

// sync syncs a file or folder; err: why there is none.
func (f *FS) sync(at string, n *node, err error) error {
	if failed := f.step("sync", at, ""); failed != nil {
		if n != nil && !n.dir {
			n.dropped = n.dropped || n.synced < len(n.data)
		}
		return failed
	}
	if err == nil {
		n.sync()
	}
	return err
}

// Lock is files.FS. The process that has the lock is this one.
func (f *FS) Lock(at string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step("lock", at, ""); err != nil {
		return nil, err
	}
	in, name, err := f.folder("lock", at)
	if err != nil {
		return nil, err
	}
	n := in.seen[name]
	if n == nil {
		n = f.node(false)
		in.change(change{name: n})
	}
	if f.locks[n] {
		return nil, &files.LockedError{Path: at, PID: os.Getpid()}
	}
	f.locks[n] = true
	return closer(sync.OnceValue(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.locks, n)
		return f.step("unlock", at, "")
	})), nil
}

type closer func() error

func (c closer) Close() error { return c() }

func base(at string) string {
	e := elements(at)
	return e[len(e)-1]
}
