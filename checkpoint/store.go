package checkpoint

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store keeps objects under names: paths with slashes, relative to its root, whose elements a [Job] may have as names. It
// knows nothing of checkpoints. Any goroutine may call it. A call ends when ctx does, with its error; whether it took effect
// is then unknown. A store that is an [fmt.Stringer] says where it is, for messages: its root, without a slash at the end.
//
// [Local] is a folder; package blobstore has S3, Google Cloud Storage, Azure and memory.
type Store interface {
	// Put makes an object of what fill writes, in place of one that has the name. The object is there, whole and durable,
	// when Put returns nil; when fill or the store fails, it is as it was before, or not there. fill is called at most once.
	Put(ctx context.Context, name string, fill func(io.Writer) error) error
	// Create makes a small object that is not there yet, else an error that matches [ErrExists]. Of many that create the
	// same name, one succeeds. The object is there, whole and durable, when Create returns nil.
	Create(ctx context.Context, name string, data []byte) error
	// Open opens an object from its start. An error matches fs.ErrNotExist when there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with prefix, by name. Objects that are being written are not among them.
	List(ctx context.Context, prefix string) ([]Info, error)
	// Copy makes an object that has the bytes of another, without moving them through this process where the store can. In a
	// folder it is a second link to the same file. An error matches fs.ErrNotExist when there is nothing to copy.
	Copy(ctx context.Context, from, to string) error
	// Delete removes an object. That there is none is no error.
	Delete(ctx context.Context, name string) error
}

// Info is what a store knows of an object.
type Info struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
}

// ErrExists is matched by what [Store.Create] returns when another object has the name.
var ErrExists = errors.New("an object of that name exists")

// Locker is a [Store] that can keep other processes out.
type Locker interface {
	// Lock takes a lock until Close, or until the process ends, however that ends; a *[LockedError] if another has it.
	Lock(ctx context.Context, name string) (io.Closer, error)
}

// Importer is a [Store] that can take a local file over without copying its bytes: a link to it. The file must not change
// any more; it is made durable. An error that matches errors.ErrUnsupported says that its bytes must be Put.
type Importer interface {
	Import(ctx context.Context, path, name string) error
}
