package asyncsink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/internal/spill"
	"github.com/spillway-go/spillway/statecodec"
)

// File is a file that entries of a snapshot lie in.
type File struct {
	// Name is what checkpoints call it; empty: it was spilled, and lies at Path.
	Name    string
	Path    string
	Size    int64  // bytes; 0: not known here
	CRC32C  uint32 // of all of them
	Entries int64
}

// Files is a checkpoint in the making, as [Snapshot.Changes] needs it.
type Files interface {
	// Share makes a file a part of the checkpoint and returns the name that it has there. It is called once for each file.
	Share(ctx context.Context, f File) (name string, err error)
}

// part is a run of entries that lies in a section of a file: those held of the
// sequences first to last, which are no other part's.
type part struct {
	file        string // its name in checkpoints; empty: it has none yet
	segment     *spill.Segment
	section     int // which of the file's
	first, last Seq
	inFile      int64 // entries in the whole file, settled ones included
	at          statecodec.Section

	restored *statecodec.Held // of a part that an earlier life left: where it lies and what it held then
	spoilt   *atomic.Bool     // of such a part: there is damage in its file
}

// nameless: it lies in state that no checkpoint can share.
func (p *part) nameless() bool { return p.file == "" && p.segment == nil }

// FileError says in which file of the state something could not be read.
type FileError struct {
	File string // as checkpoints name it; empty: state without a name
	Err  error
}

func (e *FileError) Error() string {
	if e.File == "" {
		return e.Err.Error()
	}
	return e.File + ": " + e.Err.Error()
}

// Unwrap says what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// index is all parts there are, ascending. What is held and lies in none of them
// is in memory, and no checkpoint has it.
type index []*part

func (x index) end() Seq {
	if len(x) == 0 {
		return 0
	}
	return x[len(x)-1].last
}

func (x *index) insert(p *part) {
	i, _ := slices.BinarySearchFunc(*x, p, func(a, b *part) int { return cmp.Compare(a.first, b.first) })
	*x = slices.Insert(*x, i, p)
}

// overlap says whether some of a part's sequences are another's.
func (x index) overlap(p part) bool {
	return slices.ContainsFunc(x, func(o *part) bool { return o.first <= p.last && p.first <= o.last })
}

// cover puts a part in the place of those that lie within it. One that reaches beyond its end keeps what it has.
func (x *index) cover(p *part) {
	x.remove(func(o *part) bool { return o.first >= p.first && o.last <= p.last })
	for _, o := range *x {
		if o.first > p.first && o.first <= p.last {
			p.last = o.first - 1
		}
	}
	x.insert(p)
}

func (x *index) remove(gone func(*part) bool) { *x = slices.DeleteFunc(*x, gone) }

// held makes an entry of what a codec wrote.
func (w *Writer[E]) held(e *statecodec.Entry, version uint32) (core.Held[E], error) {
	entry, err := w.traits.Codec.Decode(version, e.Data)
	if err != nil {
		return core.Held[E]{}, fmt.Errorf("decode entry %d: %w", e.Seq, err)
	}
	h := core.Held[E]{
		Seq: Seq(e.Seq), ID: ID{Writer: e.Writer, Seq: Seq(e.Seq)}, Entry: entry, Attempts: int(e.Attempts),
		Born: core.Time(e.Born), Unsure: e.Unsure,
	}
	if e.Class != "" {
		h.Death = &core.Death{Class: e.Class, Err: errors.New(e.Cause), Time: core.Time(e.DeadAt)}
	}
	return h, nil
}
