package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// temporary ends the name of a file that is being written.
const temporary = ".tmp"

// replace writes a file such that a crash at any point leaves either what was there before or all of what fill wrote: to a
// temporary file, which is synced before it takes the name, and its folder after it. On an error before that last step
// what was there before stays; after it, either may.
//
// A sync that failed is never tried again: the system may have dropped the pages that it could not write, and a second
// sync would find nothing to do. Who tries again writes a new file.
func replace(on files, path string, fill func(w io.Writer) error) (err error) {
	from := path + temporary
	f, err := on.create(from)
	if errors.Is(err, fs.ErrExist) { // an earlier attempt that could not be cleaned up
		if err = on.remove(from); err == nil {
			f, err = on.create(from)
		}
	}
	if err != nil {
		return err
	}
	renamed, closed := false, false
	defer func() { // also when fill panics
		if !closed {
			_ = f.Close()
		}
		if !renamed {
			_ = on.remove(from) // what stays is removed by the next attempt, or the next opening
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
	if err := on.rename(from, path); err != nil {
		return err
	}
	renamed = true
	return on.syncDir(filepath.Dir(path))
}
