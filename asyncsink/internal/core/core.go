package core

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// Config is what a core is made of. Limits must have their defaults filled in
// and be valid; functions must be pure.
type Config[E any] struct {
	Limits        limits.Set
	Order         Order
	Relation      Relation
	OwnsRetries   bool // the destination's client retries; only final outcomes are reported
	OnRejected    OnRejected
	StopAmbiguous bool // under an order: stop when a limit is passed with an attempt of unknown effect; else try on
	DeadLetters   bool // an output takes what is given up; else giving up stops the writer
	Settlement    bool // AppendSettled is used
	Writer        [16]byte
	Size          func(E) int
	Hash          func(E) uint64 // of the key; needed PerKey
	Rand          *rand.Rand     // for jitter
}

// Core is the algorithm. It is not safe for concurrent use; whoever owns it
// feeds events in and, after each, asks Next until it waits.
type Core[E any] struct {
	Config[E]
	Ledger   Ledger
	Counters Counters
	Latency  Histogram // from acceptance to delivery

	log     arrivals[E]
	fresh   Count // at the frontier
	retry   retries
	lanes   lanes[E]
	control controller
	limiter limiter

	open      *Batch[E] // being filled
	flights   flights[E]
	abandoned int  // timed out and not returned: they keep their slot
	piledAt   Time // since when they hold every slot
	spare     []*Batch[E]
	bisected  []*bisection // their next part may go

	graves   fifo // given up, not yet handed to the dead-letter output
	burying  []ref
	divert   map[uint64]struct{} // keys whose entries follow a rejected one
	diverted []uint64            // the same, in the order in which they came

	requests   uint64
	since      Time // since when retried or passed entries wait for a batch
	flushTo    Seq
	ended      bool
	feeding    bool
	given      Seq   // at least the newest sequence given, those that are not in memory included
	fed        int64 // entries taken back
	fedAt      int64 // progress at the last Room
	suspect    bool  // the largest entry was lowered: look at each before it goes
	blocked    bool  // the last Next found no slot, or no permit
	notice     Count // at the frontier: from there on an Offer is noticeable
	noticeable bool  // an Offer since the last Next may have completed a batch
	err        error
}

// ErrFull: a cap on what is held is reached.
var ErrFull = errors.New("writer is full")

// ErrEnded: the input has ended.
var ErrEnded = errors.New("input has ended")

// TooLarge is an entry above the limit of its size.
type TooLarge struct{ Size, Limit limits.Bytes }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("entry of %d bytes is larger than the limit of %d", e.Size, e.Limit)
}

// New returns a core that holds nothing.
func New[E any](c Config[E]) *Core[E] {
	keyed := c.Order != Unordered
	if c.Order == Total || c.Hash == nil {
		c.Hash = func(E) uint64 { return 0 }
	}
	k := &Core[E]{
		Config:  c,
		log:     newArrivals[E](c.Writer, keyed, c.Settlement),
		control: newController(c.Limits.InFlight, c.Limits.Batch.Entries),
		limiter: newLimiter(c.Limits.Rate),
		notice:  Count{1, 1},
	}
	k.retry = newRetries(c.Limits.Retry, c.Rand, k.log.seq, k.log.size)
	k.lanes = lanes[E]{log: &k.log, byKey: newIndex(c.Rand.Uint64())}
	return k
}

func (c *Core[E]) keyed() bool { return c.Order != Unordered }
func (c *Core[E]) gated() bool { return c.keyed() && c.Relation != Pipelined }

// Offer accepts an entry, or says ErrFull, ErrEnded, TooLarge or the error that stopped the core.
func (c *Core[E]) Offer(now Time, e E) (Seq, error) { return c.accept(now, e, false) }

// Keep is Offer above the caps on what is held and after a stop, for a shell that
// goes down with entries that it can't get again: they are for the last snapshot.
func (c *Core[E]) Keep(now Time, e E) (Seq, error) { return c.accept(now, e, true) }

func (c *Core[E]) accept(now Time, e E, keep bool) (Seq, error) {
	size, err := c.admit(e, keep)
	if err != nil {
		return 0, err
	}
	if c.feeding || !keep && !c.HasRoom(size) {
		return 0, ErrFull
	}
	var hash uint64
	if c.keyed() {
		hash = c.Hash(e)
	}
	c.log.append(now, e, uint32(size), hash)
	c.Ledger.Accepted.add(1, size)
	c.buffered(size)
	return c.log.last, nil
}

