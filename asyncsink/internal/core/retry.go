package core

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// group is the failures of one answer that have failed equally often: one
// timer for all of them. Refs ascend in arrival order; at is the next to go.
type group struct {
	notBefore Time
	seq       Seq // of refs[at]
	refs      []ref
	at        int
}

// retries keeps failed entries until their back-off has passed, then gives
// them back in arrival order, before anything at the frontier.
type retries struct {
	limits.Retry
	rand    *rand.Rand
	seq     func(ref) Seq
	size    func(ref) int64
	waiting heap[*group]
	ready   heap[*group]
	pool    []*group
	forming []*group // of the answer that is being read, by back-off class

	entries, bytes int64 // ready, so that a batch need not be tried to know whether it is full
}

const backoffClasses = 32

func newRetries(l limits.Retry, r *rand.Rand, seq func(ref) Seq, size func(ref) int64) retries {
	return retries{
		Retry:   l,
		rand:    r,
		seq:     seq,
		size:    size,
		waiting: heap[*group]{key: func(g *group) int64 { return int64(g.notBefore) }},
		ready:   heap[*group]{key: func(g *group) int64 { return int64(g.seq) }},
		forming: make([]*group, backoffClasses),
	}
}

// add puts a failed entry to those of its answer; commit starts their timers.
func (r *retries) add(e ref, failures int) {
	class := min(max(failures, 1), backoffClasses) - 1
	g := r.forming[class]
	if g == nil {
		if n := len(r.pool); n > 0 {
			g, r.pool = r.pool[n-1], r.pool[:n-1]
		} else {
			g = &group{}
		}
		r.forming[class] = g
	}
	g.refs = append(g.refs, e)
}

// commit draws one back-off for each class: full jitter, as in Brooker,
// "Exponential Backoff And Jitter" (AWS, 2015), and never less than the hint.
func (r *retries) commit(now Time, hint time.Duration) {
	for class, g := range r.forming {
		if g == nil {
			continue
		}
		r.forming[class] = nil
		bound := r.Cap
		if b := r.Base << class; b > 0 && b>>class == r.Base && b < bound {
			bound = b
		}
		slices.Reverse(g.refs)                     // answers are read last entry first
		if !slices.IsSortedFunc(g.refs, r.bySeq) { // under an order, keys go in any order
			slices.SortFunc(g.refs, r.bySeq)
		}
		g.seq = r.seq(g.refs[0])
		g.notBefore = now.Add(max(hint, time.Duration(r.rand.Int64N(int64(bound)+1))))
		r.waiting.push(g)
	}
}

func (r *retries) bySeq(a, b ref) int { return cmp.Compare(r.seq(a), r.seq(b)) }

// wake moves one group whose back-off has passed to the ready ones.
func (r *retries) wake(now Time) bool {
	if r.waiting.len() == 0 || r.waiting.min().notBefore > now {
		return false
	}
	g := r.waiting.pop()
	for _, e := range g.refs {
		r.bytes += r.size(e)
	}
	r.entries += int64(len(g.refs))
	r.ready.push(g)
	return true
}

// next is the ready entry that arrived first.
func (r *retries) next() (ref, bool) {
	if r.ready.len() == 0 {
		return 0, false
	}
	g := r.ready.min()
	return g.refs[g.at], true
}

// drop takes what next returned.
func (r *retries) drop() {
	g := r.ready.min()
	r.entries--
	r.bytes -= r.size(g.refs[g.at])
	g.at++
	if g.at < len(g.refs) {
		g.seq = r.seq(g.refs[g.at])
		r.ready.sink()
		return
	}
	r.ready.pop()
	*g = group{refs: g.refs[:0]}
	if len(r.pool) < poolLimit {
		r.pool = append(r.pool, g)
	}
}

// wakeAt is when the next back-off ends.
func (r *retries) wakeAt() Time {
	if r.waiting.len() == 0 {
		return Never
	}
	return r.waiting.min().notBefore
}
