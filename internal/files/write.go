package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
)

// temporary matches the names that [Temp] makes.
var temporary = "?*." + strings.Repeat("[0-9a-f]", 8) + ".tmp"

// Temp returns a name beside path for a file that gets that name once it is whole. Each call returns another, so that a
// writer that was given up, and writes on, has none in common with the one that follows it.
func Temp(path string) string { return fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32()) }

// IsTemp says whether name, the last element of a path, is one of those that [Temp] returns: of a file that is being
// written, or that a crash left.
func IsTemp(name string) bool {
	ok, _ := filepath.Match(temporary, name)
	return ok
}

// Write makes a new file of what fill writes, which is buffered. Its bytes are on the disk when Write returns nil; its name
// is once its folder is synced. After an error, or a panic of fill, the file is removed, if it can be.
//
// A sync that failed is never tried again: the system may have dropped the pages that it could not write, and a second
// sync would find nothing to do. Who tries again writes a new file.
func Write(on FS, path string, fill func(io.Writer) error) error {
	f, err := on.Create(path)
	if err != nil {
		return err
	}
	whole, closed := false, false
	defer func() { // also when fill panics
		if !closed {
			_ = f.Close()
		}
		if !whole {
			_ = on.Remove(path)
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	closed = true
	if err := f.Close(); err != nil {
		return err
	}
	whole = true
	return nil
}

// MkdirAll creates a folder and those above it. That something else has the name shows when the folder is used.
func MkdirAll(on FS, path string) error {
	err := on.Mkdir(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err := MkdirAll(on, filepath.Dir(path)); err != nil {
			return err
		}
		err = on.Mkdir(path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// SyncAbove makes sure that no crash takes away a folder that path lies in, made by this process or by one that crashed.
// Folders above root that cannot be synced are those of others: where we could make a folder, we can sync as well.
func SyncAbove(on FS, root, path string) error {
	root = filepath.Clean(root)
	for at, above := filepath.Clean(path), false; filepath.Dir(at) != at; {
		above = above || at == root
		at = filepath.Dir(at)
		err := on.Sync(at)
		if above && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
