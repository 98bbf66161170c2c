package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
)

// tale is what a process was told of the state, over all its lives.
type tale struct {
	Epoch     uint64 // the highest that an opening returned
	Complete  uint64 // the last checkpoint that Write said is complete
	Attempted uint64 // the last that was begun
	Claim     bool   // it begins with the state of another job, which it claims
}

// live opens the state, looks at the newest checkpoint, sweeps and writes some more, until the first error.
func (s *tale) live(disk files.FS, root string, writes int) error {
	ctx := context.Background()
	l := OpenLocalOn(disk, root)
	h, err := Open(ctx, l, orders, Options{})
	if err != nil {
		return err
	}
	if h.Epoch() <= s.Epoch {
		return fmt.Errorf("epoch %d was given before", h.Epoch())
	}
	s.Epoch = h.Epoch()
	last, err := s.check(ctx, h)
	if err != nil {
		return err
	}
	if last != nil {
		err = h.RestoredFrom(last, Continue)
	} else if s.Claim {
		if last, err = At(ctx, l, "invoices/0/"+slotName(2)); err == nil {
			err = errors.Join(last.Verify(ctx, nil), h.RestoredFrom(last, Claim))
		}
	}
	if err != nil {
		return err
	}
	if _, err := h.Sweep(ctx); err != nil {
		return err
	}
	for range writes {
		c, err := h.Write(ctx, func(ctx context.Context, d *Draft) error {
			s.Attempted = d.ID()
			return errors.Join(s.carry(ctx, d, last), s.spill(ctx, d, disk, l), state(ctx, d))
		})
		if err != nil {
			return err
		}
		s.Complete, last = c.ID, c
		if err := h.PruneError(); err != nil {
			return err
		}
	}
	return h.Close()
}

// carry makes a draft of the newest files of the checkpoint before it: shared, or copied when they are another job's.
func (s *tale) carry(ctx context.Context, d *Draft, last *Checkpoint) (err error) {
	if last == nil {
		return nil
	}
	for _, f := range last.Files[max(0, len(last.Files)-3):] {
		if last.Job == orders.Name {
			err = errors.Join(err, d.Share(f))
		} else {
			_, cerr := d.CopyFrom(ctx, last, f)
			err = errors.Join(err, cerr)
		}
	}
	return err
}

// spill writes a local file, which it does not sync, imports it and removes it.
func (s *tale) spill(ctx context.Context, d *Draft, disk files.FS, l *Local) error {
	path := l.Path(fmt.Sprintf("orders/0/spill-%d-%d", d.Epoch(), d.ID()))
	w, err := disk.Create(path)
	if err != nil {
		return err
	}
	f := File{}
	err = text("spilled")(io.MultiWriter(w, &meter{w: io.Discard, f: &f}))
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if _, err := d.Import(ctx, path, f); err != nil {
		return err
	}
	return disk.Remove(path)
}

// check says whether the newest checkpoint is the last complete one, or the one after it, and whether those that are
// retained are whole.
func (s *tale) check(ctx context.Context, h *History) (*Checkpoint, error) {
	c, err := h.Newest(ctx)
	switch {
	case err != nil:
		return nil, err
	case c == nil && s.Complete > 0:
		return nil, errors.New("a complete checkpoint is lost")
	case c == nil:
		return nil, nil
	case c.ID != s.Complete && (c.ID < s.Complete || c.ID > s.Attempted):
		return nil, fmt.Errorf("the newest is %d, not %d or what was begun since: %d", c.ID, s.Complete, s.Attempted)
	}
	s.Complete = c.ID
	list, err := List(ctx, h.store, orders)
	for _, c := range list[max(0, len(list)-defaultRetained):] {
		err = errors.Join(err, c.Verify(ctx, nil))
	}
	return c, err
}

// clean says whether nothing lies there that is not needed. Files that were spilled are not the state's.
func (s *tale) clean(disk files.FS, root string) error {
	ctx := context.Background()
	l := OpenLocalOn(disk, root)
	named := map[string]bool{"orders/0/LOCK": true}
	list, err := List(ctx, l, orders)
	for _, c := range list {
		named[c.path+slotName(c.ID)] = true
		for _, f := range c.Files {
			named[c.path+f.Name] = true
		}
	}
	infos, lerr := l.List(ctx, "orders/")
	err = errors.Join(err, lerr)
	records := 0
	for _, i := range infos {
		if named[i.Name] || strings.Contains(i.Name, "/spill-") {
			continue
		}
		if records++; records > 1 || !strings.Contains(i.Name, "/"+slotPrefix) {
			err = errors.Join(err, fmt.Errorf("%s is left", i.Name))
		}
	}
	if len(list) > defaultRetained {
		err = errors.Join(err, fmt.Errorf("%d checkpoints are left", len(list)))
	}
	if _, claimed := At(ctx, l, "invoices/0/"+slotName(2)); claimed == nil {
		err = errors.Join(err, errors.New("what was claimed is left"))
	}
	return err
}

