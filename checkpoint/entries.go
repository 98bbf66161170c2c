package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spillway-go/spillway/statecodec"
)

// Stored is an entry that a checkpoint holds.
type Stored struct {
	Section          statecodec.Section // that it lies in: whose it is, and the codec of its data
	File             string             // and which file
	statecodec.Entry                    // as it is now; Data is valid until the next one
}

// Contents yields all entries that the checkpoint holds, in order, in the memory of a few blocks: for those who look into
// it. An error ends it, a *[DamagedError] if a file is not as it was written. With damaged set, what is damaged is left out and
// told to it instead.
func (c *Checkpoint) Contents(ctx context.Context, damaged func(File, statecodec.Damage)) iter.Seq2[*Stored, error] {
	return func(yield func(*Stored, error) bool) {
		if err := c.entries(ctx, damaged, func(s *Stored) bool { return yield(s, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (c *Checkpoint) entries(ctx context.Context, damaged func(File, statecodec.Damage), yield func(*Stored) bool) error {
	state := c.State()
	file, err := c.Open(ctx, state)
	if err != nil {
		return err
	}
	defer file.Close()
	dec, err := statecodec.NewDecoder(file, statecodec.Caps{})
	if err != nil {
		return c.unread(state, err)
	}
	if damaged != nil {
		dec.Salvage(func(d statecodec.Damage) { damaged(state, d) })
	}
	for {
		section, err := dec.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return c.unread(state, err)
		case section.Kind == statecodec.KindHeld:
			held, err := dec.Held()
			if err != nil {
				return c.unread(state, err)
			}
			if more, err := c.heldEntries(ctx, held, damaged, yield); err != nil || !more {
				return err
			}
			continue
		}
		x := Stored{Section: section, File: state.Name}
		for err = dec.Entry(&x.Entry); err == nil; err = dec.Entry(&x.Entry) {
			if !yield(&x) {
				return nil
			}
		}
		if err != io.EOF {
			return c.unread(state, err)
		}
	}
}

// heldEntries yields what is held of an older file.
func (c *Checkpoint) heldEntries(ctx context.Context, h *statecodec.Held, damaged func(File, statecodec.Damage), yield func(*Stored) bool) (more bool, err error) {
	f := c.file(h.File)
	if f.Name == "" {
		return false, c.Damaged(c.State(), 0, fmt.Errorf("it shares %s, which the manifest does not name", h.File))
	}
	r := statecodec.HeldReader{
		Section: h.Section, Index: h.Index, First: h.Held.First(), Last: h.Held.Last(), Held: h,
		Open: func() (io.ReadCloser, error) { return c.Open(ctx, f) },
	}
	defer r.Close()
	if damaged != nil {
		r.Salvage = func(d statecodec.Damage) { damaged(f, d) }
	}
	x := Stored{Section: h.Section, File: f.Name}
	x.Section.Kind = statecodec.KindBuffer
	for err = r.Next(&x.Entry); err == nil; err = r.Next(&x.Entry) {
		if !yield(&x) {
			return false, nil
		}
	}
	if err != io.EOF {
		return false, c.unread(f, err)
	}
	if lost := h.Held.Count() - r.Count(); lost > 0 && damaged == nil {
		return false, c.Damaged(f, 0, fmt.Errorf("%d entries that it should hold are not in it", lost))
	}
	return true, nil
}

// unread is the error for a file that a decoder did not read to its end.
func (c *Checkpoint) unread(f File, err error) error {
	var format *statecodec.FormatError
	if errors.As(err, &format) {
		return c.Damaged(f, format.Offset, err)
	}
	if errors.Is(err, statecodec.ErrNotSnapshot) {
		return c.Damaged(f, 0, err)
	}
	return failed(fmt.Sprintf("read %s of checkpoint %d", f.Name, c.ID), err)
}
