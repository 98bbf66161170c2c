package blobstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/spillway-go/spillway/checkpoint"
)

// Open opens an object from its start. What it returns reads under ctx too: keep that until Close.
func (s *Store) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := s.ready(ctx, "read", name); err != nil {
		return nil, err
	}
	r, err := s.bucket.NewReader(ctx, name, nil)
	if err != nil {
		return nil, s.notFound(ctx, "read", name, err)
	}
	return &reader{ctx: ctx, store: s, name: name, object: r}, nil
}

type reader struct {
	ctx    context.Context
	store  *Store
	name   string
	object *blob.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.object.Read(p)
	if err != nil && err != io.EOF {
		err = r.store.failed(r.ctx, "read", r.name, err)
	}
	return n, err
}

func (r *reader) Close() error {
	if err := r.object.Close(); err != nil {
		return r.store.failed(r.ctx, "read", r.name, err)
	}
	return nil
}

// List asks for as many pages as there are. Objects whose names are none of a Store, such as the empty "folder/" that a console
// makes, are left out.
func (s *Store) List(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, s.failed(ctx, "list", prefix, err)
	}
	var infos []checkpoint.Info
	for objects := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := objects.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, s.failed(ctx, "list", prefix, err)
		}
		if checkName(o.Key) == nil {
			infos = append(infos, checkpoint.Info{Name: o.Key, Size: o.Size, Modified: o.ModTime})
		}
	}
	// S3's directory buckets have an order of their own.
	slices.SortFunc(infos, func(a, b checkpoint.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := s.ready(ctx, "delete", name); err != nil {
		return err
	}
	err := s.bucket.Delete(ctx, name)
	if err == nil {
		return nil
	}
	if err = s.notFound(ctx, "delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// notFound makes an error of what the driver returned. Drivers say NotFound of a bucket that is not there, and that of Google
// of what is not allowed: so the bucket is asked whether the object is really not there. A state that can't be seen is no first
// start.
func (s *Store) notFound(ctx context.Context, op, name string, err error) error {
	if ctx.Err() != nil || gcerrors.Code(err) != gcerrors.NotFound {
		return s.failed(ctx, op, name, err)
	}
	objects, _, listed := s.bucket.ListPage(ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: name})
	if listed != nil {
		return s.failed(ctx, op, name, listed)
	}
	if len(objects) > 0 && objects[0].Key == name {
		return s.failed(ctx, op, name, err)
	}
	return &Error{Op: op, Name: name, Where: s.where, Err: fs.ErrNotExist}
}