// Admit gives an entry's size, or says why it would not be taken were there room.
func (c *Core[E]) Admit(e E) (size int64, err error) { return c.admit(e, false) }

// AdmitKept is Admit for an entry that is to be kept; see Keep.
func (c *Core[E]) AdmitKept(e E) (size int64, err error) { return c.admit(e, true) }

func (c *Core[E]) admit(e E, keep bool) (size int64, err error) {
	if c.err != nil && !keep {
		return 0, c.err
	}
	if c.ended {
		return 0, ErrEnded
	}
	size = int64(c.Size(e))
	if uint64(size) > uint64(c.Limits.Batch.EntryBytes) { // a negative size is no size
		return 0, &TooLarge{limits.Bytes(size), c.Limits.Batch.EntryBytes}
	}
	return size, nil
}

// Spill books an entry that the shell has accepted and put on disk under the
// sequence after Last, for lack of room. It comes back through Restore when its turn has come.
func (c *Core[E]) Spill(size int64) Seq {
	c.given = c.Last() + 1
	c.Ledger.Accepted.add(1, size)
	c.Ledger.Spilled.add(1, size)
	return c.given
}

// Resume goes on with the sequences of an earlier life, of which last was the newest. Feed follows.
func (c *Core[E]) Resume(last Seq) { c.given = last }

// HasRoom says whether an entry of that size would be taken now.
func (c *Core[E]) HasRoom(size int64) bool {
	l := &c.Ledger
	return l.Buffered.Entries+l.InFlight.Entries+l.Unwritten.Entries < int64(c.Limits.Held.Entries) &&
		l.Buffered.Bytes+l.InFlight.Bytes+l.Unwritten.Bytes+size <= int64(c.Limits.Held.Bytes)
}

// Restore takes back an entry of an earlier life, or a spilled one, under its own
// id and sequence (0: the next one); false: no room yet. One that is now too large,
// or was given up before, goes to the dead letters.
func (c *Core[E]) Restore(now Time, h Held[E]) bool {
	if c.Ledger.Held().Entries > 0 && !c.HasRoom(int64(c.Size(h.Entry))) {
		return false // one above every cap still passes alone, to be given up
	}
	c.Retake(now, h)
	return true
}

// Retake is Restore without a look at the caps, for a shell that goes down and
// must keep the order.
func (c *Core[E]) Retake(now Time, h Held[E]) {
	size := int64(c.Size(h.Entry))
	var hash uint64
	if c.keyed() {
		hash = c.Hash(h.Entry)
	}
	h.Born = min(h.Born, now)
	if h.Death != nil && !c.buries() { // tried again, as what it died of may be gone; a snapshot must say so
		h.Death, h.Attempts = nil, max(h.Attempts, 1)
	}
	r := c.log.restore(h, uint32(size), hash)
	c.fed++
	if h.ID.Writer == c.Writer {
		c.Ledger.Spilled.sub(1, size)
	} else {
		c.Ledger.Restored.add(1, size)
	}
	c.buffered(size)
	if limit := c.Limits.Batch.EntryBytes; size > int64(limit) {
		h.Death, c.suspect = &Death{"too_large", &TooLarge{limits.Bytes(size), limit}, now}, true
	}
	if h.Death != nil && c.buries() {
		c.log.setDeath(r, h.Death)
	}
}

// buries says whether giving an entry up has a place for it and lets the others go on.
func (c *Core[E]) buries() bool {
	return c.DeadLetters && !(c.keyed() && c.OnRejected == Stop)
}

// buffered books an entry at the frontier.
func (c *Core[E]) buffered(size int64) {
	c.Ledger.Buffered.add(1, size)
	c.fresh.add(1, size)
	if c.fresh.Entries >= c.notice.Entries || c.fresh.Bytes >= c.notice.Bytes {
		c.noticeable = true
	}
}

// expect sets what must lie at the frontier for an Offer to be worth a Next:
// enough to fill the batch, or the first entry for which no wake-up is planned.
func (c *Core[E]) expect(now, wakeAt Time) {
	switch {
	case c.blocked: // an answer or the limiter comes first
		c.notice = Count{math.MaxInt64, math.MaxInt64}
	case c.readyEntries() == 0 && wakeAt > now.Add(c.Limits.Batch.Age):
		c.notice = Count{1, 1}
	default:
		c.notice = Count{c.full() + c.fresh.Entries - c.readyEntries(),
			int64(c.Limits.Batch.Bytes) + c.fresh.Bytes - c.readyBytes()}
	}
}

