package pipeline

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
)

// reopened is a file that is opened again, and read on from where it was, when reading breaks: entries are taken back for
// as long as an outage lasts, and no connection to a store does.
type reopened struct {
	ctx  context.Context
	open func() (io.ReadCloser, error)
	file io.ReadCloser // nil: it broke
	at   int64
}

const (
	reopens     = 8 // in a row
	reopenPause = 100 * time.Millisecond
)

// reopening opens a file of the checkpoint that this life began with.
func (s *saver[E]) reopening(c *checkpoint.Checkpoint, name string) (io.ReadCloser, error) {
	r := &reopened{ctx: s.reads, open: func() (io.ReadCloser, error) { return s.open(c, name) }}
	if err := r.seek(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *reopened) seek() (err error) {
	for n := range reopens {
		if n > 0 {
			select {
			case <-time.After(reopenPause << (n - 1)):
			case <-r.ctx.Done():
				return r.ctx.Err()
			}
		}
		if r.file, err = r.open(); err == nil {
			if _, err = io.CopyN(io.Discard, r.file, r.at); err == nil {
				return nil
			}
			_ = r.file.Close()
		}
		r.file = nil
		if r.ctx.Err() != nil || errors.Is(err, fs.ErrNotExist) || err == io.EOF {
			return err
		}
	}
	return err
}

func (r *reopened) Read(p []byte) (int, error) {
	if r.file == nil {
		if err := r.seek(); err != nil {
			return 0, err
		}
	}
	n, err := r.file.Read(p)
	r.at += int64(n)
	if err == nil || err == io.EOF || r.ctx.Err() != nil {
		return n, err
	}
	_ = r.file.Close()
	r.file = nil
	if n > 0 {
		return n, nil
	}
	return 0, r.seek() // 0, nil: what comes next is read next time
}

func (r *reopened) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
