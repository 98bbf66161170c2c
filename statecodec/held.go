package statecodec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// Held is what a section of [KindHeld] says: which entries of a section of an older file are held, and what has changed
// about them since.
type Held struct {
	Section         // as the older file has it, but for its kind
	File    string  // that the entries lie in
	Index   int     // which of its sections, from 0
	InFile  uint64  // entries in the whole file
	Held    Bitmap  // sequences
	Unsure  Bitmap  // of them, those of which an attempt may have been stored
	Changed []Entry // of them, those with other attempts, or given up; without data, ascending
}

// Held writes a section of what an older file holds. changed is read once; x.Changed counts for nothing.
func (e *Encoder) Held(x *Held, changed iter.Seq2[*Entry, error]) error {
	s := x.Section
	s.Kind = KindHeld
	if err := e.Begin(s); err != nil {
		return err
	}
	ref := appendName(nil, x.File)
	ref = binary.AppendUvarint(ref, uint64(x.Index))
	ref = binary.AppendUvarint(ref, x.InFile)
	for _, blob := range [][]byte{ref, x.Held.AppendTo(nil), x.Unsure.AppendTo(nil)} {
		if err := e.Blob(blob); err != nil {
			return err
		}
	}
	for c, err := range changed {
		if err == nil {
			err = e.Entry(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const maxSection = 1 << 30

// Held reads the rest of a section of KindHeld, which Next has returned.
func (d *Decoder) Held() (*Held, error) {
	x := &Held{Section: d.section}
	at := d.offset
	var blobs [3][]byte
	for i := range blobs {
		b, err := d.Blob()
		if err == io.EOF {
			return nil, d.fault(at, Malformed, "a section of what an older file holds is not complete")
		}
		if err != nil {
			return nil, err
		}
		blobs[i] = bytes.Clone(b)
	}
	if err := x.parse(blobs, d.caps); err != nil {
		return nil, d.fault(at, Malformed, err.Error())
	}
	for {
		var e Entry
		err := d.Entry(&e)
		if err == io.EOF {
			return x, nil
		}
		if err != nil {
			return nil, err
		}
		if n := len(x.Changed); n > 0 && x.Changed[n-1].Seq >= e.Seq {
			return nil, d.fault(at, Malformed, fmt.Sprintf("entry %d after %d", e.Seq, x.Changed[n-1].Seq))
		}
		e.Data = nil
		x.Changed = append(x.Changed, e)
	}
}

func (x *Held) parse(blobs [3][]byte, caps Caps) error {
	ref := blobs[0]
	n, k := binary.Uvarint(ref)
	if k <= 0 || n == 0 || n > uint64(min(len(ref)-k, caps.NameBytes)) {
		return fmt.Errorf("the name of the file")
	}
	x.File, ref = string(ref[k:k+int(n)]), ref[k+int(n):]
	index, k := binary.Uvarint(ref)
	if k <= 0 || index > maxSection {
		return fmt.Errorf("which section of %s", x.File)
	}
	x.Index = int(index)
	entries, j := binary.Uvarint(ref[k:])
	if j <= 0 || k+j != len(ref) || entries == 0 {
		return fmt.Errorf("how many entries %s has", x.File)
	}
	x.InFile = entries
	var err error
	if x.Held, err = DecodeBitmap(blobs[1], x.InFile); err != nil {
		return err
	}
	if x.Held.Count() == 0 {
		return fmt.Errorf("nothing of %s is held", x.File)
	}
	x.Unsure, err = DecodeBitmap(blobs[2], x.InFile)
	return err
}

// HeldReader reads the entries of one section of a file that are wanted, as they are now. Its fields are set before the
// first Next; it is not safe for concurrent use.
type HeldReader struct {
	Open    func() (io.ReadCloser, error) // the file, from its start
	Section Section                       // that it must be
	Index   int                           // which of the file's
	First   uint64                        // sequences below are not wanted
	Last    uint64                        // nor above
	Held    *Held                         // nor those that it does not hold; nil: all are, and as they were written
	Unsure  bool                          // all are
	Salvage func(Damage)                  // reads on behind damage, and is told of it; nil: damage is an error

	file   io.ReadCloser
	dec    *Decoder
	held   BitmapCursor
	unsure BitmapCursor
	at     int // in Held.Changed
	count  uint64
	done   bool
}

// Count is how many entries Next has returned.
func (r *HeldReader) Count() uint64 { return r.count }

// Close closes the file. A nil reader, or one that has read nothing, can be closed as well.
func (r *HeldReader) Close() {
	if r != nil && r.file != nil {
		_ = r.file.Close() // nothing was written
		r.file = nil
	}
}

// Next reads the next entry, io.EOF after the last. Its data is valid until the next call.
func (r *HeldReader) Next(e *Entry) error {
	if r.dec == nil {
		if err := r.start(); err != nil {
			return err
		}
	}
	for !r.done {
		if err := r.dec.Entry(e); err != nil {
			return err
		}
		r.done = e.Seq >= r.Last
		if e.Seq < r.First || e.Seq > r.Last {
			continue
		}
		if r.Held != nil {
			if !r.held.Contains(e.Seq) {
				continue
			}
			r.amend(e)
		}
		e.Unsure = e.Unsure || r.Unsure
		r.count++
		return nil
	}
	return io.EOF
}

// amend applies what has changed since the file was written.
func (r *HeldReader) amend(e *Entry) {
	e.Unsure = r.unsure.Contains(e.Seq)
	changed := r.Held.Changed
	for r.at < len(changed) && changed[r.at].Seq < e.Seq {
		r.at++
	}
	if r.at < len(changed) && changed[r.at].Seq == e.Seq {
		n := &changed[r.at]
		e.Attempts, e.Class, e.Cause, e.DeadAt = n.Attempts, n.Class, n.Cause, n.DeadAt
	}
}

// start goes to the section.
func (r *HeldReader) start() (err error) {
	if r.file == nil {
		if r.file, err = r.Open(); err != nil {
			return err
		}
	}
	dec, err := NewDecoder(r.file, Caps{})
	if err != nil {
		return err
	}
	if r.Salvage != nil {
		dec.Salvage(r.Salvage)
	}
	var s Section
	for range r.Index + 1 {
		if s, err = dec.Next(); err == io.EOF {
			return dec.fault(dec.offset, Malformed, fmt.Sprintf("there is no section %d: it is another file than the state means", r.Index))
		} else if err != nil {
			return err
		}
	}
	if want := r.Section; s.Operator != want.Operator || s.Codec != want.Codec || s.CodecVersion != want.CodecVersion {
		return dec.fault(dec.offset, Malformed, fmt.Sprintf("section %d is %v of codec %s version %d: it is another file than the state means",
			r.Index, s, s.Codec, s.CodecVersion))
	}
	r.dec = dec
	if r.Held != nil {
		r.held, r.unsure = r.Held.Held.Cursor(), r.Held.Unsure.Cursor()
	}
	return nil
}