// Opens says whether the next entry begins a batch that no wake-up is planned
// for. Its time of acceptance counts, so the shell reads the clock for it.
func (c *Core[E]) Opens() bool { return c.notice.Entries == 1 && c.fresh.Entries == 0 }

// Noticeable says whether Next has something to say after an Offer. (After
// every other event it must be asked.)
func (c *Core[E]) Noticeable() bool { return c.noticeable }

// Feed says whether entries of an earlier life, or spilled ones, wait for Room. While
// they do, nothing else is accepted, since it would pass them.
func (c *Core[E]) Feed(more bool) {
	if !more {
		c.log.seal()
		c.log.last = c.Last()
	}
	c.feeding, c.fedAt = more, -1
}

// Flush asks that what is in memory now be sent, without waiting for full batches.
func (c *Core[E]) Flush() { c.flushTo = c.log.last }

// EndOfInput ends acceptance; what is held goes without waiting for full batches.
func (c *Core[E]) EndOfInput() { c.ended = true }

// Tune changes the limits. Requests in flight keep their deadlines; entries
// that are now too large go to the dead letters when their turn comes.
func (c *Core[E]) Tune(now Time, l limits.Set) {
	old, wasPiled := c.Limits, c.piled()
	c.Limits, c.retry.Retry = l, l.Retry
	c.suspect = c.suspect || l.Batch.EntryBytes < old.Batch.EntryBytes
	c.limiter.tune(now, l.Rate)
	if b := c.open; b != nil && c.outgrown(b) {
		c.open = nil
		c.bisected = append(c.bisected, &bisection{[][]ref{slices.Clone(b.refs)}})
		c.recycle(b)
	}
	c.control = tuned(c.control, l.InFlight, l.Batch.Entries)
	if !wasPiled && c.piled() {
		c.piledAt = now
	}
}

// outgrown says whether a batch, or an entry of it, is above the limits of today.
func (c *Core[E]) outgrown(b *Batch[E]) bool {
	l := c.Limits.Batch
	return len(b.refs) > int(l.Entries) || b.Bytes > int64(l.Bytes) ||
		slices.ContainsFunc(b.refs, func(r ref) bool { return c.log.size(r) > int64(l.EntryBytes) })
}

// Stop ends everything that is sent, for good, with the error that Err returns.
func (c *Core[E]) Stop(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Err is what stopped the core, or nil.
func (c *Core[E]) Err() error { return c.err }

// LowWater is the first sequence that is not settled.
func (c *Core[E]) LowWater() Seq { return c.log.lowWater() }

// Last is the newest sequence given, spilled entries included.
func (c *Core[E]) Last() Seq { return max(c.given, c.log.last) }

// Fed is the newest sequence in memory: those after it, up to Last, wait to be fed.
func (c *Core[E]) Fed() Seq { return c.log.last }

// Window is how many entries may be in flight now.
func (c *Core[E]) Window() int64 { return c.control.window() }

// Requests is how many requests hold a slot now, abandoned ones included.
func (c *Core[E]) Requests() (inFlight, abandoned int) { return c.flights.n, c.abandoned }

// CountUnsettled adds, for each of some ascending ranges, how many of its entries are in
// memory and not settled. It walks over the chunks.
func (c *Core[E]) CountUnsettled(ranges []Range, counts []int64) {
	i := 0
	for at := c.log.oldest; at >= 0; at = c.log.slab[at].chunk.newer {
		s := c.log.slab[at]
		first, last := s.chunk.first, s.chunk.first+Seq(s.chunk.n)-1
		for i < len(ranges) && ranges[i].Last < first {
			i++
		}
		for j := i; j < len(ranges) && ranges[j].First <= last; j++ {
			counts[j] += s.unsettled(max(first, ranges[j].First), min(last, ranges[j].Last))
		}
	}
}

// OldestBorn is when the oldest entry held was accepted; false: none is held.
func (c *Core[E]) OldestBorn() (Time, bool) {
	if c.log.oldest < 0 {
		return 0, false
	}
	ch := c.log.slab[c.log.oldest].chunk
	if i := int(c.log.lowWater() - ch.first); i < ch.n {
		return ch.born[i], true
	}
	return 0, false
}

// Settled says whether AppendSettled has something.
func (c *Core[E]) Settled() bool { return len(c.log.ranges) > 0 }

// AppendSettled appends the sequences that have settled since the last call.
func (c *Core[E]) AppendSettled(dst []Range) []Range {
	dst = append(dst, c.log.ranges...)
	c.log.ranges = c.log.ranges[:0]
	return dst
}
