package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

// Changes is a snapshot as what has changed since earlier ones: entries that lie in a file
// already are named, not written again. It is used on one goroutine, before
// the snapshot is closed:
//
//	changes, err := snapshot.Changes(ctx, files) // shares the files that hold entries of it
//	err = changes.Encode(enc)                    // writes the state: the rest, and what the files hold of it
//	...                                          // the checkpoint is published
//	changes.Saved(name)                          // from now on the state is a file that later snapshots share
//
// Encode costs what is new, and a bit for each entry that is not. Files of which less than half is held are not shared
// any more, once all that they hold is in memory: it is written again, so that the files of a checkpoint
// take less than twice what is held (and that of the newest), whatever stragglers do.
type Changes[E any] struct {
	s       *Snapshot[E]
	views   []core.View[E]
	shares  []share // ascending
	gone    []*part // all settled, or to be written again
	inline  []part  // what Encode wrote
	written int64   // entries
	held    statecodec.BitmapBuilder
	unsure  statecodec.BitmapBuilder
}

// share is a part that the checkpoint has in common with others.
type share struct {
	part   part
	of     *part // in the writer's index
	held   statecodec.Bitmap
	unsure statecodec.Bitmap
}

// Changes finds out what is in which file, and shares those files.
func (s *Snapshot[E]) Changes(ctx context.Context, to Files) (*Changes[E], error) {
	c := &Changes[E]{s: s, views: s.core.Views()}
	if err := c.find(); err != nil {
		return nil, fmt.Errorf("writer %s: what is held: %w", s.w.name, err)
	}
	c.retire()
	c.shares = slices.DeleteFunc(c.shares, func(x share) bool {
		p := &x.part
		lame := p.file == "" && p.segment != nil && p.last <= c.s.core.Fed && p.segment.Seal() != nil
		if lame { // the disk can't complete it, and all of it is in memory: it is written again
			c.gone = append(c.gone, x.of)
		}
		return lame
	})
	names := map[string]string{}
	for i := range c.shares {
		p := &c.shares[i].part
		if p.nameless() {
			continue // Encode copies it
		}
		name, known := names[p.file]
		if !known || p.file == "" {
			f, err := p.describe()
			if err == nil {
				name, err = to.Share(ctx, f)
			}
			if sync := (*files.SyncError)(nil); p.segment != nil && errors.As(err, &sync) {
				p.segment.Suspect(sync.Err) // it must not be taken for durable the next time
			}
			if err != nil {
				return nil, fmt.Errorf("writer %s: share %s: %w", s.w.name, f, err)
			}
			if p.file != "" {
				names[p.file] = name
			}
		}
		p.file = name
	}
	return c, nil
}

// describe is the file that a part lies in. A segment of the log is finished first.
func (p *part) describe() (File, error) {
	if p.file != "" {
		return File{Name: p.file}, nil
	}
	f := File{Path: p.segment.Path()}
	err := p.segment.Seal()
	f.Size, f.CRC32C, f.Entries = p.segment.Size(), p.segment.CRC32C(), int64(p.segment.Entries())
	return f, err
}

func (f File) String() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path
}

// find sees which parts hold something still.
func (c *Changes[E]) find() error {
	at := 0
	for i, p := range c.s.parts {
		if p.nameless() && p.last <= c.s.core.Fed {
			c.gone = append(c.gone, c.s.taken[i])
			continue
		}
		x := share{part: p, of: c.s.taken[i]}
		var err error
		if at, err = c.look(at, &x); err != nil {
			return err
		}
		if x.held.Count() == 0 {
			c.gone = append(c.gone, x.of)
			continue
		}
		c.shares = append(c.shares, x)
	}
	return nil
}

