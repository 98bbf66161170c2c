//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package checkpoint

import (
	"errors"
	"io"
	"os"
)

// lock refuses: without a lock that dies with its process, or a folder that can be synced, no promise of this package holds.
func (disk) lock(path string) (io.Closer, error) {
	return nil, &os.PathError{Op: "flock", Path: path, Err: errors.ErrUnsupported}
}
