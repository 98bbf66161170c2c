package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-go/spillway/statecodec"
)

const (
	slotPrefix = "chk-" // and 20 digits: names sort as numbers do
	digits     = 20
	dataPrefix = "data/"
	lockName   = "LOCK"
)

func slotName(id uint64) string { return fmt.Sprintf("%s%0*d", slotPrefix, digits, id) }

func slotID(name string) (id uint64, ok bool) {
	s, ok := strings.CutPrefix(name, slotPrefix)
	id, err := strconv.ParseUint(s, 10, 64)
	return id, ok && len(s) == digits && err == nil && id < maxNumber
}

// dataName names the n-th data file of an epoch. Epochs and numbers are never used again, so that who writes late, or comes
// back from a long pause, harms no file of others.
func dataName(epoch, n uint64) string { return fmt.Sprintf("%s%d-%d", dataPrefix, epoch, n) }

func dataEpoch(name string) (epoch uint64, ok bool) {
	s, ok := strings.CutPrefix(name, dataPrefix)
	e, n, cut := strings.Cut(s, "-")
	epoch, err := strconv.ParseUint(e, 10, 64)
	number, nerr := strconv.ParseUint(n, 10, 64)
	return epoch, ok && cut && err == nil && nerr == nil && dataName(epoch, number) == name
}

// folder is where the state of a job lies in a store.
type folder struct {
	store Store
	path  string // ends with a slash
}

func folderOf(s Store, job Job) folder {
	return folder{store: s, path: job.Name + "/" + job.Instance + "/"}
}

// same says whether two folders are one.
func (f folder) same(g folder) bool { return f.path == g.path && sameStore(f.store, g.store) }

// place is a name in the folder for a person.
func (f folder) place(name string) string {
	if s := describe(f.store); s != "" {
		return s + "/" + f.path + name
	}
	return f.path + name
}

// describe is what a store calls itself.
func describe(s Store) string {
	if s, ok := s.(fmt.Stringer); ok {
		return s.String()
	}
	return ""
}

// sameStore says whether two are one. Those that cannot be compared are taken for two.
func sameStore(a, b Store) bool { return reflect.TypeOf(a).Comparable() && a == b }

// slot is a place in the log of a job: a manifest or an epoch record.
type slot struct {
	id   uint64
	size int64
	m    *Manifest // nil: it cannot be read
	crc  CRC       // that the manifest ends with
	at   int64     // where it is damaged
	err  error     // why it cannot be read
	void bool      // a stale process wrote it: it counts for nothing
}

func (s *slot) complete() bool { return s.m != nil && s.m.Kind == KindCheckpoint && !s.void }
func (s *slot) record() bool   { return s.m != nil && s.m.Kind == KindEpoch && !s.void }

// slots lists the log and reads what is not known yet, or is not as it was. Epochs ascend along it; what breaks this was
// written by a process that did not know yet that it was stale, and is void.
func (f folder) slots(ctx context.Context, known []slot) ([]slot, error) {
	infos, err := await(ctx, func() ([]Info, error) { return f.store.List(ctx, f.path+slotPrefix) })
	if err != nil {
		return nil, err
	}
	var slots []slot
	var epoch uint64
	for _, i := range infos {
		id, ok := slotID(strings.TrimPrefix(i.Name, f.path))
		if !ok {
			continue // not ours
		}
		s, ok := at(known, id)
		if !ok || s.size != i.Size {
			s, err = await(ctx, func() (slot, error) { return f.read(ctx, id) })
			s.size = i.Size
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		if s.m != nil {
			s.void = s.void || s.m.Epoch < epoch
			epoch = max(epoch, s.m.Epoch)
		}
		slots = append(slots, s)
	}
	return slots, nil
}

// read reads a slot. Only what the store says is an error: a slot that makes no sense is one.
func (f folder) read(ctx context.Context, id uint64) (slot, error) {
	r, err := f.store.Open(ctx, f.path+slotName(id))
	if err != nil {
		return slot{}, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return slot{}, err
	}
	s := slot{id: id}
	s.m, s.crc, s.at, s.err = decode(b)
	if s.m != nil && s.m.ID != id {
		s.err = fmt.Errorf("it is that of checkpoint %d, under another name", s.m.ID)
		s.m = nil
	}
	return s, nil
}

func at(slots []slot, id uint64) (slot, bool) {
	i, ok := slices.BinarySearchFunc(slots, id, func(s slot, id uint64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return slot{}, false
	}
	return slots[i], true
}

// next is the number of the slot after the last, and the epoch of who takes it: above all epochs there were, that of a slot
// which cannot be read included, since no slot raises it by more than one.
func next(slots []slot) (id, epoch uint64) {
	var last, readable uint64
	for _, s := range slots {
		last = s.id
		if s.m != nil {
			readable, epoch = s.id, max(epoch, s.m.Epoch)
		}
	}
	return last + 1, epoch + last + 1 - readable
}

// names are the data files that slots name.
func names(slots []slot) map[string]bool {
	named := map[string]bool{}
	for _, s := range slots {
		if s.m != nil {
			for _, f := range s.m.Files {
				named[f.Name] = true
			}
		}
	}
	return named
}

// fault is the error of a slot that cannot be read.
func (f folder) fault(slots []slot, s slot) error {
	path := f.place(slotName(s.id))
	if newer := (*statecodec.NewerError)(nil); errors.As(s.err, &newer) {
		return fmt.Errorf("checkpoint: %s: %w", path, newer)
	}
	return &DamagedError{Path: path, Offset: s.at, Err: s.err, Advice: goBack(slots, s.id)}
}

// goBack says what to do when a checkpoint is damaged.
func goBack(slots []slot, id uint64) string {
	for _, s := range slices.Backward(slots) {
		if s.id < id && s.complete() {
			return fmt.Sprintf("move %s away (or restore a named one: --restore %d) to go back to checkpoint %d, "+
				"at the price of duplicates: what was settled since is sent again", slotName(id), s.id, s.id)
		}
	}
	return fmt.Sprintf("there is none before it: move %s away to begin without state: a source that can be read again is, "+
		"from its beginning; what it held of any other is lost", slotName(id))
}

// checkpoint makes one of a slot.
func (f folder) checkpoint(slots []slot, s slot) *Checkpoint {
	return &Checkpoint{Manifest: *s.m, folder: f, crc: s.crc, advice: goBack(slots, s.id)}
}
