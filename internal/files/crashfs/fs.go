// Package crashfs is a file system for tests: it lies in memory and forgets, in a crash, what was not synced.
//
// It knows of each file and folder what a process sees and what is on the disk for sure. What lies between, a crash keeps
// in part: of the changes of a folder (a name that is made, given or removed) any, and of the bytes of a file any of those
// behind the synced ones, with zeros for the others. It is as unkind as the rules allow:
//
//   - Sync of a file says nothing of its name, Sync of a folder nothing of the bytes in it, nor of its own name.
//   - Changes of the same name keep their order. Others have none: the second rename may survive and the first not.
//   - A rename within a folder is one change. One between folders is two, hence both names may survive, or none.
//   - A sync of a file that failed drops what it was to write: another one succeeds and mends nothing.
//   - A sync of a folder that failed may be tried again: file systems that can't write their own records stop.
//
// A test fails one operation, or crashes at it, and does so at each in turn:
//
//	for n := 1; ; n++ {
//		disk := crashfs.New("/var")
//		disk.CrashAt(n)
//		err := work(disk)             // matches ErrCrash, unless no operation n was made
//		if !disk.Failed() {
//			break
//		}
//		again(disk.Crashed(random))   // what the next process finds
//	}
package crashfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrCrash is what operations return at a crash and after it: the process is gone.
var ErrCrash = errors.New("crash")

// Op is an operation: a call of a method of the file system or of one of its files. Closing what was read is none.
type Op struct {
	N    int    // since New, from 1
	Name string // mkdir, list, create, open, rename, link, remove, sync, lock, unlock, read, write, close
	Path string
	To   string // of rename and link
}

func (o Op) String() string {
	if o.To != "" {
		return fmt.Sprintf("%d %s %s to %s", o.N, o.Name, o.Path, o.To)
	}
	return fmt.Sprintf("%d %s %s", o.N, o.Name, o.Path)
}

// FS is the file system, a files.FS. Any goroutine may call its methods. Paths have slashes and begin at /.
type FS struct {
	mu     sync.Mutex
	root   *node
	locks  map[*node]bool
	now    func() time.Time
	space  int64 // bytes; 0: no end
	nodes  int   // made so far
	ops    int
	trace  []string
	fail   func(Op) error
	failed bool
	gone   bool // crashed
}

// New makes a file system that holds the given folders, with those above them. They are on the disk.
func New(folders ...string) *FS {
	f := &FS{locks: map[*node]bool{}, now: func() time.Time { return time.Unix(0, 0) }}
	f.root = f.node(true)
	for _, folder := range folders {
		at := f.root
		for _, name := range elements(folder) {
			if at.seen[name] == nil {
				n := f.node(true)
				at.seen[name], at.disk[name] = n, n
			}
			at = at.seen[name]
		}
	}
	return f
}

// FailOn makes the operations fail for which fail returns an error; nil: none any more. One that fails has no effect, but
// for half of what a write was given. If the error matches [ErrCrash], so do all operations after it. fail is
// called by one goroutine at a time and must not use the file system.
func (f *FS) FailOn(fail func(Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

// FailAt makes operation n fail, and no other. The next one is Ops()+1.
func (f *FS) FailAt(n int, err error) {
	f.FailOn(func(o Op) error {
		if o.N == n {
			return err
		}
		return nil
	})
}

// CrashAt makes operation n and all after it fail with [ErrCrash].
func (f *FS) CrashAt(n int) { f.FailAt(n, ErrCrash) }

// Failed says whether an operation was made to fail.
func (f *FS) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Ops returns how many operations there were.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Trace returns the operations in their order, one a line, and of those that were made to fail the error.
func (f *FS) Trace() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.trace)
}

// SetSpace sets how many bytes the files that have a name may hold together; 0, the default: any number. A write that goes
// past it is cut there, with ENOSPC.
func (f *FS) SetSpace(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.space = bytes
}

// SetClock sets what tells when a file was modified. The default stands still, at the start of 1970.
func (f *FS) SetClock(now func() time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

// step counts an operation and says whether it fails. The caller holds the lock.
func (f *FS) step(name, at, to string) error {
	err := ErrCrash
	if !f.gone {
		f.ops++
		o := Op{N: f.ops, Name: name, Path: at, To: to}
		err = nil
		if f.fail != nil {
			err = f.fail(o)
		}
		line := o.String()
		if err != nil {
			line += ": " + err.Error()
			f.failed = true
			f.gone = errors.Is(err, ErrCrash)
		}
		f.trace = append(f.trace, line)
	}
	if err != nil {
		return &fs.PathError{Op: name, Path: at, Err: err}
	}
	return nil
}

// find returns what has a path.
func (f *FS) find(op, at string) (*node, error) {
	n := f.root
	for _, name := range elements(at) {
		if !n.dir {
			return nil, &fs.PathError{Op: op, Path: at, Err: syscall.ENOTDIR}
		}
		if n = n.seen[name]; n == nil {
			return nil, &fs.PathError{Op: op, Path: at, Err: syscall.ENOENT}
		}
	}
	return n, nil
}

// folder returns the folder that a path lies in, and its name there.
func (f *FS) folder(op, at string) (dir *node, name string, err error) {
	above, name := path.Split(clean(at))
	if name == "" {
		return nil, "", &fs.PathError{Op: op, Path: at, Err: syscall.EBUSY} // the root
	}
	if dir, err = f.find(op, above); err == nil && !dir.dir {
		err = &fs.PathError{Op: op, Path: at, Err: syscall.ENOTDIR}
	}
	return dir, name, err
}

func clean(at string) string { return path.Clean("/" + filepath.ToSlash(at)) }

func elements(at string) []string {
	return strings.FieldsFunc(clean(at), func(r rune) bool { return r == '/' })
}
