package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
	"github.com/spillway-go/spillway/stream"
)

const (
	sourceOperator = "source"
	positionsCodec = "spillway.positions"
)

// pick finds the checkpoint to begin with; nil: there is none.
func (s *saver[E]) pick(ctx context.Context) (*checkpoint.Checkpoint, error) {
	if s.From == nil {
		return s.history.Newest(ctx)
	}
	if s.From.Name == "" {
		return s.history.Find(ctx, s.From.ID)
	}
	in := s.From.In
	if in == nil {
		in = s.Store
	}
	return checkpoint.At(ctx, in, s.From.Name)
}

// restore reads the checkpoint to begin with: the positions, and what the writer is to take back.
func (s *saver[E]) restore(ctx context.Context, p *positions, log *slog.Logger) (*asyncsink.Restore, int, error) {
	c, err := s.pick(ctx)
	if err != nil || c == nil {
		return nil, 0, err
	}
	mode := checkpoint.Continue
	if s.From != nil {
		mode = cmp.Or(s.From.Mode, checkpoint.NoClaim)
	}
	if err := c.Check(ctx); err != nil {
		return nil, 0, err
	}
	damaged, err := s.readPositions(ctx, c, p)
	if err != nil {
		return nil, 0, err
	}
	if damaged {
		mode = checkpoint.NoClaim // what it meant of its other files may be lost: they stay for a person
	}
	if err := s.history.RestoredFrom(c, mode); err != nil {
		return nil, 0, err
	}
	s.from = c
	var end context.CancelFunc
	s.reads, end = context.WithCancel(background)
	s.opened = context.AfterFunc(ctx, end)
	own := c.Job == s.job.Name && c.Instance == s.job.Instance && (s.From == nil || s.From.Name == "")
	s.foreign = !own || mode == checkpoint.NoClaim
	s.release = s.history.Retain(c.ID) // a claimed one as well
	if own {
		for _, f := range c.Files {
			s.own[f.Name] = f
		}
	}
	entries := int(c.Entries)
	log.Info("restored", "checkpoint", c.ID, "entries", entries, "position", p.String())
	r := &asyncsink.Restore{
		Checkpoint: c.ID,
		Name:       c.State().Name,
		Open:       func() (io.ReadCloser, error) { return s.reopening(c, c.State().Name) },
		File:       func(name string) (io.ReadCloser, error) { return s.reopening(c, name) },
		// The last life closed its writer before it took this one, and no life came between.
		Exact: own && s.From == nil && c.Final && c.Epoch+1 == s.history.Epoch(),
	}
	if s.SkipDamaged {
		r.Damaged = func(d asyncsink.Damage) { s.quarantine(c, d, log) }
	}
	return r, entries, nil
}

// open opens a file of the checkpoint that this life began with, or our copy of it, since the original
// goes when it was claimed.
func (s *saver[E]) open(c *checkpoint.Checkpoint, name string) (io.ReadCloser, error) {
	s.mu.Lock()
	own, copied := s.copies[name]
	newest := s.newest
	s.mu.Unlock()
	if copied {
		return newest.Open(s.reads, own)
	}
	for _, f := range c.Files {
		if f.Name == name {
			return c.Open(s.reads, f)
		}
	}
	return nil, fmt.Errorf("checkpoint %d names no file %s", c.ID, name)
}

// readPositions reads the state file, which also checks it.
func (s *saver[E]) readPositions(ctx context.Context, c *checkpoint.Checkpoint, p *positions) (damaged bool, err error) {
	state := c.State()
	file, err := c.Open(ctx, state)
	if err != nil {
		return false, err
	}
	defer file.Close()
	damaged, err = readState(file, s.writer, s.SkipDamaged, p)
	var format *statecodec.FormatError
	switch {
	case errors.As(err, &format):
		return damaged, c.Damaged(state, format.Offset, err)
	case errors.Is(err, statecodec.ErrNotSnapshot), errors.Is(err, errMalformed):
		return damaged, c.Damaged(state, 0, err)
	}
	return damaged, err
}

var errMalformed = errors.New("the state makes no sense")

