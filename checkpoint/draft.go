package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// chunk is what is collected for the store, bytes. Writes that are larger go as they are.
const chunk = 64 << 10

// Draft is a checkpoint that is being written. It has one file of the role state, which Put makes, and any number of others.
// Any goroutine may call its methods while the function that was given to [History.Write] runs; afterwards they fail.
type Draft struct {
	h       *History
	sources map[string]source // files that may be shared, by name

	mu      sync.Mutex
	m       *Manifest
	written uint64   // entries in the state file
	made    []string // data files that may be there
	over    bool
}

// source is a file that a checkpoint of this job names.
type source struct {
	File
	id   uint64 // of the checkpoint
	kept bool   // as it is
}

// Description is what a manifest tells of what lies in its files.
type Description struct {
	Final     bool // taken when nothing more was sent
	Operators []Operator
	KeyGroups KeyGroups
	Entries   uint64 // held, in all files
	Written   uint64 // of them in the state file
}

var errDraftOver = errors.New("the draft's Write has ended")

// ID is the number that the checkpoint will have.
func (d *Draft) ID() uint64 { return d.m.ID }

// Epoch is that of this life.
func (d *Draft) Epoch() uint64 { return d.m.Epoch }

// Describe sets what the manifest tells. It replaces what was set before.
func (d *Draft) Describe(x Description) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return
	}
	d.m.Final, d.m.Operators, d.m.KeyGroups, d.m.Entries = x.Final, slices.Clone(x.Operators), x.KeyGroups, x.Entries
	d.written = x.Written
}

// Put makes a data file of what fill writes, which is buffered. fill runs on this goroutine; an error or a panic of it
// passes.
func (d *Draft) Put(ctx context.Context, role Role, fill func(io.Writer) error) (File, error) {
	f, err := d.write(ctx, fill)
	f.Role = role
	return d.add(f, err)
}

// Share names a file that another checkpoint of this job names already, as a log file. Nothing is copied. The files of a
// checkpoint that is kept as it is ([NoClaim]) are refused: CopyFrom copies them.
func (d *Draft) Share(f File) error {
	s, ok := d.sources[f.Name]
	switch {
	case !ok:
		return fmt.Errorf("share %s: no checkpoint of this job names it", f.Name)
	case s.kept:
		return fmt.Errorf("share %s: checkpoint %d, which is kept as it is, names it: copy it", f.Name, s.id)
	case s.Size != f.Size || s.CRC32C != f.CRC32C:
		return fmt.Errorf("share %s: checkpoint %d has another file of that name", f.Name, s.id)
	}
	s.Role = RoleLog
	_, err := d.add(s.File, nil)
	return err
}

// Import makes a data file of a local one, whose size, CRC32C and entries f tells: by a link to it where the store is an
// [Importer], else of its bytes, whose checksum is compared. The local file must not change any more; it may be removed
// once Import has returned.
func (d *Draft) Import(ctx context.Context, path string, f File) (File, error) {
	if store, ok := d.h.store.(Importer); ok {
		name, err := d.name()
		if err == nil {
			err = awaitErr(ctx, func() error { return store.Import(ctx, path, d.h.path+name) })
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			f.Name, f.Role = name, RoleLog
			return d.add(f, err)
		}
	}
	f, err := d.copy(ctx, f, func() (io.ReadCloser, error) { return os.Open(path) })
	if errors.Is(err, errNotAsWritten) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return d.add(f, err)
}

// CopyFrom makes a data file of a file of a checkpoint, which may be another job's or lie in another store: by
// [Store.Copy] within a store, else of its bytes, whose checksum is compared. A file that is missing, or not as it was
// written, is a *[DamagedError].
func (d *Draft) CopyFrom(ctx context.Context, c *Checkpoint, f File) (File, error) {
	from := c.file(f.Name)
	if from.Name == "" {
		return File{}, fmt.Errorf("copy %s: %s names no such file", f.Name, c.Path())
	}
	if sameStore(c.store, d.h.store) {
		name, err := d.name()
		if err == nil {
			err = awaitErr(ctx, func() error { return d.h.store.Copy(ctx, c.path+from.Name, d.h.path+name) })
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = c.Damaged(from, 0, err)
		}
		f = from
		f.Name, f.Role = name, RoleLog
		return d.add(f, err)
	}
	f, err := d.copy(ctx, from, func() (io.ReadCloser, error) { return c.open(ctx, from) })
	if errors.Is(err, errNotAsWritten) {
		err = c.Damaged(from, 0, err)
	}
	return d.add(f, err)
}

