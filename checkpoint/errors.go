package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// LockedError says that another process uses the folder.
type LockedError struct {
	Path string // the folder
	PID  int    // of the process, as that said; 0: unknown
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("checkpoint: %s is in use by %s: stop it, or give this process an instance of its own", e.Path, who)
}

// OtherJobError says that a folder, or a checkpoint in it, belongs to another job.
type OtherJobError struct {
	Path        string // of the file that says so
	Found, Want Job
}

func (e *OtherJobError) Error() string {
	return fmt.Sprintf("checkpoint: %s belongs to job %q, instance %q, not to job %q, instance %q: "+
		"use another state folder, or the names that it was written under",
		e.Path, e.Found.Name, e.Found.Instance, e.Want.Name, e.Want.Instance)
}

// DamagedError says that a file of the state is not as it was written. Nothing was changed or removed.
type DamagedError struct {
	Path   string
	Offset int64  // bytes from its start
	Advice string // what to do, and what it costs
	Err    error  // what is wrong; of a checkpoint mostly a *statecodec.FormatError
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("checkpoint: %s is damaged at byte %d: %v: %s", e.Path, e.Offset, e.Err, e.Advice)
}

// Unwrap returns Err.
func (e *DamagedError) Unwrap() error { return e.Err }

// failed wraps an error of the file system with what was being done and what a person can do.
func failed(doing string, err error) error {
	if h := hint(err); h != "" {
		return fmt.Errorf("checkpoint: %s: %w: %s", doing, err, h)
	}
	return fmt.Errorf("checkpoint: %s: %w", doing, err)
}

// hint is for the errors that a person can do something about.
func hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space, or put the state on a larger disk"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: put the state on one that can be written"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		return "something else lies where a folder is needed: move it away, or use another state folder"
	case errors.Is(err, fs.ErrPermission):
		return "let the user of this process read and write the state folder, or use another one"
	case errors.Is(err, errors.ErrUnsupported):
		return "put the state on a local file system, one that knows locks and syncs"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: see the kernel's log"
	}
	return ""
}
