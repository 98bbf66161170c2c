package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// DeadLetter is a record or an entry that was given up.
type DeadLetter struct {
	Time     time.Time // when it was given up
	Class    string    // why, in one word
	Err      error     // why, in full
	Attempts int       // that were made to deliver it
	Split    string    // where it was read; "": not known
	Position []byte
	Key      string
	Data     []byte
}

// letter is a line of the file.
type letter struct {
	Time     time.Time `json:"time"`
	Class    string    `json:"class"`
	Error    string    `json:"error"`
	Attempts int       `json:"attempts"`
	Split    string    `json:"split"`
	Position string    `json:"position"`
	Key      string    `json:"key"`
	Data     []byte    `json:"data"`
}

// DeadLetters appends dead letters to a file, one JSON object a line:
//
//	{"time":"2026-01-02T15:04:05.123456789Z","class":"rejected","error":"...","attempts":3,
//	 "split":"file","position":"1048627:8192:5f2a9c01d3b4e687","key":"42","data":"eyJpZCI6NDJ9"}
//
// data is base64. A position that is not printable is written as base64:..., bytes of a key that are no UTF-8 as U+FFFD.
//
// Any goroutine may call its methods. Several processes may append to one file that is on a local file system: a call to Write
// is one write of the operating system. A letter comes twice when Write failed, or the process died, after it was written.
type DeadLetters struct {
	path string

	mu   sync.Mutex
	f    *os.File
	torn bool // our own last line has no end
	text bytes.Buffer
}

const keptText = 1 << 20 // bytes of text that are kept for the next call

// OpenDeadLetters opens the file, and makes it, for its owner only (0600), if it is not there. A last line without an end,
// which a crash left, gets one, so that it spoils no other. The error is Validate's, or a [*PathError].
func OpenDeadLetters(c DeadLetterConfig) (*DeadLetters, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("dead-letter file: %w", err)
	}
	if err := regular(openLetters, c.Path, ErrNotDurable); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &PathError{openLetters, c.Path, err}
	}
	d := &DeadLetters{path: c.Path, f: f}
	if err := d.begin(); err != nil {
		_ = f.Close()
		return nil, &PathError{openLetters, c.Path, err}
	}
	return d, nil
}

const openLetters = "open dead-letter file"

// begin makes sure that the file outlives a crash, and looks whether its last line is whole.
func (d *DeadLetters) begin() error {
	dir, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return err
	}
	info, err := d.f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := d.f.ReadAt(last[:], info.Size()-1); err != nil && err != io.EOF {
		return err
	}
	d.torn = last[0] != '\n'
	if !d.torn {
		return nil
	}
	return d.append([]byte("\n"))
}

// Write appends letters and returns nil once they are on the disk. After a [*PathError] all of them may be given again. It does
// not wait for anything but the disk, hence it does not look at ctx once it began.
func (d *DeadLetters) Write(ctx context.Context, letters []DeadLetter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text.Reset(); d.text.Cap() > keptText {
		d.text = bytes.Buffer{}
	}
	if d.torn {
		d.text.WriteByte('\n')
	}
	e := json.NewEncoder(&d.text)
	e.SetEscapeHTML(false)
	for i := range letters {
		l := &letters[i]
		if err := e.Encode(l.line()); err != nil { // a time outside of the years 0 to 9999
			return fmt.Errorf("dead letter: %w", err)
		}
	}
	if err := d.append(d.text.Bytes()); err != nil {
		return &PathError{"write dead letters to", d.path, err}
	}
	return nil
}

// append writes whole lines and syncs them.
func (d *DeadLetters) append(b []byte) error {
	n, err := d.f.Write(b)
	if n > 0 {
		d.torn = b[n-1] != '\n'
	}
	if err != nil {
		return err
	}
	return d.f.Sync()
}

func (l *DeadLetter) line() letter {
	to := letter{
		Time: l.Time.UTC(), Class: l.Class, Attempts: l.Attempts,
		Split: l.Split, Position: printable(l.Position), Key: l.Key, Data: l.Data,
	}
	if l.Err != nil {
		to.Error = l.Err.Error()
	}
	if to.Data == nil {
		to.Data = []byte{} // "", not null
	}
	return to
}

func printable(pos []byte) string {
	if utf8.Valid(pos) && bytes.IndexFunc(pos, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return string(pos)
	}
	return "base64:" + base64.StdEncoding.EncodeToString(pos)
}

// Close closes the file. What Write returned nil for is on the disk already.
func (d *DeadLetters) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.f.Close(); err != nil {
		return &PathError{"close dead-letter file", d.path, err}
	}
	return nil
}
