package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// OpenDir opens the state of a job, which lies in the folder root/name/instance, and begins a new epoch over it. The folder
// is created (0700) if it is not there.
//
// Errors: a *[NameError] for each name of the job that is not allowed; *[LockedError] while another process, or another
// Dir of this one, has the folder; *[OtherJobError] if it belongs to another job; *[DamagedError] if JOB or EPOCH makes no
// sense; else an error of the file system, wrapped.
func OpenDir(root string, job Job) (*Dir, error) { return openDir(disk{}, root, job) }

func openDir(on files, root string, job Job) (*Dir, error) {
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("checkpoint: job: %w", err)
	}
	job = job.orDefault()
	d := &Dir{files: on, path: filepath.Join(root, job.Name, job.Instance), job: job, retained: map[uint64]int{}}
	if err := mkdirs(on, d.path); err != nil {
		return nil, failed("create the state folder", err)
	}
	lock, err := on.lock(filepath.Join(d.path, lockFile))
	if locked := (*LockedError)(nil); errors.As(err, &locked) {
		return nil, err
	}
	if err != nil {
		return nil, failed("lock the state folder", err)
	}
	if err := d.enter(root); err != nil {
		_ = lock.Close()
		return nil, err
	}
	d.lock = lock
	return d, nil
}

// enter makes the folder that of this life.
func (d *Dir) enter(root string) error {
	names, err := d.files.list(d.path)
	if err != nil {
		return failed("open the state folder", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, temporary) && ours(strings.TrimSuffix(name, temporary)) {
			if err := d.files.remove(filepath.Join(d.path, name)); err != nil {
				return failed("remove what a crash left", err)
			}
		}
	}
	if slices.Contains(names, jobFile) {
		err = d.checkJob()
	} else {
		err = d.writeJob(root)
	}
	if err != nil {
		return err
	}
	return d.nextEpoch(slices.Contains(names, epochFile))
}

func ours(name string) bool {
	return name == jobFile || name == epochFile || strings.HasPrefix(name, prefix)
}

func (d *Dir) checkJob() error {
	path := filepath.Join(d.path, jobFile)
	b, err := d.small(path)
	if err != nil {
		return failed("read whose state it is", err)
	}
	var found Job
	if err := json.Unmarshal(b, &found); err != nil {
		return &DamagedError{Path: path, Err: err, Advice: "if the folder is this job's, remove the file: it is written anew"}
	}
	if found != d.job {
		return &OtherJobError{Path: path, Found: found, Want: d.job}
	}
	return nil
}

// writeJob is the end of the first opening: once the file is there, so are all folders above it.
func (d *Dir) writeJob(root string) error {
	if err := syncAbove(d.files, root, d.path); err != nil {
		return failed("create the state folder", err)
	}
	b, err := json.Marshal(d.job)
	if err == nil {
		err = replace(d.files, filepath.Join(d.path, jobFile), func(w io.Writer) error {
			_, err := w.Write(append(b, '\n'))
			return err
		})
	}
	if err != nil {
		return failed("record whose state it is", err)
	}
	return nil
}

func (d *Dir) nextEpoch(exists bool) error {
	path := filepath.Join(d.path, epochFile)
	if exists {
		b, err := d.small(path)
		if err != nil {
			return failed("read the epoch", err)
		}
		d.epoch, err = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 63)
		if err != nil {
			return &DamagedError{Path: path, Err: err, Advice: "write a number into it that no epoch of this state was above"}
		}
	}
	d.epoch++
	err := replace(d.files, path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, d.epoch)
		return err
	})
	if err != nil {
		return failed("begin a new epoch", err)
	}
	return nil
}

// small reads one of the small files.
func (d *Dir) small(path string) ([]byte, error) {
	f, err := d.files.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4<<10))
}

// mkdirs creates a folder and those above it. That something else has the name shows when the folder is used.
func mkdirs(on files, path string) error {
	err := on.mkdir(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err := mkdirs(on, filepath.Dir(path)); err != nil {
			return err
		}
		err = on.mkdir(path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// syncAbove makes sure that no crash takes away a folder that path lies in, made by this process or by one that crashed.
// Folders above root that cannot be synced are those of others: where we could make a folder, we can sync as well.
func syncAbove(on files, root, path string) error {
	root = filepath.Clean(root)
	for at, above := path, false; filepath.Dir(at) != at; {
		above = above || at == root
		at = filepath.Dir(at)
		err := on.syncDir(at)
		if above && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
