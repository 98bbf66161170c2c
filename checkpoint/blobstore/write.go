package blobstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/spillway-go/spillway/checkpoint"
)

// Put streams what fill writes. Large pieces are cheaper: on S3 each is handed to another goroutine.
func (s *Store) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	if err := s.ready(ctx, "put", name); err != nil {
		return err
	}
	// An upload whose ctx is canceled before Close makes no object. This holds for a fill that panics as well.
	uploading, abandon := context.WithCancel(ctx)
	defer abandon()
	upload, err := s.bucket.NewWriter(uploading, name, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return s.failed(ctx, "put", name, err)
	}
	w := &writer{ctx: ctx, upload: upload}
	filled := false
	defer func() {
		if !filled {
			abandon()
			_ = upload.Close()
		}
	}()
	err = fill(w)
	switch {
	case w.err != nil:
		return s.failed(ctx, "put", name, w.err)
	case err != nil:
		return err
	}
	filled = true
	if err := upload.Close(); err != nil {
		return s.failed(ctx, "put", name, err)
	}
	return nil
}

// writer remembers what the upload failed with, whatever fill makes of it.
type writer struct {
	ctx    context.Context
	upload *blob.Writer
	err    error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.upload.Write(p)
	w.err = err
	return n, err
}

// mark is the metadata by which Create knows its own object again.
const mark = "creation"

const (
	conflicts     = 6                      // tries of a Create that meets another one at the same moment
	conflictPause = 100 * time.Millisecond // after the first; doubles
)

// Create makes a small object, in one request up to 16 MiB. The first one calls [Store.Probe].
func (s *Store) Create(ctx context.Context, name string, data []byte) error {
	if err := s.ready(ctx, "create", name); err != nil {
		return err
	}
	if err := s.probe(ctx, false); err != nil {
		return err
	}
	return s.create(ctx, name, data)
}

func (s *Store) create(ctx context.Context, name string, data []byte) error {
	own := rand.Text()
	err := s.createMarked(ctx, name, data, own)
	for n := 1; n < conflicts && isConflict(err); n++ {
		select {
		case <-ctx.Done():
		case <-time.After(conflictPause << (n - 1)):
		}
		err = s.createMarked(ctx, name, data, own)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil || gcerrors.Code(err) != gcerrors.FailedPrecondition:
		return s.failed(ctx, "create", name, err)
	}
	// The SDKs send a request again when its answer is lost: then the object that is there is our own.
	there, err := s.bucket.Attributes(ctx, name)
	switch {
	case err == nil && there.Metadata[mark] == own:
		return nil
	case err == nil || gcerrors.Code(err) == gcerrors.NotFound: // or was there
		return &Error{Op: "create", Name: name, Where: s.where, Err: checkpoint.ErrExists}
	}
	return s.failed(ctx, "create", name, err)
}

func (s *Store) createMarked(ctx context.Context, name string, data []byte, own string) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	w, err := s.bucket.NewWriter(ctx, name, &blob.WriterOptions{IfNotExist: true, Metadata: map[string]string{mark: own}})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		abandon()
		_ = w.Close()
		return err
	}
	return w.Close()
}

// isConflict: S3 says so, instead of deciding, when two conditional requests meet, and asks for the request again.
func isConflict(err error) bool {
	var service interface{ ErrorCode() string }
	return errors.As(err, &service) && service.ErrorCode() == "ConditionalRequestConflict"
}