// newDisk is one on which another job has left its state, if that is to be claimed.
func newDisk(t *testing.T, claim bool) *crashfs.FS {
	disk := crashfs.New("/var")
	if claim {
		h, err := Open(t.Context(), OpenLocalOn(disk, localRoot), invoices, Options{})
		require.NoError(t, err)
		write(t, h, full)
		require.NoError(t, h.Close())
	}
	return disk
}

// crashed lives two lives and crashes at the n-th operation. It returns nil when there are fewer.
func crashed(t *testing.T, claim bool, n int) (*crashfs.FS, tale) {
	disk, told := newDisk(t, claim), tale{Claim: claim}
	disk.CrashAt(disk.Ops() + n)
	err := told.live(disk, localRoot, 4)
	if err == nil {
		err = told.live(disk, localRoot, 1)
	}
	if !disk.Failed() {
		require.NoError(t, err)
		return nil, told
	}
	requireCrash(t, disk, err)
	return disk, told
}

// requireCrash: the process may not have seen it, if all that was left to do was to remove a temporary name or the lock.
func requireCrash(t *testing.T, disk *crashfs.FS, err error) {
	t.Helper()
	if err != nil {
		require.ErrorIs(t, err, crashfs.ErrCrash)
	}
}

// A crash at each operation of two lives, then one in each of the two that recover, and then a life without.
func TestAfterACrashAnywhereTheLastCompleteCheckpointIsThereWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, claim := range []bool{false, true} {
		crashes := 0
		for n := 1; ; n++ {
			if claim {
				n += r.IntN(5) // what differs is the begin of the first life
			}
			disk, before := crashed(t, claim, n)
			if disk == nil {
				break
			}
			trace := disk.Trace()
			at := trace[len(trace)-1]
			for _, luck := range []*rand.Rand{nil, r} {
				after := before
				next := disk.Crashed(luck)
				for range 2 { // or without a crash, if the operation is beyond the last
					next.CrashAt(1 + r.IntN(120))
					err := after.live(next, localRoot, 1)
					if !next.Failed() {
						require.NoError(t, err, at)
					} else {
						crashes++
						requireCrash(t, next, err)
					}
					next = next.Crashed(luck)
				}
				require.NoError(t, after.live(next, localRoot, 3), at)
				require.NoError(t, after.clean(next, localRoot), at)
			}
		}
		require.Greater(t, crashes, 200)
	}
}

// What crashes left is recovered by another process, on the real disk.
func TestAnotherProcessRecoversWhatCrashesLeft(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	root := t.TempDir()
	dumped := 0
	for _, claim := range []bool{false, true} {
		for n := 1; ; n += 1 + r.IntN(19) {
			disk, told := crashed(t, claim, n)
			if disk == nil {
				break
			}
			at := filepath.Join(root, fmt.Sprint(dumped))
			require.NoError(t, disk.Crashed(r).Dump(at))
			b, err := json.Marshal(told)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(at, "told"), b, 0o600))
			dumped++
		}
	}
	require.Greater(t, dumped, 30)
	out, err := other(t, "TestRecover", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("%d recovered\n", dumped))
}

func TestRecover(t *testing.T) {
	root := stateToldOf(t)
	recovered := 0
	for ; ; recovered++ {
		at := filepath.Join(root, fmt.Sprint(recovered))
		b, err := os.ReadFile(filepath.Join(at, "told"))
		if os.IsNotExist(err) {
			break
		}
		require.NoError(t, err)
		var told tale
		require.NoError(t, json.Unmarshal(b, &told))
		state := filepath.Join(at, localRoot)
		require.NoError(t, told.live(files.OS{}, state, 1), at)
		require.NoError(t, told.clean(files.OS{}, state), at)
	}
	fmt.Println(recovered, "recovered")
}

// An operation fails, as on a full disk.
func TestAFailureAnywhereLeavesTheLastCompleteCheckpointAndTheNextLifeWorks(t *testing.T) {
	for n := 1; ; n++ {
		disk, told := newDisk(t, true), tale{Claim: true}
		require.NoError(t, told.live(disk, localRoot, 2))
		disk.FailAt(disk.Ops()+n, errStore)
		err := told.live(disk, localRoot, 2)
		if !disk.Failed() {
			require.NoError(t, err)
			break
		}
		trace := disk.Trace()
		if err != nil {
			require.ErrorIs(t, err, errStore)
		}
		disk = disk.Crashed(nil) // the lock goes with the process
		require.NoError(t, told.live(disk, localRoot, 3), "%s", trace)
		require.NoError(t, told.clean(disk, localRoot), "%s", trace)
	}
}
