package checkpoint

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/statecodec"
)

// owner is whose snapshot a header says that it is.
func owner(h statecodec.Header) Job { return Job{Name: h.Job, Instance: h.Instance}.orDefault() }

// checked is fill with a look at the header that it wrote: what Latest would refuse is not to become the latest.
func (d *Dir) checked(id uint64, fill func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		s := &start{w: w, kept: make([]byte, 0, 1<<10)}
		if err := fill(s); err != nil {
			return err
		}
		dec, err := statecodec.NewDecoder(bytes.NewReader(s.kept), statecodec.Caps{})
		if err != nil {
			return fmt.Errorf("what was written does not begin as a snapshot of this job: %w", err)
		}
		if by := owner(dec.Header()); by != d.job || dec.Header().Checkpoint != id {
			return fmt.Errorf("the header names checkpoint %d of job %q, instance %q", dec.Header().Checkpoint, by.Name, by.Instance)
		}
		return nil
	}
}

// start keeps the first bytes of what goes through it: enough for a header with names that a [Job] may have.
type start struct {
	w    io.Writer
	kept []byte
}

func (s *start) Write(p []byte) (int, error) {
	if room := cap(s.kept) - len(s.kept); room > 0 {
		s.kept = append(s.kept, p[:min(room, len(p))]...)
	}
	return s.w.Write(p)
}
