package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/statecodec"
)

// tidying bounds, in time, the deletion of what a failed Write leaves.
const tidying = 5 * time.Second

// attempt is a Write of which it is not known whether its manifest was created: the call failed or was left behind. Its
// files stay until that is known.
type attempt struct{ files []string }

// Write makes the next checkpoint of what fill puts into the draft. It is complete, whole and durable when Write returns
// nil, and is then the newest. fill is called once, by this goroutine, and must return when its ctx ends; an error or a
// panic of it passes. Then what newer checkpoints have taken the place of is deleted: see [History.PruneError].
//
// On an error the checkpoint before it is still the newest, and what was written is deleted, as far as it can be. There is
// one exception: when ctx ends, or the store fails, while the manifest is created, nobody can tell. The next Write or Sweep
// finds out: it is complete after all, or it never will be.
//
// Write returns when ctx ends, or up to 5 s later if there is something to delete, also if the store does not: its call is
// then left behind. Errors: *[StaleEpochError] if another process has opened the state, also at each call from then on;
// *[statecodec.NewerError], wrapped, likewise if that was a newer program; [ErrClosed]; else one of fill, of the store or
// of ctx, wrapped.
func (h *History) Write(ctx context.Context, fill func(context.Context, *Draft) error) (*Checkpoint, error) {
	h.turn.Lock()
	defer h.turn.Unlock()
	if err := h.ready(ctx); err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("write checkpoint %d", h.number)
	d := &Draft{h: h, m: h.manifest(), sources: h.sources()}
	defer d.discard(ctx) // also when fill panics
	if err := fill(ctx, d); err != nil {
		return nil, failed(doing, err)
	}
	text, files, err := d.seal(ctx)
	if err != nil {
		return nil, failed(doing, err)
	}
	if err := h.publish(ctx, text, files); err != nil {
		return nil, failed(doing, err)
	}
	for i := range h.claims {
		h.claims[i].subsumed = true
	}
	h.setPrune(h.retire(ctx))
	return h.checkpoint(h.log, text.slot()), nil
}

// ready says whether this life may still write, and finds out what became of an attempt.
func (h *History) ready(ctx context.Context) error {
	switch {
	case h.closed:
		return ErrClosed
	case h.over != nil:
		return h.over
	case h.pending == nil:
		return nil
	}
	id := h.number
	complete, err := h.giveUp(ctx)
	if err != nil {
		return failed(fmt.Sprintf("find out whether checkpoint %d is complete", id), err)
	}
	h.options.Logger.Warn("it was not known whether a checkpoint is complete, and now is", "id", id, "complete", complete)
	return nil
}

// publish creates a manifest. From here on its files are not the draft's any more.
func (h *History) publish(ctx context.Context, text encoded, files []string) error {
	h.pending = &attempt{files}
	complete, err := h.settle(ctx, text)
	if err != nil && h.over == nil && ctx.Err() == nil {
		again, _ := h.giveUp(ctx) // if it fails as well, the next Write finds out
		if again {
			return nil // the store failed, and had done it
		}
		err = cmp.Or(h.over, err)
	}
	if err == nil && !complete {
		return fmt.Errorf("%s is taken by what a stale process left: the next one is free", slotName(text.ID))
	}
	return err
}

// giveUp offers an epoch record for the number of the attempt. Either the record gets it, then the manifest never will,
// however late a call that was left behind may be; or the manifest has it.
func (h *History) giveUp(ctx context.Context) (complete bool, err error) {
	text, err := h.record().encode()
	if err != nil {
		return false, err
	}
	return h.settle(ctx, text)
}

// settle offers a manifest for the number of the attempt, and finds out what has the number: it keeps it.
func (h *History) settle(ctx context.Context, text encoded) (complete bool, err error) {
	err = h.create(ctx, text)
	if err == nil {
		err = h.confirm(ctx, text)
	} else if errors.Is(err, ErrExists) {
		err = h.look(ctx)
	}
	s, ok := at(h.log, text.ID)
	if taken := ok && s.m != nil && s.m.Epoch > h.epoch; err != nil && !taken {
		return false, err
	}
	if !ok {
		return false, fmt.Errorf("%s: %w, says the store, and does not list it", slotName(text.ID), ErrExists)
	}
	complete = s.complete() && s.m.Epoch == h.epoch
	if !complete && s.m != nil { // else it may be the manifest, badly read
		h.tidy(ctx, h.pending.files)
	}
	h.pending = nil
	h.number++
	return complete, err
}

// create makes a slot. The slot may be there afterwards whatever the error is.
func (h *History) create(ctx context.Context, text encoded) error {
	return awaitErr(ctx, func() error { return h.store.Create(ctx, h.path+slotName(text.ID), text.text) })
}

// confirm looks whether the store has kept a slot that it said it made, and whether this process was still the newest then.
// If it was not, the slot stays as it is: either it was made in time, and the newer process began with it; or it lies below
// that one's, where it is void.
func (h *History) confirm(ctx context.Context, text encoded) error {
	if err := h.look(ctx, text.slot()); err != nil {
		return err
	}
	s, ok := at(h.log, text.ID)
	if ok && s.m != nil {
		return nil
	}
	if ok { // of the bytes that were ours, hence ours to delete
		h.tidy(ctx, []string{slotName(text.ID)})
	}
	return fmt.Errorf("%s: the store said that it has all %d bytes, and has %d", slotName(text.ID), len(text.text), s.size)
}

// look lists the log, with the slot that this process has just made, and finds out whether it is still the newest. What
// else appears below the number that it is at was written by a stale process: Open has seen all that was there before.
func (h *History) look(ctx context.Context, made ...slot) error {
	known := append(slices.Clone(h.log), made...)
	slots, err := h.slots(ctx, known)
	if err != nil {
		return err
	}
	for i, s := range slots {
		switch _, ok := at(known, s.id); {
		case errors.As(s.err, new(*statecodec.NewerError)):
			h.over = h.fault(slots, s)
		case s.m != nil && s.m.Epoch > h.epoch:
			h.over = &StaleEpochError{Epoch: h.epoch, Newer: s.m.Epoch}
		case !ok && s.m != nil && s.id < h.number:
			slots[i].void = true
		}
	}
	h.setLog(slots)
	return h.over
}

// tidy deletes, as far as it can be done, also when ctx has ended. What stays is found by Sweep.
func (h *History) tidy(ctx context.Context, names []string) {
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidying)
	defer cancel()
	for _, name := range names {
		if err := h.delete(ctx, name); err != nil {
			h.options.Logger.Warn("what a failed write left could not be deleted", "name", h.place(name), "error", err)
		}
	}
}

func (f folder) delete(ctx context.Context, name string) error {
	return awaitErr(ctx, func() error { return f.store.Delete(ctx, f.path+name) })
}

func (h *History) setLog(slots []slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = slots
}

// record is an epoch record for the next slot.
func (h *History) record() *Manifest {
	m := h.manifest()
	m.Kind = KindEpoch
	return m
}

// manifest is one for the next slot, with what all have in common.
func (h *History) manifest() *Manifest {
	return &Manifest{
		Format: Format, Kind: KindCheckpoint, Program: h.options.Program, CodecVersion: statecodec.Version,
		Job: h.job.Name, Instance: h.job.Instance, ID: h.number, Epoch: h.epoch, Time: time.Now().UTC().Round(0),
		Ownership: Owned, Lineage: Lineage{RestoredFrom: h.origin, Keep: h.kept()},
	}
}