// copy writes what open opens. That it was not what is wanted is errNotAsWritten.
func (d *Draft) copy(ctx context.Context, want File, open func() (io.ReadCloser, error)) (File, error) {
	f, err := await(ctx, func() (File, error) {
		return d.write(ctx, func(w io.Writer) error {
			r, err := open()
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(w, r)
			return err
		})
	})
	if err == nil && (f.Size != want.Size || f.CRC32C != want.CRC32C) {
		err = errNotAsWritten
	}
	f.Role, f.Entries = RoleLog, want.Entries
	return f, err
}

// write makes a data file, not named yet.
func (d *Draft) write(ctx context.Context, fill func(io.Writer) error) (File, error) {
	name, err := d.name()
	if err != nil {
		return File{}, err
	}
	f := File{Name: name}
	err = put(ctx, d.h.store, d.h.path+name, func(w io.Writer) error {
		b := bufio.NewWriterSize(&meter{w: w, f: &f}, chunk)
		if err := fill(b); err != nil {
			return err
		}
		return b.Flush()
	})
	return f, err
}

// meter sums up what goes through it.
type meter struct {
	w io.Writer
	f *File
}

func (m *meter) Write(p []byte) (int, error) {
	m.f.add(p)
	return m.w.Write(p)
}

func (f *File) add(p []byte) {
	f.Size += int64(len(p))
	f.CRC32C = CRC(crc32.Update(uint32(f.CRC32C), castagnoli, p))
}

// name is that of a new data file, never given before.
func (d *Draft) name() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return "", errDraftOver
	}
	d.h.files++
	name := dataName(d.h.epoch, d.h.files)
	d.made = append(d.made, name)
	return name, nil
}

// add names a file in the manifest, unless an error kept it from being made.
func (d *Draft) add(f File, err error) (File, error) {
	if err != nil {
		return File{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return File{}, errDraftOver
	}
	d.m.Files = append(d.m.Files, f)
	return f, nil
}

// end keeps goroutines that fill has left behind from changing anything.
func (d *Draft) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
}

// seal ends the draft and looks whether the store has what it said that it has, and still what is shared. It returns the
// manifest, and the files that are the draft's no more: those that it names.
func (d *Draft) seal(ctx context.Context) (text encoded, files []string, err error) {
	d.end()
	named := map[string]bool{}
	for i, f := range d.m.Files {
		named[f.Name] = true
		if f.Role == RoleState {
			d.m.Files[i].Entries = d.written
		}
	}
	if text, err = d.m.encode(); err != nil {
		return text, nil, err
	}
	sizes, err := d.h.sizes(ctx)
	if err != nil {
		return text, nil, err
	}
	for _, f := range d.m.Files {
		if size, ok := sizes[f.Name]; !ok || size != f.Size {
			return text, nil, fmt.Errorf("%s: it should have %d bytes, and the store has %d", f.Name, f.Size, size)
		}
	}
	var rest []string
	for _, name := range d.made {
		if named[name] {
			files = append(files, name)
		} else {
			rest = append(rest, name) // of calls that failed
		}
	}
	d.made = rest
	return text, files, nil
}

// discard ends the draft and deletes what is still its own.
func (d *Draft) discard(ctx context.Context) {
	d.end()
	d.h.tidy(ctx, d.made)
}

// sources are the files that a draft may share, and those that it may not.
func (h *History) sources() map[string]source {
	sources := map[string]source{}
	for _, s := range h.log {
		if !s.complete() {
			continue
		}
		for _, f := range s.m.Files {
			if !sources[f.Name].kept {
				sources[f.Name] = source{f, s.id, h.keep[s.id]}
			}
		}
	}
	return sources
}
