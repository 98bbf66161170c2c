package checkpoint

import (
	"errors"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/statecodec"
)

// Checkpoint is a complete snapshot in a [Dir].
type Checkpoint struct {
	ID     uint64
	Path   string
	Size   int64 // bytes
	Header statecodec.Header
	Totals statecodec.Totals

	files files
}

// Open opens the file from its start. It may be called many times, and by any goroutine. While new checkpoints are
// written, [Dir.Retain] keeps the file there to be opened; once open, it can be read to its end.
func (c *Checkpoint) Open() (io.ReadCloser, error) {
	f, err := c.files.open(c.Path)
	if err != nil {
		return nil, failed(fmt.Sprintf("open checkpoint %d", c.ID), err)
	}
	return f, nil
}

// Latest finds the newest checkpoint and reads the whole of it to verify it, in the memory of one block; nil, nil: there
// is none.
//
// It never falls back to an older one by itself, since that sends again what was settled since: a checkpoint that is not
// whole is a *[DamagedError], which says what to do. One in a newer format is a *[statecodec.NewerError], wrapped; one of
// another job an *[OtherJobError].
func (d *Dir) Latest() (*Checkpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil, ErrClosed
	}
	ids, err := d.ids()
	if err != nil {
		return nil, failed("find the latest checkpoint", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	id := ids[len(ids)-1]
	c := &Checkpoint{ID: id, Path: d.file(id), files: d.files}
	r, err := c.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	counted := &counter{r: r}
	c.Header, c.Totals, err = statecodec.Verify(counted, statecodec.Caps{})
	c.Size = counted.n
	if err != nil {
		return nil, unreadable(c, err, ids[:len(ids)-1])
	}
	if by := owner(c.Header); by != d.job { // files can be copied
		return nil, &OtherJobError{Path: c.Path, Found: by, Want: d.job}
	}
	return c, nil
}

// unreadable turns an error of the decoder into one that names the file and what to do.
func unreadable(c *Checkpoint, err error, older []uint64) error {
	var format *statecodec.FormatError
	var newer *statecodec.NewerError
	switch {
	case errors.As(err, &format):
		return &DamagedError{Path: c.Path, Offset: format.Offset, Err: err, Advice: goBack(older)}
	case errors.Is(err, statecodec.ErrNotSnapshot):
		return &DamagedError{Path: c.Path, Err: err, Advice: goBack(older)}
	case errors.As(err, &newer):
		return fmt.Errorf("checkpoint: %s: %w", c.Path, err)
	}
	return failed(fmt.Sprintf("read checkpoint %d", c.ID), err)
}

func goBack(older []uint64) string {
	if n := len(older); n > 0 {
		return fmt.Sprintf("move it away to go back to checkpoint %d, at the price of duplicates: what was settled since is sent again", older[n-1])
	}
	return "there is none before it: move it away to begin without state: a source that can be read again is, " +
		"from its beginning; what it held of any other is lost"
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
