package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// Hint says what a person can do about an error of the file system; empty: nothing is known.
func Hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space, or put the state on a larger disk"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: put the state on one that can be written"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EEXIST):
		return "something else has the name of a file or folder that is needed: move it away, or use another state folder"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open: raise the limit (ulimit -n)"
	case errors.Is(err, errors.ErrUnsupported):
		return "put the state on a local file system, one that knows locks, links and syncs"
	case errors.Is(err, fs.ErrPermission):
		return "let the user of this process read and write the state folder, or use another one"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: see the kernel's log"
	}
	return ""
}
