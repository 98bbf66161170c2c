package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Checkpoint is a complete checkpoint in a [Store]. Its methods only read, and any goroutine may call them. Its manifest
// must not be changed.
type Checkpoint struct {
	Manifest
	folder
	crc    CRC    // that its manifest ends with
	advice string // if it is damaged
}

var errNotAsWritten = errors.New("its bytes are not those that were written")

// Name is that of the manifest in its store, as [At] takes it.
func (c *Checkpoint) Name() string { return c.path + slotName(c.ID) }

// Path is the place of the manifest, for a person; where the store is a folder, a path of the file system.
func (c *Checkpoint) Path() string { return c.place(slotName(c.ID)) }

// Open opens a file of the checkpoint from its start. What is read is not checked: a state file checks itself, and Verify
// checks all. While new checkpoints are written, [History.Retain] keeps the file there to be opened.
func (c *Checkpoint) Open(ctx context.Context, f File) (io.ReadCloser, error) {
	r, err := c.open(ctx, f)
	if err != nil {
		return nil, failed(fmt.Sprintf("open %s of checkpoint %d", f.Name, c.ID), err)
	}
	return r, nil
}

func (c *Checkpoint) open(ctx context.Context, f File) (io.ReadCloser, error) {
	r, err := c.store.Open(ctx, c.path+f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		err = c.Damaged(f, 0, err)
	}
	return r, err
}

// Check looks whether all files are there in their sizes, with one call of the store. If not, the error is a *[DamagedError].
func (c *Checkpoint) Check(ctx context.Context) error {
	sizes, err := c.sizes(ctx)
	if err != nil {
		return failed(fmt.Sprintf("check checkpoint %d", c.ID), err)
	}
	for _, f := range c.Files {
		switch size, ok := sizes[f.Name]; {
		case !ok:
			return c.Damaged(f, 0, fs.ErrNotExist)
		case size != f.Size:
			return c.Damaged(f, min(size, f.Size), fmt.Errorf("it has %d bytes, and should have %d", size, f.Size))
		}
	}
	return nil
}

// Verify reads all files, in little memory, and compares their sizes and checksums; the error is a *[DamagedError] if one is
// not as it was written. progress, if it is not nil, is told how many bytes have been read in all, of [Manifest.Bytes].
func (c *Checkpoint) Verify(ctx context.Context, progress func(bytes int64)) error {
	var read int64
	buf := make([]byte, chunk)
	for _, f := range c.Files {
		got := File{}
		r, err := c.Open(ctx, f)
		if err != nil {
			return err
		}
		for err == nil {
			var n int
			n, err = r.Read(buf)
			got.add(buf[:n])
			read += int64(n)
			if progress != nil {
				progress(read)
			}
			if err == nil {
				err = ctx.Err()
			}
		}
		_ = r.Close()
		switch {
		case err != io.EOF:
			return failed(fmt.Sprintf("read %s of checkpoint %d", f.Name, c.ID), err)
		case got.Size != f.Size:
			return c.Damaged(f, min(got.Size, f.Size), fmt.Errorf("it has %d bytes, and should have %d", got.Size, f.Size))
		case got.CRC32C != f.CRC32C:
			return c.Damaged(f, 0, errNotAsWritten)
		}
	}
	return nil
}

// Damaged is the error for what a reader of a file found in it, with the advice for this checkpoint.
func (c *Checkpoint) Damaged(f File, offset int64, err error) *DamagedError {
	return &DamagedError{Path: c.place(f.Name), Offset: offset, Err: err, Advice: c.advice}
}

// file is the file of a name; if there is none, it has no name.
func (m *Manifest) file(name string) File {
	for _, f := range m.Files {
		if f.Name == name {
			return f
		}
	}
	return File{}
}

// sizes lists the data files of a job.
func (f folder) sizes(ctx context.Context) (map[string]int64, error) {
	infos, err := f.data(ctx)
	sizes := make(map[string]int64, len(infos))
	for _, i := range infos {
		sizes[i.Name] = i.Size
	}
	return sizes, err
}

// data lists the data files of a job, by their names in its folder.
func (f folder) data(ctx context.Context) ([]Info, error) {
	listed, err := await(ctx, func() ([]Info, error) { return f.store.List(ctx, f.path+dataPrefix) })
	infos := make([]Info, len(listed))
	for i, info := range listed {
		info.Name = strings.TrimPrefix(info.Name, f.path)
		infos[i] = info
	}
	return infos, err
}
