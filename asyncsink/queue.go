package asyncsink

import (
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/internal/spill"
	"github.com/spillway-go/spillway/statecodec"
)

// queue is what waits on disk to be taken into memory, in order: what an earlier
// life left, then what this one has spilled. It is read in lots, on a goroutine,
// one lot ahead.
type queue[E any] struct {
	w        *Writer[E]
	restored []*part                // of an earlier life, not read to their ends
	left     int64                  // entries of them that are not in memory
	reading  *statecodec.HeldReader // the first of restored
	log      *spill.Log

	out     []spill.Block  // of the log, which no longer has them, and not yet in memory
	lot     []core.Held[E] // read; what is next to go in
	begun   []core.Held[E] // the same from its start
	spare   []core.Held[E] // memory for the next one
	ahead   []core.Held[E] // the lot after it
	busy    bool           // a goroutine reads
	over    *atomic.Int32  // who has done with what it reads: it, and close; the second closes it
	fedUpTo Seq            // the last entry of an earlier life
}

const (
	lotEntries = 512
	lotBytes   = 256 << 10
)

// waiting: something stands before new entries.
func (q *queue[E]) waiting() bool { return q.left > 0 || q.w.core.Ledger.Spilled.Entries > 0 }

// len is how many entries wait.
func (q *queue[E]) len() int { return int(q.left + q.w.core.Ledger.Spilled.Entries) }

// blocks are those that only memory holds, for a snapshot. The segment that is written to ends.
func (q *queue[E]) blocks() []spill.Block {
	_ = q.log.Retry() // a block that the disk broke off keeps its segment from being shared
	cut := q.log.Cut()
	return append(slices.Clip(q.out), cut...)
}

// feed takes in what there is room for. It calls the traits' functions, and a
// panic of theirs is not the affair of whoever happens to make room.
func (q *queue[E]) feed(room core.Action[E]) {
	w := q.w
	defer func() {
		if v := recover(); v != nil {
			w.core.Stop(&StateError{w.name, fmt.Errorf("panic: %v\n%s", v, debug.Stack())})
		}
	}()
	if w.flushes > 0 {
		defer w.core.Flush()
	}
	for n := int64(0); n < room.Entries; n++ {
		if len(q.lot) == 0 && !q.turn() {
			return
		}
		if !w.core.Restore(w.now, q.lot[0]) {
			return
		}
		q.took()
	}
}

// took books that the first entry of the lot is in memory.
func (q *queue[E]) took() {
	own := q.lot[0].ID.Writer == q.w.id // spilled in this life
	q.lot[0] = core.Held[E]{}
	q.lot = q.lot[1:]
	fed := q.w.core.Fed()
	if !own {
		q.left--
		q.fedUpTo = fed
	}
	if len(q.out) > 0 && Seq(q.out[0].Last) <= fed {
		q.out = q.out[1:]
	}
	if !q.waiting() {
		q.w.core.Feed(false)
		q.w.log.Debug("everything on disk was taken back")
	}
}

// turn goes on to the next lot; false: there is none yet, or no more.
func (q *queue[E]) turn() bool {
	if q.spare == nil {
		q.spare = q.begun[:0] // cleared as it was taken
	}
	q.lot, q.begun, q.ahead = q.ahead, q.ahead, nil
	q.readAhead()
	return len(q.lot) > 0
}

// readAhead reads the next lot beside the writer.
func (q *queue[E]) readAhead() {
	if q.busy || len(q.ahead) > 0 || !q.waiting() {
		return
	}
	read := q.next()
	if read == nil {
		return
	}
	over, part := new(atomic.Int32), q.reading // nil: a block of the log
	q.busy, q.over = true, over
	go func() {
		lot, err := guarded(read)
		_ = q.w.ex.Execute("entries read", func() { q.arrived(lot, err) }) // refused only when the writer is closed
		if over.Add(1) == 2 {
			part.Close()
		}
	}()
}

