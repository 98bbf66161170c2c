//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Lock takes the lock that dies with the process, however it dies. The file stays: to remove it would let a third process
// lock a new file of the name while a second waits with the old one.
func (OS) Lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		err = note(f)
	} else if errors.Is(err, syscall.EWOULDBLOCK) {
		locked := &LockedError{Path: path}
		_, _ = fmt.Fscan(f, &locked.PID) // a help only: the holder may be about to write it
		err = locked
	} else {
		err = &os.PathError{Op: "flock", Path: path, Err: err}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// note tells those who find the lock taken by whom.
func note(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}
