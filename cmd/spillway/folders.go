package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
)

// unusable says whether an error is about what the state is, and not about reading it.
func unusable(err error) bool {
	return is[*checkpoint.DamagedError](err) || is[*checkpoint.OtherJobError](err) || is[*statecodec.NewerError](err)
}

// folder is the checkpoints of an instance of a job.
type folder struct {
	checkpoint.Job
	complete []*checkpoint.Checkpoint
	unusable []fault
}

// fault is a slot that can't be used.
type fault struct {
	id  uint64
	err error
}

func (f *folder) name() string { return f.Name + "/" + f.Instance }

// manifest is the name of one in the store.
func (f *folder) manifest(id uint64) string { return fmt.Sprintf("%s/chk-%020d", f.name(), id) }

// reason is an unusable error in a word or two.
func reason(err error) string {
	switch {
	case is[*statecodec.NewerError](err):
		return "newer"
	case is[*checkpoint.OtherJobError](err):
		return "of another job"
	}
	return "damaged"
}

// placeOf is the path that an unusable error names; "": none.
func placeOf(err error) string {
	if d, ok := errors.AsType[*checkpoint.DamagedError](err); ok {
		return d.Path
	}
	if o, ok := errors.AsType[*checkpoint.OtherJobError](err); ok {
		return o.Path
	}
	return ""
}

// told is an unusable error without the root of the store, which whoever reads it gave.
func (l *looking) told(err error) string {
	d, ok := errors.AsType[*checkpoint.DamagedError](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("%s at byte %d: %s: %s", l.below(d.Path), d.Offset, what(d.Err), d.Advice)
}

func (l *looking) below(path string) string {
	return strings.TrimPrefix(path, strings.TrimSuffix(storeName(l.store), "/")+"/")
}

// what is wrong, without the place, which is told beside it.
func what(err error) string {
	if f, ok := errors.AsType[*statecodec.FormatError](err); ok {
		return f.Fault.String() + ": " + f.Detail
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "it is not there"
	}
	return err.Error()
}

// folders are those that the target names, or all.
func (l *looking) folders(s checkpoint.Store) ([]*folder, error) {
	jobs, err := checkpoint.Jobs(l.ctx, s)
	if err != nil {
		return nil, err
	}
	var all []*folder
	for _, job := range jobs {
		if l.Job != "" && l.Job != job.Name || l.Instance != "" && l.Instance != job.Instance {
			continue
		}
		f, err := l.folder(s, job)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) == 0 && l.Job != "" {
		return nil, l.nothing(jobs)
	}
	return all, nil
}

func (l *looking) nothing(jobs []checkpoint.Job) error {
	what := l.Job
	if l.Instance != "" {
		what += "/" + l.Instance
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no state of %s in %s, nor of any other job", what, l.URL)
	}
	return fmt.Errorf("there is no state of %s in %s: spillway state ls %[2]s lists what there is", what, l.URL)
}

var slotName = regexp.MustCompile(`chk-([0-9]{20})`)

// folder reads the manifests of a job.
func (l *looking) folder(s checkpoint.Store, job checkpoint.Job) (*folder, error) {
	f := &folder{Job: job}
	var err error
	f.complete, err = checkpoint.List(l.ctx, s, job)
	for _, one := range flatten(err) {
		if !unusable(one) {
			return nil, one
		}
		id := uint64(0)
		if m := slotName.FindStringSubmatch(one.Error()); m != nil {
			id, _ = strconv.ParseUint(m[1], 10, 64)
		}
		f.unusable = append(f.unusable, fault{id, one})
	}
	return f, nil
}

// gone says whether a checkpoint was deleted while it was looked at, since newer ones took its place.
func (l *looking) gone(f *folder, c *checkpoint.Checkpoint) bool {
	_, err := checkpoint.At(l.ctx, l.store, f.manifest(c.ID))
	return errors.Is(err, fs.ErrNotExist)
}
