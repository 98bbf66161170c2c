package file

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/stream"
)

var (
	// ErrDirectory is why a path can't be used: it is a directory.
	ErrDirectory = errors.New("it is a directory: name a file in it")
	// ErrNotRegular is why a path can't be used: it is a pipe, a device or a socket, which can't be read again or synced.
	ErrNotRegular = errors.New("it is not a regular file: read a pipe or a device through standard input")
	// ErrNotDurable is why a path can't take dead letters: it is a pipe, a device or a socket.
	ErrNotDurable = errors.New("it is not a regular file: what is written to it does not outlive a crash")
)

// PathError is a file that can't be used. Its chain has [fs.ErrNotExist], [fs.ErrPermission], [ErrDirectory], [ErrNotRegular],
// [ErrNotDurable] or an error of the operating system.
type PathError struct {
	Doing string // such as "read" or "open"
	Path  string
	Err   error
}

// Error says what to do where there is something.
func (e *PathError) Error() string {
	text := fmt.Sprintf("%s %s: %v", e.Doing, e.Path, bare(e.Err))
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		text += ": check the path; it is looked up from the working directory"
	case errors.Is(e.Err, fs.ErrPermission):
		text += ": let the user of this process use it"
	}
	return text
}

// Unwrap is the cause.
func (e *PathError) Unwrap() error { return e.Err }

// bare drops the operation and the path that the os package repeats.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// ChangedError is a file that is not the one that a position is of.
type ChangedError struct {
	Path     string
	Position string
	Reason   string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s is not the file that was read up to %s: %s: give the job its file back, or another name or state folder to begin anew",
		e.Path, e.Position, e.Reason)
}

// PositionError is a position that this package did not make.
type PositionError struct {
	Position string
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("position %q is not one of a file source: it must be OFFSET:LINE:FINGERPRINT", e.Position)
}

// SplitError is a split that a source does not have: the state is that of another source.
type SplitError struct {
	Split string
	Want  string // the only one that it has
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("split %q is not of this source, whose only one is %q: the state was written with another source: "+
		"give the job that source back, or another name or state folder to begin anew", e.Split, e.Want)
}

// LineTooLongError is a line above the limit.
type LineTooLongError struct {
	Limit limits.Bytes
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the line is longer than %v: raise line_bytes if such lines are right", e.Limit)
}

// TooLong returns a [*LineTooLongError] if r is the beginning of a line above the source's limit, else nil. It is for who makes
// entries of records, since a source has no way to say that one of them is broken.
func (s *Source) TooLong(r stream.Record) error { return s.lines.tooLong(r) }

// TooLong is as [Source.TooLong].
func (s *Stdin) TooLong(r stream.Record) error { return s.lines.tooLong(r) }

func (l *lines) tooLong(r stream.Record) error {
	if len(r.Value) <= l.limit {
		return nil
	}
	return &LineTooLongError{Limit: limits.Bytes(l.limit)}
}

// join is errors.Join for typed nils.
func join(faults ...*limits.Fault) error {
	var errs []error
	for _, f := range faults {
		if f != nil {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}
