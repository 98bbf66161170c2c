//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package files

import (
	"errors"
	"io"
	"os"
)

// Lock refuses: without a lock that dies with its process, or a folder that can be synced, no promise of those who use this
// package holds.
func (OS) Lock(path string) (io.Closer, error) {
	return nil, &os.PathError{Op: "flock", Path: path, Err: errors.ErrUnsupported}
}
