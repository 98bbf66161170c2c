package asyncsink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/internal/files/crashfs"
	"github.com/spillway-go/spillway/statecodec"
)

// crashing is a job on a disk that forgets what was not synced: it spills, takes checkpoints, and goes on from the newest one.
type crashing struct {
	t      *testing.T
	rig    *rig
	disk   *crashfs.FS
	random *rand.Rand

	history *checkpoint.History
	files   map[string]checkpoint.File // of the newest checkpoint
	read    map[uint64]int             // entries read when a checkpoint was taken, by its number
	next    int
}

const crashTotal, crashKeys = 120, 4

// live is one life, until it has written everything, or an operation of the disk fails.
func (c *crashing) live() error {
	ctx := c.t.Context()
	store := checkpoint.OpenLocalOn(c.disk, "/var/state")
	h, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "job"}, checkpoint.Options{})
	if err != nil {
		return err
	}
	defer h.Close()
	c.history = h
	config := Config{
		Order: PerKey, Batch: limits.Batch{Entries: 3, Age: time.Millisecond}, Held: limits.Held{Entries: 8},
		InFlight: limits.InFlight{Controller: limits.Static}, Retry: limits.Retry{Base: time.Millisecond, Cap: 2 * time.Millisecond},
		Spill: Spill{Dir: store.Path("job/0/spill"), Bytes: 4 << 20}, disk: c.disk,
	}
	last, err := h.Newest(ctx)
	if err != nil {
		return err
	}
	c.next = 0
	if last != nil {
		if err := h.RestoredFrom(last, checkpoint.Continue); err != nil {
			return err
		}
		c.next = c.read[last.ID]
		config.Restore = c.restore(last)
	}
	w, err := c.rig.tryOpen(c.rig.to, config)
	if err != nil {
		return err
	}
	c.rig.Writer = w
	defer func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if left, _ := w.Close(ended); left != nil {
			left.Close()
		}
	}()
	for c.next < crashTotal && !c.disk.Failed() {
		for range 1 + c.random.IntN(30) {
			if _, err := w.TryWrite(big(c.next, crashKeys)); err != nil {
				if !errors.Is(err, ErrFull) {
					return err
				}
				c.rig.pass(5 * time.Millisecond)
				break
			}
			if c.next++; c.next == crashTotal {
				break
			}
		}
		if c.random.IntN(3) == 0 {
			c.rig.pass(time.Millisecond)
		}
		if err := c.checkpoint(); err != nil {
			return err
		}
		if _, err := h.Sweep(ctx); err != nil {
			return err
		}
	}
	_, err = w.Flush(ctx)
	return err
}

func (c *crashing) restore(last *checkpoint.Checkpoint) *Restore {
	c.files = map[string]checkpoint.File{}
	for _, f := range last.Files {
		c.files[f.Name] = f
	}
	all := c.files
	open := func(name string) (io.ReadCloser, error) { return last.Open(context.Background(), all[name]) }
	name := last.State().Name
	return &Restore{Checkpoint: last.ID, Name: name, Open: func() (io.ReadCloser, error) { return open(name) }, File: open}
}

// checkpoint takes one, as the runner does.
func (c *crashing) checkpoint() error {
	s, err := c.rig.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	var changes *Changes[string]
	shared := &drafted{c: c, files: map[string]checkpoint.File{}}
	var state checkpoint.File
	at := c.next
	_, err = c.history.Write(c.t.Context(), func(ctx context.Context, d *checkpoint.Draft) (err error) {
		c.read[d.ID()] = at
		shared.d = d
		if changes, err = s.Changes(ctx, shared); err != nil {
			return err
		}
		state, err = d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error {
			enc, err := statecodec.NewEncoder(w, statecodec.Header{Job: "job"})
			if err != nil {
				return err
			}
			return errors.Join(changes.Encode(enc), enc.Close())
		})
		return err
	})
	if err != nil {
		return err
	}
	shared.files[state.Name] = state
	c.files = shared.files
	changes.Saved(state.Name)
	c.rig.settle()
	return nil
}

type drafted struct {
	c     *crashing
	d     *checkpoint.Draft
	files map[string]checkpoint.File
}

func (x *drafted) Share(ctx context.Context, f File) (string, error) {
	got, err := x.c.files[f.Name], error(nil)
	if f.Name == "" {
		got, err = x.d.Import(ctx, f.Path, checkpoint.File{Size: f.Size, CRC32C: checkpoint.CRC(f.CRC32C), Entries: uint64(f.Entries)})
	} else {
		err = x.d.Share(got)
	}
	x.files[got.Name] = got
	return got.Name, err
}

// A crash at every operation on files of spilling, checkpoints, retention, sweeping and restoring, after which the disk has
// what was synced and some of the rest: the next life goes on, and in the end every entry is delivered, in order.
func TestACrashAtAnyFileOperationOfSpillAndCheckpointLosesNothing(t *testing.T) {
	ops := 1
	for k := 1; k <= ops; k++ {
		synctest.Test(t, func(t *testing.T) {
			to := &destination{}
			random := rand.New(rand.NewPCG(uint64(k), 5))
			to.answers(to.storing(func(*Batch[string], int) Kind {
				return []Kind{Delivered, Delivered, Throttled}[to.count()%3]
			}))
			c := &crashing{t: t, rig: &rig{t: t, to: to}, disk: crashfs.New("/var"), random: random, read: map[uint64]int{}}
			c.disk.CrashAt(k)
			err := c.live()
			if !c.disk.Failed() {
				require.NoError(t, err)
				ops = k // the whole story without a crash: the last
			} else {
				ops = k + 1
				c.disk = c.disk.Crashed(random)
				if random.IntN(2) == 0 { // and once more, while it recovers
					c.disk.CrashAt(1 + random.IntN(60))
					if err := c.live(); c.disk.Failed() {
						c.disk = c.disk.Crashed(random)
					} else {
						require.NoError(t, err, "op %d", k)
					}
				}
				require.NoError(t, c.live(), "op %d", k)
			}
			for key := range crashKeys {
				var want []string
				for i := range crashTotal {
					if e := big(i, crashKeys); keyOf(e) == fmt.Sprintf("k%d", key) {
						want = append(want, e)
					}
				}
				require.True(t, slices.Equal(want, firsts(to.got(), fmt.Sprintf("k%d", key))), "crash at operation %d: key %d lost entries or their order", k, key)
			}
		})
		if ops == k {
			break
		}
	}
	require.Greater(t, ops, 100)
	t.Logf("%d operations", ops)
}
