package asyncsink

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/statecodec"
)

// framer makes of entries what the state keeps of them, in memory of its own: what it returns is
// valid until the next call.
type framer[E any] struct {
	w    *Writer[E]
	out  statecodec.Entry
	data []byte
}

func (w *Writer[E]) framer() *framer[E] { return &framer[E]{w: w} }

// of is an entry by itself.
func (f *framer[E]) of(h *core.Held[E]) (*statecodec.Entry, error) {
	f.out = note(h)
	return f.with(h.Entry)
}

// ofView is entry i of a view. It is of for the many.
func (f *framer[E]) ofView(v *core.View[E], i int) (*statecodec.Entry, error) {
	id, unsure := v.ID(i), v.Unsure()
	f.out = statecodec.Entry{
		Writer: id.Writer, Seq: uint64(id.Seq), Attempts: v.Attempts(i), Born: int64(v.Born(i)),
		Unsure: unsure[i/64]>>(i%64)&1 != 0,
	}
	bury(&f.out, v.Death(i))
	return f.with(v.Entry(i))
}

// with adds what the codec makes of the entry.
func (f *framer[E]) with(e E) (_ *statecodec.Entry, err error) {
	t := &f.w.traits
	if f.data, err = t.Codec.AppendEncode(f.data[:0], e); err != nil {
		return nil, fmt.Errorf("writer %s: encode entry %d: %w", f.w.name, f.out.Seq, err)
	}
	f.out.Data = f.data
	if t.Key != nil {
		f.out.KeyGroup = statecodec.KeyGroup(statecodec.KeyHash(t.Key(e)), statecodec.DefaultKeyGroups)
	}
	return &f.out, nil
}

// note is all of an entry but its data and key group.
func note[E any](h *core.Held[E]) statecodec.Entry {
	e := statecodec.Entry{
		Writer: h.ID.Writer, Seq: uint64(h.ID.Seq), Attempts: uint16(min(h.Attempts, 1<<16-1)),
		Born: int64(h.Born), Unsure: h.Unsure,
	}
	bury(&e, h.Death)
	return e
}

func bury(e *statecodec.Entry, d *core.Death) {
	if d != nil {
		e.Class, e.Cause, e.DeadAt = d.Class, d.Err.Error(), int64(d.Time)
	}
}

// unsettled yields the places of a view's unsettled entries from first to last.
func unsettled[E any](v *core.View[E], first, last Seq) iter.Seq[int] {
	return func(yield func(int) bool) {
		if v.First() > last || v.First()+Seq(v.Len()) <= first {
			return
		}
		for w, live := range v.Unsettled() {
			for live &= within(v.First()+Seq(64*w), first, last); live != 0; live &= live - 1 {
				if !yield(64*w + bits.TrailingZeros64(live)) {
					return
				}
			}
		}
	}
}

// within has a bit for each of 64 sequences, from word on, that lies between first and last.
func within(word, first, last Seq) uint64 {
	if last < word || first > word+63 {
		return 0
	}
	set := ^uint64(0)
	if first > word {
		set <<= first - word
	}
	if last-word < 63 {
		set &= ^uint64(0) >> (63 - (last - word))
	}
	return set
}
