package spill

import (
	"errors"
	"io/fs"

	"github.com/spillway-go/spillway/internal/files"
)

var (
	// ErrFull says that the log has all the space that it may take, or has no disk at all.
	ErrFull = errors.New("spill: the log is full: raise the space that it may take, or wait until entries have been delivered")
	// ErrClosed says that the log is closed.
	ErrClosed = errors.New("spill: the log is closed")

	errNotEnded = errors.New("spill: the segment is still written to: Cut ends it")
)

// DiskError says that the disk refused something. It may be tried again.
type DiskError struct {
	Op   string // create, write, sync, close, open, read, remove, list, mkdir, lock
	Path string
	Err  error
}

func (e *DiskError) Error() string {
	text := "spill: " + e.Op + " " + e.Path + ": " + e.Err.Error()
	if hint := files.Hint(e.Err); hint != "" {
		text += ": " + hint
	}
	return text
}

// Unwrap is the system's error.
func (e *DiskError) Unwrap() error { return e.Err }

func diskError(op, path string, err error) error {
	if p, ok := err.(*fs.PathError); ok { // says both as well
		err = p.Err
	}
	return &DiskError{op, path, err}
}

// DamagedError says that a segment's file does not hold what was written to it.
type DamagedError struct {
	Path string
	Err  error // a *statecodec.FormatError: where
}

func (e *DamagedError) Error() string {
	return "spill: " + e.Path + ": " + e.Err.Error() + ": the disk or another program changed it: go on from the last checkpoint"
}

// Unwrap says where, and what is wrong there.
func (e *DamagedError) Unwrap() error { return e.Err }