// readState reads positions, and sees that all else is the writer's. Damage is skipped in a salvage, but for that of the positions: without
// them a source would begin anew.
func readState(file io.Reader, writer string, salvage bool, p *positions) (damaged bool, err error) {
	dec, err := statecodec.NewDecoder(file, statecodec.Caps{})
	if err != nil {
		return false, err
	}
	var lost error
	if salvage {
		dec.Salvage(func(d statecodec.Damage) { // the writer reports it
			damaged = true
			if d.Err.Section.Kind == statecodec.KindSource && lost == nil {
				lost = d.Err
			}
		})
	}
	found := false
	for {
		section, err := dec.Next()
		if err == io.EOF {
			if !found {
				return damaged, fmt.Errorf("%w: it has no positions of a source", errMalformed)
			}
			return damaged, lost
		}
		if err != nil {
			return damaged, err
		}
		switch {
		case section.Kind == statecodec.KindSource && section.Codec == positionsCodec && section.Operator == sourceOperator:
			found = true
			if err := readPositions(dec, p); err != nil {
				return damaged, err
			}
		case section.Kind == statecodec.KindSource || section.Operator != writer:
			return damaged, &UnknownOperatorError{section.Operator, writer}
		}
	}
}

func readPositions(dec *statecodec.Decoder, p *positions) error {
	for {
		blob, err := dec.Blob()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		split, err := positionOf(blob)
		if err != nil {
			return err
		}
		p.set(split.ID, split.Position)
	}
}

// positionOf reads a uvarint of the length of a split's name, the name, and the position.
func positionOf(blob []byte) (stream.Split, error) {
	n, k := binary.Uvarint(blob)
	if k <= 0 || n > uint64(len(blob)-k) {
		return stream.Split{}, fmt.Errorf("%w: a position of the source: %q", errMalformed, blob)
	}
	return stream.Split{ID: string(blob[k : k+int(n)]), Position: blob[k+int(n):]}, nil
}

// Positions reads where the source of a job goes on, from a state file: for those who look into one.
func Positions(state io.Reader) ([]stream.Split, error) {
	dec, err := statecodec.NewDecoder(state, statecodec.Caps{})
	if err != nil {
		return nil, err
	}
	for {
		section, err := dec.Next()
		if err == io.EOF {
			return nil, fmt.Errorf("%w: it has no positions of a source", errMalformed)
		}
		if err != nil {
			return nil, err
		}
		if section.Kind == statecodec.KindSource && section.Codec == positionsCodec {
			var p positions
			err := readPositions(dec, &p)
			return p.splits, err
		}
	}
}

func encodePositions(enc *statecodec.Encoder, splits []stream.Split) error {
	err := enc.Begin(statecodec.Section{Operator: sourceOperator, Kind: statecodec.KindSource, Codec: positionsCodec})
	for _, s := range splits {
		if err != nil {
			return err
		}
		blob := binary.AppendUvarint(nil, uint64(len(s.ID)))
		err = enc.Blob(append(append(blob, s.ID...), s.Position...))
	}
	return err
}

// explain adds to the error of a file that is damaged where that is and what can be done.
func (s *saver[E]) explain(err error) error {
	var file *asyncsink.FileError
	var format *statecodec.FormatError
	if s == nil || s.from == nil || !errors.As(err, &file) || !errors.As(file, &format) {
		return err
	}
	return errors.Join(s.from.Damaged(checkpoint.File{Name: cmp.Or(file.File, s.from.State().Name)}, format.Offset, file.Err), err)
}

// quarantine keeps the bytes of damage beside the checkpoints, and says so.
func (s *saver[E]) quarantine(c *checkpoint.Checkpoint, d asyncsink.Damage, log *slog.Logger) {
	name := cmp.Or(d.File, c.State().Name)
	to := path.Join(s.job.Name, s.job.Instance, "quarantine",
		fmt.Sprintf("%d-%s-%d", c.ID, strings.ReplaceAll(name, "/", "-"), d.Offset))
	err := s.Store.Put(background, to, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(d.Bytes))
		return err
	})
	log.Error("a part of the state is damaged and was left out", "checkpoint", c.ID, "file", name,
		"offset", d.Offset, "bytes", d.Length, "error", d.Err, "kept", to)
	if err != nil {
		log.Error("the damaged bytes could not be kept", "name", to, "error", err)
	}
}