// readNow reads the next lot here and now.
func (q *queue[E]) readNow() { q.arrived(guarded(q.next())) }

// guarded makes an error of a panic in the codec.
func guarded[E any](read func() ([]core.Held[E], error)) (lot []core.Held[E], err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return read()
}

// arrived takes a lot over.
func (q *queue[E]) arrived(lot []core.Held[E], err error) {
	w := q.w
	if w.closed {
		return
	}
	q.busy = false
	if err != nil && err != io.EOF {
		w.stop(&StateError{w.name, err})
		return
	}
	if err == io.EOF {
		q.endPart()
	}
	if len(q.lot) == 0 {
		q.lot, q.begun = lot, lot
	} else {
		q.ahead = lot
	}
	q.readAhead()
	w.freeNowAndThen(len(lot))
	w.tick()
	w.core.Feed(q.waiting()) // there may be room that was offered in vain
	w.pump()
}

// next is how the next lot is read; nil: everything has been.
func (q *queue[E]) next() func() ([]core.Held[E], error) {
	if len(q.restored) > 0 {
		if q.reading == nil {
			q.reading = q.w.readerOf(*q.restored[0], 0) // opens nothing yet
		}
		r, spare := q.reading, q.spare
		q.spare = nil
		return func() ([]core.Held[E], error) { return q.w.lotOf(r, spare) }
	}
	b, ok := q.log.Next()
	if !ok {
		return nil
	}
	if b.Segment == nil { // it never was on disk
		q.out = append(q.out, b)
	}
	spare := q.spare
	q.spare = nil
	return func() ([]core.Held[E], error) { return q.w.lotOfBlock(b, spare) }
}

// endPart is the end of a part of an earlier life. What it should have held and did not was damaged.
func (q *queue[E]) endPart() {
	p, r := q.restored[0], q.reading
	r.Close()
	q.restored, q.reading = q.restored[1:], nil
	if lost := int64(p.restored.Held.Count() - r.Count()); lost > 0 {
		q.left -= lost
		q.w.found -= lost
		p.spoilt.Store(true)
		q.w.log.Error("entries of an earlier life could not be read and are left behind",
			"entries", lost, "file", p.file, "first", p.first, "last", p.last)
	}
}

// lotOf reads the next entries of a part, and io.EOF with its last.
func (w *Writer[E]) lotOf(r *statecodec.HeldReader, lot []core.Held[E]) (_ []core.Held[E], err error) {
	var e statecodec.Entry
	for bytes := 0; len(lot) < lotEntries && bytes < lotBytes; bytes += len(e.Data) {
		if err := r.Next(&e); err == io.EOF {
			return lot, err
		} else if err != nil && len(lot) > 0 {
			return lot, nil // it comes again with the next lot
		} else if err != nil {
			return nil, &FileError{r.Held.File, err}
		}
		h, err := w.held(&e, r.Section.CodecVersion)
		if err != nil {
			return nil, &FileError{r.Held.File, err}
		}
		lot = append(lot, h)
	}
	return lot, nil
}

func (w *Writer[E]) lotOfBlock(b spill.Block, lot []core.Held[E]) (_ []core.Held[E], err error) {
	lot = slices.Grow(lot, b.Entries)
	for h, err := range w.inBlock(b) {
		if err != nil {
			return nil, err
		}
		lot = append(lot, h)
	}
	return lot, nil
}

// inBlock yields the entries of a block of the log.
func (w *Writer[E]) inBlock(b spill.Block) iter.Seq2[core.Held[E], error] {
	return func(yield func(core.Held[E], error) bool) {
		var r statecodec.BlockReader
		var e statecodec.Entry
		err := b.Read(&r)
		for {
			if err == nil {
				err = r.Entry(&e)
			}
			if err == io.EOF {
				return
			}
			var h core.Held[E]
			if err == nil {
				h, err = w.held(&e, w.traits.Codec.Version())
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

func (q *queue[E]) close() {
	if !q.busy || q.over.Add(1) == 2 {
		q.reading.Close()
	}
}
