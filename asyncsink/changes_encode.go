package asyncsink

import "github.com/spillway-go/spillway/statecodec"

// Encode writes the writer's sections of the state: in order, what is in no file, and for each part
// that is, which entries are held and what has changed about them.
func (c *Changes[E]) Encode(enc *statecodec.Encoder) error {
	c.inline, c.written = nil, 0 // it may be asked for again
	if err := c.s.encodeWriter(enc); err != nil {
		return err
	}
	f := c.s.w.framer()
	at, from := 0, Seq(1)
	for i := range c.shares {
		x := &c.shares[i]
		var err error
		if at, err = c.encodeNew(enc, f, at, from, x.part.first-1); err != nil {
			return err
		}
		if x.part.nameless() {
			err = c.copy(enc, f, x)
		} else {
			err = c.encodeHeld(enc, at, x)
		}
		if err != nil {
			return err
		}
		from = x.part.last + 1
	}
	_, err := c.encodeNew(enc, f, at, from, c.s.core.Next-1)
	return err
}

// encodeNew writes the entries from first to last that are in no file as a section, and returns the first view that
// may hold later ones.
func (c *Changes[E]) encodeNew(enc *statecodec.Encoder, f *framer[E], at int, first, last Seq) (int, error) {
	w := c.section(enc)
	for ; at < len(c.views) && c.views[at].First() <= last; at++ {
		v := &c.views[at]
		for i := range unsettled(v, first, last) {
			if err := w.add(f.ofView(v, i)); err != nil {
				return at, err
			}
		}
		if v.First()+Seq(v.Len()) > last {
			break // it may hold later ones
		}
	}
	for h, err := range c.s.inBlocks(max(c.s.core.Fed, first-1), last) {
		if err == nil {
			err = w.add(f.of(&h))
		}
		if err != nil {
			return at, err
		}
	}
	w.end()
	return at, nil
}

// copy writes what a part holds that can't be shared.
func (c *Changes[E]) copy(enc *statecodec.Encoder, f *framer[E], x *share) error {
	if _, err := c.encodeNew(enc, f, 0, x.part.first, min(x.part.last, c.s.core.Fed)); err != nil { // what is in memory
		return err
	}
	w := c.section(enc)
	for h, err := range c.s.unfed(c.s.w.readerOf(x.part, c.s.core.Fed)) {
		if err == nil {
			err = w.add(f.of(&h))
		}
		if err != nil {
			return err
		}
	}
	if w.end() {
		c.inline[len(c.inline)-1].restored = x.part.restored
	}
	c.gone = append(c.gone, x.of)
	return nil
}

// inlineSection is a section of entries in the state itself, begun by the first.
type inlineSection[E any] struct {
	c     *Changes[E]
	enc   *statecodec.Encoder
	begun bool
	part  part
}

func (c *Changes[E]) section(enc *statecodec.Encoder) *inlineSection[E] {
	return &inlineSection[E]{c: c, enc: enc}
}

func (w *inlineSection[E]) add(e *statecodec.Entry, err error) error {
	if err != nil {
		return err
	}
	if !w.begun {
		w.begun = true
		w.part = part{section: int(w.enc.Totals().Sections), first: Seq(e.Seq), at: w.c.s.w.section(statecodec.KindBuffer)}
		if err := w.enc.Begin(w.part.at); err != nil {
			return err
		}
	}
	w.part.last = Seq(e.Seq)
	w.c.written++
	return w.enc.Entry(e)
}

// end says whether there were any.
func (w *inlineSection[E]) end() bool {
	if w.begun {
		w.c.inline = append(w.c.inline, w.part)
	}
	return w.begun
}

// encodeHeld writes what a shared part holds. Its entries in memory begin in view number at.
func (c *Changes[E]) encodeHeld(enc *statecodec.Encoder, at int, x *share) error {
	p := &x.part
	h := statecodec.Held{Section: p.at, File: p.file, Index: p.section, InFile: uint64(p.inFile), Held: x.held, Unsure: x.unsure}
	return enc.Held(&h, func(yield func(*statecodec.Entry, error) bool) {
		for ; at < len(c.views) && c.views[at].First() <= p.last; at++ {
			v := &c.views[at]
			if !v.Changed() {
				continue
			}
			for i := range unsettled(v, p.first, p.last) {
				h := v.Held(i)
				if h.Attempts == 0 && h.Death == nil {
					continue
				}
				if e := note(&h); !yield(&e, nil) {
					return
				}
			}
		}
		if p.restored == nil {
			return
		}
		for i := range p.restored.Changed {
			if e := &p.restored.Changed[i]; Seq(e.Seq) > c.s.core.Fed && !yield(e, nil) {
				return
			}
		}
	})
}
