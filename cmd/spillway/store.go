package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/pipeline"
)

// openState opens the stores of a job: that of its state, and that of the checkpoint to begin with, if it lies in another.
//
// Whether a bucket decides between two processes is seen when the state is opened: its first Create asks.
func openState(p process, loaded *config.Loaded) (pipeline.State, error) {
	j := &loaded.Job
	if j.State.URL == "" {
		return pipeline.State{}, nil
	}
	version, revision := build()
	s := pipeline.State{
		Interval: j.State.Interval, MinPause: j.State.MinPause, Timeout: j.State.Timeout, Tolerate: j.State.Tolerate,
		Retained: j.State.Retained, Recover: j.State.Recover, SkipDamaged: loaded.Settings.SkipDamaged, Program: "spillway " + version + revision,
	}
	var err error
	if s.Store, err = p.store(context.Background(), j.State.URL); err != nil {
		return s, fmt.Errorf("open the state: %w", err)
	}
	if s.From, err = restoreFrom(p, loaded); err != nil {
		return s, errors.Join(fmt.Errorf("open the store of --restore: %w", err), closeState(s))
	}
	return s, nil
}

// restoreFrom is the checkpoint to begin with; nil: the newest.
func restoreFrom(p process, loaded *config.Loaded) (*pipeline.From, error) {
	from := loaded.Settings.From()
	if from == (config.From{}) {
		return nil, nil
	}
	f := &pipeline.From{ID: from.ID, Name: from.Name, Mode: checkpoint.NoClaim}
	if loaded.Settings.Claim {
		f.Mode = checkpoint.Claim
	}
	if from.ID != 0 {
		return f, nil
	}
	if config.SameStore(from.Store, loaded.Job.State.URL) {
		if job, id := splitManifest(from.Name); job == (checkpoint.Job{Name: loaded.Job.Name, Instance: cmp.Or(loaded.Job.Instance, checkpoint.DefaultInstance)}) {
			f.ID, f.Name = id, ""
		}
		return f, nil
	}
	var err error
	f.In, err = p.store(context.Background(), from.Store)
	return f, err
}

// splitManifest takes the name of a manifest apart: orders/0/chk-00000000000000000042.
func splitManifest(name string) (checkpoint.Job, uint64) {
	dir, base := path.Split(name)
	job, instance, _ := strings.Cut(strings.TrimSuffix(dir, "/"), "/")
	id, _ := strconv.ParseUint(strings.TrimPrefix(base, "chk-"), 10, 64)
	return checkpoint.Job{Name: job, Instance: instance}, id
}

const lookAgain = 10 * time.Second

// whatThereIs says, of a manifest that was to be restored and is not there, which ones are.
func whatThereIs(err error, s pipeline.State) error {
	if s.From == nil || s.From.Name == "" || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookAgain)
	defer cancel()
	in := cmp.Or(s.From.In, s.Store)
	if _, at := checkpoint.At(ctx, in, s.From.Name); !errors.Is(at, fs.ErrNotExist) {
		return err // something else is not there
	}
	job, id := splitManifest(s.From.Name)
	none := &checkpoint.NotFoundError{ID: id}
	list, _ := checkpoint.List(ctx, in, job) // of what can't be read there is nothing to restore
	for _, c := range list {
		none.Have = append(none.Have, c.ID)
	}
	return fmt.Errorf("restore %s: %w", s.From.Name, none)
}

func closeState(s pipeline.State) error {
	err := config.CloseStore(s.Store)
	if s.From != nil {
		err = errors.Join(err, config.CloseStore(s.From.In))
	}
	return err
}
