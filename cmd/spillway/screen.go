package main

import (
	"io"
	"sync"
)

// clear goes to the beginning of the terminal's line and clears it.
const clear = "\r\x1b[K"

// screen is standard error: lines, and on a terminal one more, the status, which stays below them and is redrawn. Any goroutine may
// call its methods.
type screen struct {
	w     io.Writer
	width func() int // nil: it is no terminal, and there is no status

	mu     sync.Mutex
	status string // that stands there now; "": none
}

// Write writes lines above the status.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == "" {
		return s.w.Write(p)
	}
	text := append([]byte(clear), p...)
	if _, err := s.w.Write(append(text, s.status...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// draw replaces the status; "" takes it away. A status that is too wide is cut: one that wraps could not be cleared.
func (s *screen) draw(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == nil || status == s.status {
		return
	}
	if width := s.width(); len(status) >= width { // ASCII
		status = status[:max(0, width-1)]
	}
	s.status = status
	_, _ = io.WriteString(s.w, clear+status)
}

// print writes lines to another file, which may be the same terminal.
func (s *screen) print(w io.Writer, lines string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == "" {
		_, err := io.WriteString(w, lines)
		return err
	}
	_, _ = io.WriteString(s.w, clear)
	_, err := io.WriteString(w, lines)
	_, _ = io.WriteString(s.w, s.status)
	return err
}
