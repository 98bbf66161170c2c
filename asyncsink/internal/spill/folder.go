package spill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

const (
	lockName  = "LOCK"
	extension = ".segment"
	digits    = 12 // of a segment's name
)

// folder is what the log's owner shares with those who seal, merge and let go of segments beside it.
type folder struct {
	fs       files.FS
	dir      string
	cap      int64 // bytes
	policy   Policy
	frame    statecodec.Frame // of a segment without a block
	start    []byte           // what stands before its blocks
	overhead int64            // bytes of a segment besides its blocks

	mu     sync.Mutex // guards what follows, and what Segment says of it
	number uint64     // of the newest file
	used   int64      // bytes of the files, as large as they will be
	count  int        // files
	stuck  []*Segment // free, and could not be removed
	last   error      // of the disk, if it refused what it was asked last
	copied int64      // bytes, by merges
	lock   io.Closer
	closed bool
}

// openFolder creates and locks the folder and removes what an earlier life left in it.
func openFolder(c Config) (*folder, error) {
	frame, start, err := statecodec.NewFrame(c.Header, c.Section)
	if err != nil {
		return nil, err
	}
	end, _ := frame.End()
	f := &folder{
		fs: c.FS, dir: c.Dir, cap: c.Bytes, policy: c.Sync,
		frame: frame, start: start, overhead: int64(len(start) + len(end)),
	}
	if err := f.fs.Mkdir(f.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, diskError("mkdir", f.dir, err)
	}
	path := filepath.Join(f.dir, lockName)
	f.lock, err = f.fs.Lock(path)
	if locked := (*files.LockedError)(nil); errors.As(err, &locked) {
		return nil, fmt.Errorf("spill: %w: stop it, or give this one another folder", err)
	}
	if err != nil {
		return nil, diskError("lock", path, err)
	}
	if err := f.wipe(); err != nil {
		_ = f.lock.Close()
		return nil, err
	}
	return f, nil
}

func (f *folder) wipe() error {
	list, err := f.fs.List(f.dir)
	if err != nil {
		return diskError("list", f.dir, err)
	}
	for _, i := range list {
		if i.Dir || !isSegment(i.Name) {
			continue
		}
		path := filepath.Join(f.dir, i.Name)
		if err := f.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diskError("remove", path, err)
		}
	}
	return nil
}

func isSegment(name string) bool {
	number, ok := strings.CutSuffix(name, extension)
	return ok && len(number) == digits && strings.Trim(number, "0123456789") == ""
}

// reserve takes n bytes of the space, if there are as many.
func (f *folder) reserve(n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.used+n > f.cap {
		return false
	}
	f.used += n
	return true
}

func (f *folder) release(n int64) {
	f.mu.Lock()
	f.used -= n
	f.mu.Unlock()
}

// said keeps what the disk answered, for Stats.
func (f *folder) said(err error) error {
	f.mu.Lock()
	f.last = err
	f.mu.Unlock()
	return err
}

// create makes the file of a segment for which f.overhead is reserved.
func (f *folder) create() (*Segment, error) {
	f.mu.Lock()
	f.number++ // never the same name twice: a create that failed may have made it
	path := filepath.Join(f.dir, fmt.Sprintf("%0*d%s", digits, f.number, extension))
	f.mu.Unlock()
	file, err := f.fs.Create(path)
	if err != nil {
		return nil, f.said(diskError("create", path, err))
	}
	f.mu.Lock()
	f.count++
	f.mu.Unlock()
	return &Segment{in: f, path: path, file: file, frame: f.frame, rest: f.start, space: f.overhead}, nil
}

// free lets go of a segment: its file is removed now, or when the last pin is.
func (f *folder) free(s *Segment) {
	f.mu.Lock()
	s.freed = true
	pinned := s.pins > 0
	f.mu.Unlock()
	if !pinned {
		f.remove(s)
	}
}

// remove removes a file that nobody reads any more. One that can't be is tried again by sweep.
func (f *folder) remove(s *Segment) {
	s.letGo()
	err := f.fs.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		s.stuck = diskError("remove", s.path, err)
		f.stuck = append(f.stuck, s)
	} else {
		f.used -= s.space
		f.count--
	}
	f.unlock()
}

// sweep tries again to remove what could not be.
func (f *folder) sweep() {
	f.mu.Lock()
	stuck := f.stuck
	f.stuck = nil
	f.mu.Unlock()
	for _, s := range stuck {
		f.remove(s)
	}
}

// close lets another process have the folder once no file is in it that somebody reads.
func (f *folder) close() error {
	f.sweep()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.unlock()
	return f.stuckError()
}

func (f *folder) unlock() {
	if f.closed && f.lock != nil && f.count == len(f.stuck) {
		_ = f.lock.Close() // nothing was written through it
		f.lock = nil
	}
}

// stuckError says which files could not be removed, or the first of many.
func (f *folder) stuckError() error {
	if len(f.stuck) == 0 {
		return nil
	}
	if len(f.stuck) == 1 {
		return f.stuck[0].stuck
	}
	return fmt.Errorf("%w (and %d files more)", f.stuck[0].stuck, len(f.stuck)-1)
}
