package file

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spillway-go/spillway/stream"
)

// FileSplit is the ID of a [Source]'s only split. It is not the path: so the state of a job goes with its file when that is
// moved, and never with another that came to its place, which the fingerprint tells.
const FileSplit = "file"

// Source reads the lines of one file, from the beginning or from a position, to its end. It is a [stream.Source]: one goroutine
// calls its methods, except TooLong, which any may call.
type Source struct {
	path     string
	f        *os.File
	lines    lines
	assigned bool
}

// Open opens a file to read. The error is Validate's, or a [*PathError]. It does not block, also where a path is a named pipe.
func Open(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("file source: %w", err)
	}
	if err := regular("read", c.Path, ErrNotRegular); err != nil {
		return nil, err
	}
	f, err := os.Open(c.Path)
	if err != nil {
		return nil, &PathError{"read", c.Path, err}
	}
	return &Source{path: c.Path, f: f, lines: newLines(FileSplit, lineLimit(c.LineBytes))}, nil
}

// regular refuses what is no regular file, before it is opened: to open a pipe may wait for ever.
func regular(doing, path string, otherwise error) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = ErrDirectory
	case !info.Mode().IsRegular():
		err = otherwise
	}
	if err != nil {
		return &PathError{doing, path, err}
	}
	return nil
}

// Replayable is true.
func (s *Source) Replayable() bool { return true }

// Discover returns the one split, [FileSplit].
func (s *Source) Discover(context.Context) ([]stream.Split, error) {
	return []stream.Split{{ID: FileSplit}}, nil
}

// Assign makes Read begin at the split's position. Errors: [*SplitError], [*PositionError], [*ChangedError], [*PathError]; the
// source then reads on from where it was.
func (s *Source) Assign(splits []stream.Split) error {
	for _, split := range splits {
		if split.ID != FileSplit {
			return &SplitError{Split: split.ID, Want: FileSplit}
		}
		var at mark
		if split.Position != nil {
			var err error
			if at, err = parseMark(split.Position); err != nil {
				return err
			}
			if err := s.check(at, string(split.Position)); err != nil {
				return err
			}
		}
		if _, err := s.f.Seek(at.offset, io.SeekStart); err != nil {
			return &PathError{"read", s.path, err}
		}
		s.lines.reset(at)
		s.assigned = true
	}
	return nil
}

// check refuses a file that is not the one that the mark is of.
func (s *Source) check(at mark, text string) error {
	changed := func(format string, args ...any) error {
		return &ChangedError{Path: s.path, Position: text, Reason: fmt.Sprintf(format, args...)}
	}
	info, err := s.f.Stat()
	if err != nil {
		return &PathError{"read", s.path, err}
	}
	if info.Size() < at.offset {
		return changed("it has %d bytes only", info.Size())
	}
	head := make([]byte, min(headBytes, at.offset))
	if _, err := s.f.ReadAt(head, 0); err != nil {
		return &PathError{"read", s.path, err}
	}
	if fnv(0, head) != at.hash {
		return changed("its first %d bytes differ", len(head))
	}
	if at.offset == 0 {
		return nil
	}
	// The byte before, and what the line would go on with: at most the end that it lacked.
	var around [3]byte
	n, err := s.f.ReadAt(around[:], at.offset-1)
	if err != nil && err != io.EOF {
		return &PathError{"read", s.path, err}
	}
	next := string(around[1:n])
	if around[0] != '\n' && n > 1 && next[0] != '\n' && next != "\r\n" {
		return changed("line %d, which was its last, is longer now", at.line)
	}
	return nil
}

// Revoke ends the reading of the split.
func (s *Source) Revoke(ids []string) error {
	for _, id := range ids {
		if id != FileSplit {
			return &SplitError{Split: id, Want: FileSplit}
		}
		s.assigned = false
	}
	return nil
}

// Read fills dst with the next lines: those that are in memory, else those of the next block. It is io.EOF at the end of the
// file and while no split is assigned. A read that fails is a [*PathError], which comes again;
// a file that was truncated or written anew meanwhile is a [*ChangedError] at its end.
func (s *Source) Read(ctx context.Context, dst []stream.Record) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !s.assigned {
		return 0, io.EOF
	}
	for {
		n := s.lines.cut(dst)
		switch err := s.lines.err; {
		case n > 0 || len(dst) == 0:
			return n, nil
		case err == io.EOF:
			return 0, s.atEnd()
		case err != nil:
			return 0, &PathError{"read", s.path, err}
		case ctx.Err() != nil: // of a line without end
			return 0, ctx.Err()
		}
		s.lines.took(s.f.Read(s.lines.space()))
	}
}

// atEnd is io.EOF, unless the file was truncated or written anew under the reader, whose last lines may then be neither the
// old ones nor the new.
func (s *Source) atEnd() error {
	at := s.lines.at
	if err := s.check(at, string(at.append(nil))); err != nil {
		return err
	}
	return io.EOF
}

// Close closes the file.
func (s *Source) Close() error {
	if err := s.f.Close(); err != nil {
		return &PathError{"close", s.path, err}
	}
	return nil
}
