package checkpoint

import (
	"context"
	"errors"
	"time"
)

// Sweep deletes the data files that no manifest names, which writes that failed and crashes leave, and returns how many it
// removed. Those younger than [Options].Grace stay, and those of a newer epoch. It also tries again what Write could not
// delete ([History.PruneError]), and does nothing while a slot cannot be read. Errors are those of Write.
func (h *History) Sweep(ctx context.Context) (removed int, err error) {
	h.turn.Lock()
	defer h.turn.Unlock()
	if err := h.ready(ctx); err != nil {
		return 0, err
	}
	infos, err := h.data(ctx)
	if err == nil {
		err = h.look(ctx)
	}
	if err != nil {
		return 0, failed("sweep", err)
	}
	err = h.retire(ctx)
	h.setPrune(err)
	if h.readable() != nil {
		return 0, err
	}
	errs := []error{err}
	named := names(h.log)
	for _, i := range infos {
		epoch, ok := dataEpoch(i.Name)
		if !ok || epoch > h.epoch || named[i.Name] || h.options.Grace > 0 && time.Since(i.Modified) < h.options.Grace {
			continue
		}
		if err := h.delete(ctx, i.Name); err != nil {
			errs = append(errs, failed("delete "+h.place(i.Name), err))
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}
