package blobstore

import (
	"context"

	"gocloud.dev/blob"

	"github.com/spillway-go/spillway/checkpoint"
)

// Store is a [checkpoint.Store] in a bucket. Any goroutine may call it.
type Store struct {
	bucket *blob.Bucket
	where  string    // the URL without parameters; empty: not known
	probed chan bool // the one value says whether Probe has succeeded; who holds it may probe
}

var _ checkpoint.Store = (*Store)(nil)

// New returns a Store of all objects in a bucket; [blob.PrefixedBucket] narrows one to those below a prefix. The Store
// takes the bucket over: its Close closes it.
func New(b *blob.Bucket) *Store { return newStore(b, "") }

func newStore(b *blob.Bucket, where string) *Store {
	s := &Store{bucket: b, where: where, probed: make(chan bool, 1)}
	s.probed <- false
	return s
}

// String is the URL that the Store was opened by, without parameters; of one that New returned, empty.
func (s *Store) String() string { return s.where }

// Close releases the bucket. What is being read or written should have ended before.
func (s *Store) Close() error {
	if err := s.bucket.Close(); err != nil {
		return s.failed(context.Background(), "close", "", err)
	}
	return nil
}

// ready is asked before each call.
func (s *Store) ready(ctx context.Context, op, name string) error {
	if err := checkName(name); err != nil {
		return &Error{Op: op, Name: name, Where: s.where, Err: err}
	}
	if ctx.Err() != nil {
		return s.failed(ctx, op, name, ctx.Err())
	}
	return nil
}
