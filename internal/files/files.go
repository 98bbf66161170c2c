// Package files is the file system as Spillway's state uses it: a few operations behind one interface, so that a test can
// fail at each of them, or crash there and drop what was not synced (package crashfs).
package files

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// FS is a file system. Any goroutine may call it. Errors are those of package os.
type FS interface {
	// Mkdir creates one folder (0700).
	Mkdir(path string) error
	// List returns the files and folders that lie in a folder, by name. Links, sockets and the like are not among them.
	List(path string) ([]Info, error)
	// Create creates a file (0600) that is not there yet, else fs.ErrExist.
	Create(path string) (File, error)
	// Open opens a file for reading. Of a folder the error matches syscall.EISDIR.
	Open(path string) (Reader, error)
	// Rename gives a file another name, in place of the one that has it.
	Rename(from, to string) error
	// Link gives a file a second name; fs.ErrExist if another has it.
	Link(from, to string) error
	// Remove removes the name of a file, or a folder that is empty.
	Remove(path string) error
	// Sync waits until a file's bytes, or a folder's names, are on the disk. A *[SyncError] if they could not be written.
	Sync(path string) error
	// Lock creates a file and locks it until Close, or until the process ends, however it does. A *[LockedError] if another has it.
	Lock(path string) (io.Closer, error)
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
	// Truncate drops what is behind so many bytes; what is written next follows them.
	Truncate(size int64) error
}

// Reader is a file that is being read.
type Reader interface {
	io.ReadCloser
	io.ReaderAt
}

// Info is what is known of a file or folder.
type Info struct {
	Name     string // the last element of its path
	Size     int64  // bytes
	Modified time.Time
	Dir      bool
}

// LockedError says that a lock is taken.
type LockedError struct {
	Path string // of the lock
	PID  int    // of the process that has it, as that said; 0: unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// SyncError says that what was written to a file may be lost: the system may have dropped what it could not write, and
// to sync again would find nothing to do.
type SyncError struct {
	Path string
	Err  error
}

func (e *SyncError) Error() string { return "sync " + e.Path + ": " + e.Err.Error() }

// Unwrap is the system's error.
func (e *SyncError) Unwrap() error { return e.Err }

// OS is the real one.
type OS struct{}

func (OS) Mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func (OS) Rename(from, to string) error { return os.Rename(from, to) }
func (OS) Link(from, to string) error   { return os.Link(from, to) }
func (OS) Remove(path string) error     { return os.Remove(path) }

func (OS) Open(path string) (Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	i, err := f.Stat()
	if err == nil && i.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (OS) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

type osFile struct{ *os.File }

func (f osFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	_, err := f.Seek(size, io.SeekStart)
	return err
}

func (OS) List(path string) ([]Info, error) {
	entries, err := os.ReadDir(path)
	list := make([]Info, 0, len(entries))
	for _, e := range entries {
		i, err := e.Info()
		if os.IsNotExist(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if !i.Mode().IsRegular() && !i.IsDir() {
			continue
		}
		list = append(list, Info{Name: e.Name(), Size: i.Size(), Modified: i.ModTime(), Dir: i.IsDir()})
	}
	return list, err
}

func (OS) Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		err = &SyncError{path, err}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
