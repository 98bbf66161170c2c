package asyncsink

import (
	"errors"
	"time"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	"github.com/spillway-go/spillway/asyncsink/internal/spill"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// Spill is where a writer puts what it has no room for in memory: a log on a local
// disk, from which entries come back in order as there is room. It makes the buffer
// larger, not more durable: what survives a crash is what a complete checkpoint holds,
// and a log that an earlier life left is removed.
type Spill struct {
	// Dir is a folder of the writer's own, created if need be. Default: none; a full writer blocks.
	Dir string `yaml:"dir"`
	// Bytes caps the files of the log. At the cap, and when the disk is full, the writer
	// blocks as one without a log does. Default 10 GiB; at least 1 MiB.
	Bytes limits.Bytes `yaml:"bytes"`
	// Sync says when the log is made durable: on_checkpoint, when a checkpoint takes a file of it over, or steady, every
	// 8 MiB on a goroutine, so that a checkpoint finds little left to do. Default on_checkpoint.
	Sync SyncPolicy `yaml:"sync"`
}

// SyncPolicy says when a spill log is synced.
type SyncPolicy = spill.Policy

// The choices for [Spill].Sync.
const (
	OnCheckpoint = spill.OnCheckpoint
	Steady       = spill.Steady
)

const minSpill = limits.Bytes(1 << 20)

func (s Spill) check() (errs []error) {
	if s.Bytes < 0 || s.Bytes > 0 && s.Bytes < minSpill {
		errs = append(errs, &limits.Fault{Field: "spill.bytes", Value: s.Bytes.String(), Bound: minSpill.String() + " or more"})
	}
	if s.Sync > Steady {
		errs = append(errs, &limits.Fault{Field: "spill.sync", Value: s.Sync.String(), Bound: "on_checkpoint or steady"})
	}
	return errs
}

// openLog opens the log of what is spilled; without a folder it is one that takes
// only what must not be refused, in memory.
func (w *Writer[E]) openLog() (err error) {
	w.queue.log, err = spill.Open(spill.Config{
		FS: w.config.disk, Dir: w.config.Spill.Dir, Bytes: int64(w.config.Spill.Bytes), Sync: w.config.Spill.Sync, Section: w.section(statecodec.KindBuffer),
	})
	return err
}

// retryDisk is how often a disk that took nothing is tried again.
const retryDisk = time.Second

// spill puts an entry on disk, behind all that waits there.
func (w *Writer[E]) spill(e E, force bool) (Seq, error) {
	admit := w.core.Admit
	if force {
		admit = w.core.AdmitKept
	}
	size, err := admit(e)
	if err != nil {
		return 0, w.refusal(err)
	}
	if w.config.Spill.Dir == "" && !force {
		return 0, ErrFull
	}
	seq := w.core.Last() + 1
	x, err := w.frame.of(&core.Held[E]{Seq: seq, ID: ID{Writer: w.id, Seq: seq}, Entry: e, Born: w.now})
	if err != nil {
		return 0, err
	}
	if err := w.queue.log.Append(x, force); err != nil {
		if errors.Is(err, statecodec.ErrTooLarge) { // no state will ever take it
			return 0, err
		}
		w.diskFull(err)
		return 0, ErrFull
	}
	if w.diskError != nil {
		w.diskError = nil
		w.log.Info("the spill log takes entries again")
	}
	first := !w.queue.waiting()
	if w.core.Spill(size); first {
		w.core.Feed(true)
		w.pump()
	}
	return seq, nil
}

// diskFull notes why the log takes nothing, once, and looks again later.
func (w *Writer[E]) diskFull(err error) {
	if w.diskError == nil || w.diskError.Error() != err.Error() {
		w.log.Error("the spill log takes no more: the writer waits for room", "error", err)
	}
	w.diskError = err
	w.publish()
	if w.diskTimer == nil {
		w.diskTimer, _ = w.timers.After(retryDisk, w.name+" spill log", func() { // refused only when the writer is closed
			w.diskTimer = nil
			_ = w.queue.log.Retry()
			w.waiting.wakeFirst()
		})
	}
}

// free lets go of files of the log once all before the end of the oldest has settled.
func (w *Writer[E]) free() {
	if s := w.queue.log.Segments(); len(s) > 0 && w.core.LowWater() > Seq(s[0].Last()) {
		w.freeSegments()
	}
}

// freeNowAndThen looks for files to remove once enough has been fed to pay for a walk over what is held.
func (w *Writer[E]) freeNowAndThen(fed int) {
	w.fed += int64(fed)
	if 8*w.fed >= w.core.Ledger.Held().Entries {
		w.freeSegments()
	}
}

// freeSegments removes files of the log of which nothing, or too little, is held in them alone: entries
// that are in memory need a file only so that the next checkpoint need not write them.
func (w *Writer[E]) freeSegments() {
	w.fed = 0
	segments := w.queue.log.Segments()
	var fed []*spill.Segment
	var ranges []Range
	for _, s := range segments {
		if Seq(s.Last()) > w.core.Fed() {
			break
		}
		fed = append(fed, s)
		ranges = append(ranges, Range{First: Seq(s.First()), Last: Seq(s.Last())})
	}
	if len(fed) == 0 {
		return
	}
	counts := make([]int64, len(fed))
	w.core.CountUnsettled(ranges, counts)
	for i, s := range fed {
		p := w.partOf(s)
		if counts[i] > 0 && w.snapshots > 0 && (p == nil || p.file == "") && 2*counts[i] >= int64(s.Entries()) {
			continue
		}
		if p != nil {
			p.segment = nil
		}
		if p != nil && (p.file == "" || counts[i] == 0) {
			w.parts.remove(func(x *part) bool { return x == p })
		}
		w.queue.log.Free(s)
	}
}

// merge makes one file of the log of several small ones, beside the writer: each snapshot ends one.
func (w *Writer[E]) merge() {
	m := w.queue.log.PlanMerge()
	if m == nil {
		return
	}
	g := &merging{Merge: m, done: make(chan struct{})}
	w.merging = g
	go func() {
		g.err = m.Run(w.attempts)
		close(g.done)
		w.report("segments merged", func() { w.endMerge(g) })
	}()
}

// merging is a merge that runs beside the writer.
type merging struct {
	*spill.Merge
	done chan struct{} // closed when it has run
	err  error
}

func (w *Writer[E]) endMerge(m *merging) {
	if w.merging != m {
		return // Close has ended it
	}
	w.merging = nil
	if m.err != nil && w.attempts.Err() == nil {
		w.log.Warn("files of the spill log could not be merged", "error", m.err)
	}
	first := Seq(0)
	for _, s := range m.From() {
		if p := w.partOf(s); p != nil && first == 0 {
			first = p.first
		}
	}
	if out := m.Into(); w.queue.log.EndMerge(m.Merge) && first > 0 {
		w.parts.cover(&part{segment: out, first: first, last: Seq(out.Last()), inFile: int64(out.Entries()), at: w.section(statecodec.KindBuffer)})
	}
}

// stopMerge ends the merge that is under way: its context has ended, so that it takes a block at most.
func (w *Writer[E]) stopMerge() {
	if m := w.merging; m != nil {
		<-m.done
		w.endMerge(m)
	}
}

// closeLog ends the log and removes its files.
func (w *Writer[E]) closeLog() {
	if err := w.queue.log.Close(); err != nil {
		w.log.Warn("the spill log could not be removed: the next start does", "error", err)
	}
}

func (w *Writer[E]) partOf(s *spill.Segment) *part {
	for _, p := range w.parts {
		if p.segment == s {
			return p
		}
	}
	return nil
}
