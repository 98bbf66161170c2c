package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// List returns the complete checkpoints of a job, by number. It reads only, takes no lock and begins no epoch; a process may
// be writing meanwhile. What cannot be read is in the error, which joins a *[DamagedError], *[OtherJobError] or, wrapped,
// *[statecodec.NewerError] for each; those that can be read are returned beside it.
func List(ctx context.Context, s Store, job Job) ([]*Checkpoint, error) {
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	job = job.orDefault()
	f := folderOf(s, job)
	slots, err := f.slots(ctx, nil)
	if err != nil {
		return nil, failed("list the checkpoints of "+f.place(""), err)
	}
	var list []*Checkpoint
	var errs []error
	for _, s := range slots {
		switch {
		case s.m == nil:
			errs = append(errs, f.fault(slots, s))
		case s.m.owner() != job:
			errs = append(errs, &OtherJobError{Path: f.place(slotName(s.id)), Found: s.m.owner(), Want: job})
		case s.complete():
			list = append(list, f.checkpoint(slots, s))
		}
	}
	return list, errors.Join(errs...)
}

// Jobs returns the jobs that have state in a store, by name and instance. It lists all objects, and reads none.
func Jobs(ctx context.Context, s Store) ([]Job, error) {
	infos, err := await(ctx, func() ([]Info, error) { return s.List(ctx, "") })
	if err != nil {
		return nil, failed("list the jobs", err)
	}
	found := map[Job]bool{}
	for _, i := range infos {
		parts := strings.Split(i.Name, "/")
		if len(parts) != 3 {
			continue
		}
		job := Job{Name: parts[0], Instance: parts[1]}
		if _, ok := slotID(parts[2]); ok && job.Validate() == nil {
			found[job] = true
		}
	}
	var jobs []Job
	for job := range found {
		jobs = append(jobs, job)
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		return strings.Compare(a.Name+"/"+a.Instance, b.Name+"/"+b.Instance)
	})
	return jobs, nil
}

// At returns the checkpoint whose manifest has the name in the store, such as orders/0/chk-00000000000000000042, whatever
// job it is of: to restore it elsewhere. It reads only. An error matches fs.ErrNotExist when there is none.
func At(ctx context.Context, s Store, name string) (*Checkpoint, error) {
	dir, base := path.Split(name)
	f := folder{store: s, path: dir}
	id, ok := slotID(base)
	if !ok || !fs.ValidPath(name) {
		return nil, fmt.Errorf("checkpoint: %q: must be the name of a manifest, such as orders/0/%s", name, slotName(42))
	}
	read, err := await(ctx, func() (slot, error) { return f.read(ctx, id) })
	if err != nil {
		return nil, failed("read "+f.place(base), err)
	}
	const advice = "restore another one"
	if read.m == nil {
		err := f.fault(nil, read)
		if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
			damaged.Advice = advice
		}
		return nil, err
	}
	if !read.complete() {
		return nil, fmt.Errorf("checkpoint: %s is an epoch record, no checkpoint", f.place(base))
	}
	c := f.checkpoint(nil, read)
	c.advice = advice
	return c, nil
}
