package checkpoint

import (
	"io"
	"os"
)

// files is the file system as this package uses it: few operations, so that a test can fail or crash at each of them.
type files interface {
	mkdir(path string) error // 0700
	list(path string) ([]string, error)
	create(path string) (file, error) // 0600; new
	open(path string) (io.ReadCloser, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(path string) error
	lock(path string) (io.Closer, error) // creates it; nil, *LockedError if another has it
}

type file interface {
	io.WriteCloser
	Sync() error
}

// disk is the real one.
type disk struct{}

func (disk) mkdir(path string) error                 { return os.Mkdir(path, 0o700) }
func (disk) open(path string) (io.ReadCloser, error) { return os.Open(path) }
func (disk) rename(from, to string) error            { return os.Rename(from, to) }
func (disk) remove(path string) error                { return os.Remove(path) }

func (disk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (disk) list(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (disk) syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
