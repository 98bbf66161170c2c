package blobstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
)

// NotExclusiveError says that a server creates what exists: it ignores the condition of the request.
type NotExclusiveError struct {
	Where string // the URL of the Store, without parameters; empty: not known
}

func (e *NotExclusiveError) Error() string {
	return fmt.Sprintf("blobstore: %s ignores the condition of conditional writes (If-None-Match: *), "+
		"so two processes on one state could destroy each other's checkpoints: "+
		"use a server that honours it, or keep the state in a local folder", place(e.Where))
}

const cleaningUp = 10 * time.Second // for a delete that goes on when ctx has ended

// Probe sees whether the bucket can be used: it creates an object twice, and deletes it. The object has a name of its own,
// probe- and letters; one that is interrupted may leave it there. A *[NotExclusiveError] says that the second try succeeded; other
// errors, that something is not there or not allowed.
//
// The first Create calls it, unless it has succeeded before.
func (s *Store) Probe(ctx context.Context) error { return s.probe(ctx, true) }

// probe does it again, or only until it has succeeded once. One at a time does.
func (s *Store) probe(ctx context.Context, again bool) (err error) {
	if ctx.Err() != nil {
		return s.failed(ctx, "probe", "", ctx.Err())
	}
	var succeeded bool
	select {
	case succeeded = <-s.probed:
	case <-ctx.Done():
		return s.failed(ctx, "probe", "", ctx.Err())
	}
	defer func() { s.probed <- succeeded }()
	if succeeded && !again {
		return nil
	}
	err = s.createTwice(ctx)
	succeeded = err == nil
	return err
}

func (s *Store) createTwice(ctx context.Context) error {
	name := "probe-" + rand.Text()
	if err := s.create(ctx, name, []byte("spillway: may be deleted\n")); err != nil {
		return err
	}
	err := s.create(ctx, name, []byte("spillway: may be deleted: this server ignores If-None-Match\n"))
	switch {
	case errors.Is(err, checkpoint.ErrExists):
		err = nil
	case err == nil:
		err = &NotExclusiveError{Where: s.where}
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaningUp)
	defer cancel()
	return errors.Join(err, s.Delete(detached, name))
}
