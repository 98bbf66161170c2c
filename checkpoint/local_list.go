package checkpoint

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/internal/files"
)

// List implements [Store]. It reads the folders that can hold such names, and no others.
func (l *Local) List(ctx context.Context, prefix string) ([]Info, error) {
	folder := path.Dir(prefix)
	if folder != "." {
		if err := checkObject(folder); err != nil {
			return nil, failedIf("list", prefix, err)
		}
	}
	var list []Info
	err := l.walk(ctx, folder, prefix, func(name string, i files.Info) error {
		if !files.IsTemp(i.Name) {
			list = append(list, Info{Name: name, Size: i.Size, Modified: i.Modified})
		}
		return nil
	})
	if err != nil {
		return nil, failedIf("list", prefix, err)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// walk calls each with the files in a folder, and in those below it, whose names begin with prefix.
func (l *Local) walk(ctx context.Context, folder, prefix string, each func(name string, i files.Info) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := l.fs.List(l.Path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // or it was removed meanwhile
	}
	if err != nil {
		return err
	}
	for _, i := range list {
		name := path.Join(folder, i.Name)
		switch {
		case i.Dir && strings.HasPrefix(name+"/", prefix):
			err = l.walk(ctx, name, prefix, each)
		case !i.Dir && strings.HasPrefix(name, prefix):
			err = each(name, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Lock implements [Locker]. The lock is of the folder that name lies in, with all below it, and Path of a *[LockedError] is
// that folder. Whoever writes there holds the lock: what others were writing is taken for the leftovers of a crash and
// removed. The file of the lock stays when the lock is released, and is listed.
func (l *Local) Lock(ctx context.Context, name string) (io.Closer, error) {
	if err := begin(ctx, name); err != nil {
		return nil, failedIf("lock", name, err)
	}
	at := l.Path(name)
	if err := l.folder(filepath.Dir(at)); err != nil {
		return nil, failedIf("lock", name, err)
	}
	lock, err := l.fs.Lock(at)
	if locked := (*files.LockedError)(nil); errors.As(err, &locked) {
		return nil, &LockedError{Path: filepath.Dir(at), PID: locked.PID}
	}
	if err != nil {
		return nil, failedIf("lock", name, err)
	}
	if err := l.removeTemporary(ctx, path.Dir(name)); err != nil {
		_ = lock.Close()
		return nil, failed("remove what a crash left", err)
	}
	return lock, nil
}

func (l *Local) removeTemporary(ctx context.Context, folder string) error {
	return l.walk(ctx, folder, "", func(name string, i files.Info) error {
		if !files.IsTemp(i.Name) {
			return nil
		}
		if err := l.fs.Remove(l.Path(name)); !errors.Is(err, fs.ErrNotExist) { // a call that was left behind may end now
			return err
		}
		return nil
	})
}
