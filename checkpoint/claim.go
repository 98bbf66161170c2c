package checkpoint

import (
	"context"
	"errors"
	"slices"
)

// claim is another job's checkpoint that is ours.
type claim struct {
	folder
	id       uint64
	crc      CRC
	subsumed bool // by a complete checkpoint of ours
}

// settleClaims deletes what was claimed and is not needed any more.
func (h *History) settleClaims(ctx context.Context) error {
	var errs []error
	h.claims = slices.DeleteFunc(h.claims, func(c claim) bool {
		h.mu.Lock()
		wait := !c.subsumed || h.retained[c.id] > 0
		h.mu.Unlock()
		if wait {
			return false
		}
		if err := c.delete(ctx); err != nil {
			errs = append(errs, failed("delete "+c.place(slotName(c.id))+", which was claimed", err))
			return false
		}
		return true
	})
	return errors.Join(errs...)
}

// delete deletes the manifest, and then the files that no other in its folder names. What a crash between the two leaves, a
// sweep of that job removes.
func (c claim) delete(ctx context.Context) error {
	log, err := c.find(ctx, nil)
	if l, ok := c.store.(Locker); ok && log != nil {
		lock, err := l.Lock(ctx, c.path+lockName)
		if err != nil {
			return err
		}
		defer lock.Close()
		log, err = c.find(ctx, log)
		if err != nil {
			return err
		}
	}
	if log == nil {
		return err
	}
	s, _ := at(log, c.id)
	if err := c.folder.delete(ctx, slotName(c.id)); err != nil {
		return err
	}
	named := names(slices.DeleteFunc(log, func(o slot) bool { return o.id == c.id }))
	for _, f := range s.m.Files {
		if !named[f.Name] {
			err = errors.Join(err, c.folder.delete(ctx, f.Name))
		}
	}
	return err
}

// find reads the log that the checkpoint lies in; nil: it is not there to be deleted.
func (c claim) find(ctx context.Context, known []slot) ([]slot, error) {
	log, err := c.slots(ctx, known)
	if err != nil {
		return nil, err
	}
	if s, ok := at(log, c.id); !ok || s.m != nil && s.crc != c.crc {
		return nil, nil // deleted before, and the number may be another's
	}
	for _, s := range log {
		if s.m == nil {
			return nil, c.fault(log, s)
		}
		if slices.Contains(s.m.Lineage.Keep, c.id) {
			return nil, nil // its own job has promised to keep it
		}
	}
	return log, nil
}
