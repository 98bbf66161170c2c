package checkpoint

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Retain keeps checkpoint id from being deleted until release is called, as often as Retain was; likewise one of another
// job that was claimed, if it has the number. Who reads a checkpoint while new ones are written needs it: one that Find
// returns after Retain stays. It does not outlive the process.
func (h *History) Retain(id uint64) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retained[id]++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.retained[id]--; h.retained[id] == 0 {
			delete(h.retained, id)
		}
	})
}

// PruneError is why the last Write or Sweep could not delete what newer checkpoints have taken the place of; nil: it could.
// It is tried again each time, and costs nothing but room, hence it is worth a warning. While a slot cannot be read, nothing
// is deleted, since nobody knows what it names; that is a *[DamagedError].
func (h *History) PruneError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.prune
}

func (h *History) setPrune(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prune = err
}

// retire deletes what is no longer needed: first the slots, then the data files that no other names, such that a crash
// between the two leaves files without a manifest, and never a manifest without its files.
func (h *History) retire(ctx context.Context) error {
	if err := h.readable(); err != nil {
		return err
	}
	err := h.drop(ctx, h.subsumed())
	named := names(h.log)
	for _, name := range slices.Sorted(maps.Keys(h.garbage)) {
		if !named[name] {
			if derr := h.delete(ctx, name); derr != nil {
				err = errors.Join(err, failed("delete "+h.place(name), derr))
				continue
			}
		}
		delete(h.garbage, name)
	}
	return errors.Join(err, h.settleClaims(ctx))
}

// readable returns the fault of a slot that cannot be read.
func (h *History) readable() error {
	for _, s := range h.log {
		if s.m == nil {
			return &DamagedError{Path: h.place(slotName(s.id)), Offset: s.at, Err: s.err,
				Advice: "move it away: until then nothing is deleted, since nobody knows what files it names"}
		}
	}
	return nil
}

// subsumed returns the slots that are not needed, and makes them void for those who look for one: what stale processes left,
// and that for which there is something newer. An epoch record above the newest checkpoint may be what keeps out a
// creation that is late, and the newest one tells the epoch.
func (h *History) subsumed() (drop []slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = slices.Clone(h.log)
	checkpoints, records := 0, 0 // newer ones
	for i := range slices.Backward(h.log) {
		s := &h.log[i]
		needed := h.keep[s.id]
		switch {
		case s.complete():
			needed = needed || checkpoints < h.options.Retained || h.retained[s.id] > 0
			checkpoints++
		case s.record():
			needed = checkpoints == 0 || records == 0
			records++
		}
		if !needed {
			s.void = true
			drop = append(drop, *s)
		}
	}
	slices.Reverse(drop)
	return drop
}

// drop deletes slots, whose files are garbage then. Epoch records go last: one may be what tells that a slot above it
// is a stale process's.
func (h *History) drop(ctx context.Context, slots []slot) error {
	var errs []error
	gone := map[uint64]bool{}
	for _, kind := range []string{KindCheckpoint, KindEpoch} {
		for _, s := range slots {
			if s.m.Kind != kind || kind == KindEpoch && errs != nil {
				continue
			}
			if err := h.delete(ctx, slotName(s.id)); err != nil {
				errs = append(errs, failed("delete "+h.place(slotName(s.id)), err))
				continue
			}
			gone[s.id] = true
			for _, f := range s.m.Files {
				h.garbage[f.Name] = true
			}
		}
	}
	h.setLog(slices.DeleteFunc(slices.Clone(h.log), func(s slot) bool { return gone[s.id] }))
	return errors.Join(errs...)
}