// look reads from the views, from number at on, what a part holds, and returns where the next one's begin.
func (c *Changes[E]) look(at int, x *share) (int, error) {
	held, unsure := &c.held, &c.unsure
	p := &x.part
	for ; at < len(c.views); at++ {
		v := &c.views[at]
		first, last := v.First(), v.First()+Seq(v.Len())-1
		if last < p.first {
			continue
		}
		if first > p.last {
			break
		}
		live, doubt := v.Unsettled(), v.Unsure()
		for w := range live {
			live[w] &= within(first+Seq(64*w), p.first, p.last)
			doubt[w] &= live[w]
		}
		held.AddWords(uint64(first), v.Len(), live[:]...)
		unsure.AddWords(uint64(first), v.Len(), doubt[:]...)
		if last > p.last {
			break
		}
	}
	if fed := c.s.core.Fed; p.last > fed {
		from, to := uint64(max(p.first, fed+1)), uint64(p.last)
		switch r := p.restored; {
		case r == nil:
			held.AddRange(from, to)
		default:
			add(held, r.Held.Cut(from, to))
			if c.s.w.exact() {
				add(unsure, r.Unsure.Cut(from, to))
			} else {
				add(unsure, r.Held.Cut(from, to))
			}
		}
	}
	var err, uerr error
	x.held, err = held.Bitmap()
	x.unsure, uerr = unsure.Bitmap()
	return at, errors.Join(err, uerr)
}

func add(b *statecodec.BitmapBuilder, m statecodec.Bitmap) {
	for first, last := range m.Runs() {
		b.AddRange(first, last)
	}
}

// manyFiles is how many files of which all is in memory are shared before small ones are written again as one.
const manyFiles = 16

// retire takes files out of which too little is held, and small ones when there are many. All of what they hold must be in memory.
func (c *Changes[E]) retire() {
	type tally struct {
		live, total int64
		pinned      bool // something of it is not in memory
		spoilt      bool
	}
	files := map[string]*tally{}
	var order []string // of the files, by their first parts
	for i := range c.shares {
		x := &c.shares[i]
		key := x.key()
		f := files[key]
		if f == nil {
			f = &tally{}
			files[key], order = f, append(order, key)
		}
		f.live += int64(x.held.Count())
		f.total = x.part.inFile
		f.pinned = f.pinned || x.part.last > c.s.core.Fed
		f.spoilt = f.spoilt || x.part.spoilt != nil && x.part.spoilt.Load()
	}
	var in []string // memory
	for _, key := range order {
		if f := files[key]; !f.pinned && (2*f.live < f.total || f.spoilt) {
			f.live = -1
		} else if !f.pinned {
			in = append(in, key)
		}
	}
	// Of many files the newer half becomes one, and with it those before that are no larger: each entry is written again
	// a number of times that grows with the logarithm of how many there are.
	if len(in) > manyFiles {
		for merged := int64(0); len(in) > 0; in = in[:len(in)-1] {
			f := files[in[len(in)-1]]
			if len(in) <= manyFiles/2 && f.live > merged {
				break
			}
			merged += f.live
			f.live = -1
		}
	}
	kept := c.shares[:0]
	for _, x := range c.shares {
		if files[x.key()].live < 0 {
			c.gone = append(c.gone, x.of)
		} else {
			kept = append(kept, x)
		}
	}
	c.shares = kept
}

func (x *share) key() string {
	if x.part.file == "" && x.part.segment != nil {
		return x.part.segment.Path()
	}
	return x.part.file
}

// Saved says that the checkpoint is complete, and under which name later ones find the bytes that Encode was a part of.
func (c *Changes[E]) Saved(name string) {
	_ = c.s.w.ex.Execute("snapshot saved", func() { c.saved(name) }) // refused only when the writer is closed
}

func (c *Changes[E]) saved(name string) {
	w := c.s.w
	gone := map[*part]bool{}
	for _, p := range c.gone {
		gone[p] = name != "" || p.last <= c.s.core.Fed // else nothing but it knows where they lie
	}
	w.parts.remove(func(p *part) bool { return gone[p] })
	for _, x := range c.shares {
		x.of.file = x.part.file
	}
	for _, p := range c.inline {
		if name != "" && !w.parts.overlap(p) { // a snapshot taken meanwhile may have put them elsewhere
			p.file, p.inFile = name, c.written
			w.parts.insert(&p)
		}
	}
	w.freeSegments()
}

// Section is that of the entries that Encode writes.
func (c *Changes[E]) Section() statecodec.Section { return c.s.w.section(statecodec.KindBuffer) }

// Written is how many entries Encode has written: those that are in no file that is shared.
func (c *Changes[E]) Written() int64 { return c.written }
