package crashfs

import (
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is a file that is being written.
type file struct {
	fs     *FS
	path   string
	node   *node
	closed bool
}

func (w *file) Write(p []byte) (n int, err error) {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return 0, &fs.PathError{Op: "write", Path: w.path, Err: fs.ErrClosed}
	}
	n = len(p)
	if w.fs.gone {
		n = 0
	}
	if err = w.fs.step("write", w.path, ""); err != nil {
		n /= 2
	} else if room := w.fs.room(); int64(n) > room {
		n, err = int(room), &fs.PathError{Op: "write", Path: w.path, Err: syscall.ENOSPC}
	}
	if n > 0 {
		w.node.data = append(w.node.data, p[:n]...)
		w.node.modified = w.fs.now()
	}
	return n, err
}

// room returns how many bytes may be written yet.
func (f *FS) room() int64 {
	if f.space == 0 {
		return 1 << 62
	}
	return max(0, f.space-f.root.size(map[*node]bool{}))
}

func (w *file) Sync() error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return &fs.PathError{Op: "sync", Path: w.path, Err: fs.ErrClosed}
	}
	return w.fs.sync(w.path, w.node, nil)
}

func (w *file) Truncate(size int64) error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return &fs.PathError{Op: "truncate", Path: w.path, Err: fs.ErrClosed}
	}
	if err := w.fs.step("truncate", w.path, ""); err != nil {
		return err
	}
	n := w.node
	n.data = slices.Clone(n.data[:size])
	n.synced, n.modified = min(n.synced, int(size)), w.fs.now()
	return nil
}

func (w *file) Close() error {
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	if w.closed {
		return &fs.PathError{Op: "close", Path: w.path, Err: fs.ErrClosed}
	}
	w.closed = true
	return w.fs.step("close", w.path, "")
}

// reader is a file that is being read: what was written by then, whatever its name is now.
type reader struct {
	fs     *FS
	path   string
	node   *node
	at     int64
	closed bool
}

func (r *reader) Read(p []byte) (int, error) {
	r.fs.mu.Lock()
	defer r.fs.mu.Unlock()
	n, err := r.read(p, r.at)
	r.at += int64(n)
	return n, err
}

func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	r.fs.mu.Lock()
	defer r.fs.mu.Unlock()
	n, err := r.read(p, at)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (r *reader) read(p []byte, at int64) (int, error) {
	failed := func(err error) (int, error) { return 0, &fs.PathError{Op: "read", Path: r.path, Err: err} }
	if r.closed {
		return failed(fs.ErrClosed)
	}
	if err := r.fs.step("read", r.path, ""); err != nil {
		return 0, err
	}
	switch {
	case at < 0:
		return failed(syscall.EINVAL)
	case len(p) == 0:
		return 0, nil
	case at >= int64(len(r.node.data)):
		return 0, io.EOF
	}
	return copy(p, r.node.data[at:]), nil
}

func (r *reader) Close() error {
	r.fs.mu.Lock()
	defer r.fs.mu.Unlock()
	if r.closed {
		return &fs.PathError{Op: "close", Path: r.path, Err: fs.ErrClosed}
	}
	r.closed = true
	return nil
}
