package blobstore

import (
	"context"
	"io"

	"gocloud.dev/gcerrors"
)

const largestCopy = 5 << 30 // bytes: what S3 copies in one request

// Copy has the service copy, and moves the bytes through this process if the service refuses to because they are more than
// 5 GiB.
func (s *Store) Copy(ctx context.Context, from, to string) error {
	if err := s.ready(ctx, "copy", from); err != nil {
		return err
	}
	if err := s.ready(ctx, "copy", to); err != nil {
		return err
	}
	err := s.bucket.Copy(ctx, to, from, nil)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && gcerrors.Code(err) != gcerrors.NotFound {
		if there, failed := s.bucket.Attributes(ctx, from); failed == nil && there.Size > largestCopy {
			return s.stream(ctx, from, to)
		}
	}
	return s.notFound(ctx, "copy", from, err)
}

func (s *Store) stream(ctx context.Context, from, to string) error {
	r, err := s.Open(ctx, from)
	if err != nil {
		return err
	}
	defer r.Close()
	return s.Put(ctx, to, func(w io.Writer) error {
		_, err := io.CopyBuffer(w, r, make([]byte, 1<<20))
		return err
	})
}
