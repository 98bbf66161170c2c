package file

import (
	"context"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/stream"
)

// StdinSplit is the ID of a [Stdin]'s only split.
const StdinSplit = "stdin"

// emptyReads is how many reads in a row may bring nothing.
const emptyReads = 100

// Stdin reads the lines of a stream that cannot be read again, to its end. It is a [stream.Source]: one goroutine calls its
// methods, except TooLong, which any may call.
//
// What it has taken from the stream and is in no complete checkpoint is lost when the process dies: up to a block, and what the
// reader of its records holds.
type Stdin struct {
	lines    lines
	assigned bool

	// The reader blocks for as long as it likes, and nothing can be done about it. Hence a goroutine waits for it, of which
	// there is at most one, and which has the space it was asked to fill until it answers.
	ask     chan []byte
	answer  chan chunk
	waiting bool // it was asked and has not answered
	empty   int
}

type chunk struct {
	n   int
	err error
}

// NewStdin reads from r. The error is Validate's.
//
// It starts a goroutine that calls r.Read while the source's Read waits, one call at a time. Close ends it; when r.Read is
// blocked just then, it ends once that returns, which for a terminal may be never: it costs its memory, and no more.
func NewStdin(r io.Reader, c StdinConfig) (*Stdin, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("stdin source: %w", err)
	}
	s := &Stdin{lines: newLines(StdinSplit, lineLimit(c.LineBytes)), ask: make(chan []byte), answer: make(chan chunk, 1)}
	s.lines.reset(mark{plain: true})
	go func() {
		for space := range s.ask {
			n, err := r.Read(space)
			s.answer <- chunk{n, err}
		}
	}()
	return s, nil
}

// Replayable is false.
func (s *Stdin) Replayable() bool { return false }

// Discover returns the one split, [StdinSplit].
func (s *Stdin) Discover(context.Context) ([]stream.Split, error) {
	return []stream.Split{{ID: StdinSplit}}, nil
}

// Assign lets Read begin. Positions of an earlier life mean nothing and are ignored. The error is a [*SplitError].
func (s *Stdin) Assign(splits []stream.Split) error { return s.assign(true, splits...) }

// Revoke ends the reading. What was taken from the stream stays for the next Assign.
func (s *Stdin) Revoke(ids []string) error {
	for _, id := range ids {
		if err := s.assign(false, stream.Split{ID: id}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stdin) assign(to bool, splits ...stream.Split) error {
	for _, split := range splits {
		if split.ID != StdinSplit {
			return &SplitError{Split: split.ID, Want: StdinSplit}
		}
		s.assigned = to
	}
	return nil
}

// Read fills dst with the next lines as soon as there is one. It waits no longer than ctx lasts, also while the stream is
// blocked: then it returns ctx's error, nothing is lost, and the next Read goes on. Lines that were taken from the stream are
// handed on even when ctx has ended, since nobody can read them again: whoever wants all of them calls until there is an error.
func (s *Stdin) Read(ctx context.Context, dst []stream.Record) (int, error) {
	if !s.assigned {
		return 0, io.EOF
	}
	for {
		if !s.waiting {
			n := s.lines.cut(dst)
			switch err := s.lines.err; {
			case n > 0 || len(dst) == 0:
				return n, nil
			case err == io.EOF:
				return 0, err
			case err != nil:
				return 0, &PathError{"read", "standard input", err}
			}
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			s.ask <- s.lines.space()
			s.waiting = true
		}
		select {
		case c := <-s.answer:
			s.took(c)
			continue
		default:
		}
		select {
		case c := <-s.answer:
			s.took(c)
		case <-ctx.Done():
			if len(s.answer) > 0 { // taken from the stream in the same moment
				continue
			}
			return 0, ctx.Err()
		}
	}
}

func (s *Stdin) took(c chunk) {
	s.waiting = false
	s.empty++
	if c.n > 0 {
		s.empty = 0
	}
	if c.err == nil && s.empty == emptyReads {
		c.err = io.ErrNoProgress
	}
	s.lines.took(c.n, c.err)
}

// Close ends the source; the reader stays open. It may be called once.
func (s *Stdin) Close() error {
	close(s.ask)
	return nil
}
