package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	lockFile  = "LOCK"
	jobFile   = "JOB"
	epochFile = "EPOCH"
	prefix    = "chk-" // and 20 digits: names sort as numbers do
	digits    = 20
	kept      = 2 // complete checkpoints that Write leaves: the newest and the one to go back to if that is damaged
)

// ErrClosed is matched by what a [Dir] returns once it is closed.
var ErrClosed = errors.New("checkpoint: the state folder is closed")

// ErrNotAscending is matched when [Dir.Write] is given a number that is not above those of the checkpoints there are.
var ErrNotAscending = errors.New("numbers of checkpoints ascend")

// Dir is the state of one job in a local folder, held by one process at a time. Any goroutine may call its methods; Write,
// Latest and Close wait for one another.
type Dir struct {
	files files
	path  string
	job   Job
	epoch uint64

	mu    sync.Mutex // held by Write, Latest and Close
	lock  io.Closer  // nil: closed
	prune error

	retainMu sync.Mutex
	retained map[uint64]int // by ID: how many hold it
}

// Path is the folder, root/name/instance.
func (d *Dir) Path() string { return d.path }

// Job is whose state it is, with its instance filled in.
func (d *Dir) Job() Job { return d.job }

// Epoch counts the lives over this state: 1 for the first process that opened it, and one more for each that follows. No two
// have the same, also after a crash of the machine.
func (d *Dir) Epoch() uint64 { return d.epoch }

// Write makes checkpoint id of what fill writes: a whole snapshot of statecodec's, whose header names this job, its
// instance and id. It is there, whole and on the disk, when Write returns nil. On any error, that of fill included,
// nothing of it stays, and the one before it is still the latest; the same number may be tried again. Numbers ascend
// ([ErrNotAscending]). What fill writes is buffered.
//
// Then all but the newest two checkpoints are removed, except those that are retained. That some could not be removed is
// no error of Write, which tries again each time; see [Dir.PruneError].
func (d *Dir) Write(id uint64, fill func(w io.Writer) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return ErrClosed
	}
	doing := fmt.Sprintf("write checkpoint %d", id)
	ids, err := d.ids()
	if err != nil {
		return failed(doing, err)
	}
	if n := len(ids); n > 0 && id <= ids[n-1] {
		return fmt.Errorf("checkpoint: %s: there is %d already: %w", doing, ids[n-1], ErrNotAscending)
	}
	if err := replace(d.files, d.file(id), d.checked(id, fill)); err != nil {
		// It may have been renamed, and its folder not synced. What was reported as failed must not be the latest.
		_ = d.files.remove(d.file(id))
		return failed(doing, err)
	}
	d.prune = d.remove(append(ids, id))
	return nil
}

// remove removes what is neither among the newest nor retained.
func (d *Dir) remove(ids []uint64) error {
	d.retainMu.Lock()
	defer d.retainMu.Unlock()
	var errs []error
	for _, id := range ids[:max(0, len(ids)-kept)] {
		if d.retained[id] > 0 {
			continue
		}
		if err := d.files.remove(d.file(id)); err != nil {
			errs = append(errs, failed(fmt.Sprintf("remove checkpoint %d", id), err))
		}
	}
	return errors.Join(errs...)
}

// PruneError is why old checkpoints could not be removed by the last Write; nil: they could. It costs nothing but room on
// the disk, hence it is worth a warning.
func (d *Dir) PruneError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.prune
}

// Retain keeps checkpoint id from being removed by Write until release is called, as often as Retain was. Who reads a
// checkpoint while new ones are written needs it. It does not outlive the process.
func (d *Dir) Retain(id uint64) (release func()) {
	d.retainMu.Lock()
	defer d.retainMu.Unlock()
	d.retained[id]++
	return sync.OnceFunc(func() {
		d.retainMu.Lock()
		defer d.retainMu.Unlock()
		if d.retained[id]--; d.retained[id] == 0 {
			delete(d.retained, id)
		}
	})
}

// Close lets another process have the folder. It may be called again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	if err != nil {
		return failed("close the state folder", err)
	}
	return nil
}

func (d *Dir) file(id uint64) string {
	return filepath.Join(d.path, fmt.Sprintf("%s%0*d", prefix, digits, id))
}

// ids returns the numbers of the checkpoints there are, ascending.
func (d *Dir) ids() ([]uint64, error) {
	names, err := d.files.list(d.path)
	var ids []uint64
	for _, name := range names {
		if s, ok := strings.CutPrefix(name, prefix); ok && len(s) == digits {
			if id, err := strconv.ParseUint(s, 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids, err
}
