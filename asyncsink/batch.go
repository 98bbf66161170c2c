package asyncsink

import (
	"cmp"
	"iter"
	"slices"
	"sync"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
)

// Batch is one request's entries. It is valid until Submit returns; its entries
// are read-only, for ever. All methods may be called by several goroutines at once.
type Batch[E any] struct {
	core   *core.Batch[E]
	writer [16]byte
	issued func()

	mu    sync.Mutex
	ended bool // Submit has returned, or its answer is no longer awaited
	fails []core.Failure
}

// Len is the number of entries, at least 1.
func (b *Batch[E]) Len() int { return len(b.core.Entries) }

// At returns entry i.
func (b *Batch[E]) At(i int) E { return b.core.Entries[i] }

// All yields the entries with their indices.
func (b *Batch[E]) All() iter.Seq2[int, E] { return slices.All(b.core.Entries) }

// Bytes is the sum of the entries' sizes, as [Traits].Size gives them.
func (b *Batch[E]) Bytes() int64 { return b.core.Bytes }

// Number is the request's own: 1 for the writer's first, growing by one.
func (b *Batch[E]) Number() uint64 { return b.core.ID }

// Attempt is which try of entry i this is: 1 for the first, earlier lives included.
func (b *Batch[E]) Attempt(i int) int { return int(b.core.Attempts[i]) + 1 }

// ID identifies entry i across retries and restores, for destinations that
// remove duplicates.
func (b *Batch[E]) ID(i int) ID {
	if b.core.IDs != nil {
		return ID(b.core.IDs[i])
	}
	return ID{Writer: b.writer, Seq: b.core.Seqs[i]}
}

// ID is an entry's identity: the writer life that accepted it and its sequence there.
type ID = core.ID

// Set gives entry i its outcome. The last call for an entry counts; calls after
// Submit has returned are ignored.
func (b *Batch[E]) Set(i int, o Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return // and the core may use its part for another request
	}
	if i < 0 || i >= len(b.core.Entries) {
		panic("asyncsink: Set with an index outside of the batch")
	}
	b.fails = append(b.fails, core.Failure{Index: i, Outcome: o.core()})
}

// Issued says that a [Pipelined] submitter has handed the batch to its client,
// in order: the next batch may be submitted although this one is unanswered.
// Returning from Submit says so as well. Others need not call it.
func (b *Batch[E]) Issued() { b.issued() }

// end takes the outcomes, sorted by index, the last one of each.
func (b *Batch[E]) end() []core.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	byIndex := func(x, y core.Failure) int { return cmp.Compare(x.Index, y.Index) }
	if !slices.IsSortedFunc(b.fails, byIndex) {
		slices.SortStableFunc(b.fails, byIndex)
	}
	last := b.fails[:0]
	for i, f := range b.fails {
		if i+1 == len(b.fails) || b.fails[i+1].Index != f.Index {
			last = append(last, f)
		}
	}
	return last
}
