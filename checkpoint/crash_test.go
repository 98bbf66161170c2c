package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

const root = "/var/lib/state" // of which /var is there

const some = 3 // entries in each checkpoint

var orders = Job{Name: "orders", Instance: "0"}

// snapshotOf writes a snapshot with some entries.
func snapshotOf(job Job, id uint64) func(io.Writer) error {
	return func(w io.Writer) error {
		e, err := statecodec.NewEncoder(w, statecodec.Header{Job: job.Name, Instance: job.Instance, Checkpoint: id})
		if err != nil {
			return err
		}
		if err := e.Begin(statecodec.Section{Operator: "sink", Kind: statecodec.KindBuffer}); err != nil {
			return err
		}
		for i := range uint64(some) {
			if err := e.Entry(&statecodec.Entry{Seq: i, Data: []byte("data")}); err != nil {
				return err
			}
		}
		return e.Close()
	}
}

// story is what a process was told, over all its lives.
type story struct {
	epoch     uint64 // the highest that an opening returned
	complete  uint64 // the last checkpoint that Write said is complete
	attempted uint64 // the last that was begun
}

// live opens the state, looks at the latest checkpoint and writes some more, until the first error.
func (s *story) live(m *model, writes int) error {
	d, err := openDir(m, root, orders)
	if err != nil {
		return err
	}
	if d.epoch <= s.epoch {
		return errors.New("an epoch was given twice")
	}
	s.epoch = d.epoch
	if err := s.check(d); err != nil {
		return err
	}
	for range writes {
		s.attempted++
		if err := d.Write(s.attempted, snapshotOf(orders, s.attempted)); err != nil {
			return err
		}
		s.complete = s.attempted
	}
	return d.Close()
}

// check says whether the latest checkpoint is the last complete one, or the one after it.
func (s *story) check(d *Dir) error {
	c, err := d.Latest()
	switch {
	case err != nil:
		return err
	case c == nil && s.complete > 0:
		return errors.New("a complete checkpoint is lost")
	case c == nil:
		s.attempted = 0
		return nil
	case c.ID < s.complete || c.ID > s.attempted:
		return errors.New("the latest is an older one, or one that was never written")
	case c.Header.Checkpoint != c.ID || c.Totals.Entries != some:
		return fmt.Errorf("the latest is another one: %+v", c)
	}
	s.complete, s.attempted = c.ID, c.ID
	return nil
}

// lucks are how a crash may treat what was not synced: nothing of it survives, all, or some.
func lucks(r *rand.Rand, n int) []func() bool {
	l := []func() bool{func() bool { return false }, func() bool { return true }}
	for range n {
		l = append(l, func() bool { return r.IntN(2) == 0 })
	}
	return l
}

var errCrash = errors.New("crash")

// from makes the model fail from its n-th operation on: the process is gone.
func (m *model) from(n int) *model {
	m.fail, m.err = func(op int) bool { return op >= n }, errCrash
	return m
}

// requireCrash: the process may not have seen it, if all that was left to do was to remove old checkpoints.
func requireCrash(t *testing.T, m *model, err error) {
	t.Helper()
	if err != nil || !strings.HasPrefix(m.what[len(m.what)-1], "remove") {
		require.ErrorIs(t, err, errCrash)
	}
}

// A crash before each operation of two lives, then one before each of the life that recovers, and then a life without.
func TestAfterACrashAnywhereTheLastCompleteCheckpointIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	crashes := 0
	for n := 1; ; n++ {
		m, before := newModel().from(n), story{}
		err := before.live(m, 4)
		if err == nil {
			err = before.live(m, 1)
		}
		if !m.failed {
			require.NoError(t, err)
			break
		}
		requireCrash(t, m, err)
		for _, luck := range lucks(r, 2) {
			for k := 1; ; k++ {
				again, after := m.crashed(luck, r).from(k), before
				err := after.live(again, 1)
				if !again.failed {
					require.NoError(t, err, "crash at %d: %s", n, m.what[n-1])
					require.Empty(t, again.names(temporary), "crash at %d: %s", n, m.what[n-1])
					require.LessOrEqual(t, len(again.names(prefix)), kept)
					break
				}
				requireCrash(t, again, err)
				crashes++
				for _, luck := range lucks(r, 0) {
					last := after
					require.NoError(t, last.live(again.crashed(luck, r), 1), "crash at %d: %s; then at %d: %s", n, m.what[n-1], k, again.what[k-1])
				}
			}
		}
	}
	require.Greater(t, crashes, 1000)
}

// One operation fails, as on a full disk, and the process goes on.
func TestAFailedWriteLeavesTheLastCompleteCheckpointAndCanBeRepeated(t *testing.T) {
	failures := 0
	for n := 1; ; n++ {
		m, s := newModel(), story{}
		require.NoError(t, s.live(m, 2))
		d, err := openDir(m, root, orders)
		require.NoError(t, err)
		begin := m.op
		m.fail, m.err = func(op int) bool { return op == begin+n }, syscall.ENOSPC
		err = d.Write(3, snapshotOf(orders, 3))
		if !m.failed {
			require.NoError(t, err)
			break
		}
		what := m.what[begin+n-1]
		failures++
		if err == nil { // it was not needed for the checkpoint to be complete
			require.ErrorIs(t, d.PruneError(), syscall.ENOSPC, what)
		} else {
			require.ErrorIs(t, err, syscall.ENOSPC, what)
			require.ErrorContains(t, err, "free some space", what)
			require.Empty(t, m.names(temporary), what)
			c, err := d.Latest()
			require.NoError(t, err, what)
			require.Equal(t, uint64(2), c.ID, what)
			require.NoError(t, d.Write(3, snapshotOf(orders, 3)), what)
		}
		require.NoError(t, d.Write(4, snapshotOf(orders, 4)), what)
		require.NoError(t, d.PruneError())
		require.Len(t, m.names(prefix), kept, what)
	}
	require.Greater(t, failures, 6)
}

// Above the root there may be folders that are not ours to read, and file systems that know no sync.
func TestOnlyFoldersOfOthersMayRefuseToBeSynced(t *testing.T) {
	for err, ok := range map[error]bool{syscall.EACCES: true, syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false} {
		for _, path := range []string{"/", "/var", "/var/lib", root, root + "/orders", root + "/orders/0"} {
			m := newModel()
			m.fail, m.err = func(int) bool { return m.what[len(m.what)-1] == "syncdir "+path }, err
			d, got := openDir(m, root, orders)
			require.True(t, m.failed)
			if ok && !strings.HasPrefix(path, root) {
				require.NoError(t, got, path)
				require.NoError(t, d.Close())
			} else {
				require.ErrorIs(t, got, err, path)
			}
		}
	}
}

func TestWhatCouldNotBeCleanedUpIsOutOfTheWayOfTheNextAttempt(t *testing.T) {
	m := newModel()
	d, err := openDir(m, root, orders)
	require.NoError(t, err)
	m.fail, m.err = func(int) bool {
		what := m.what[len(m.what)-1]
		return strings.HasPrefix(what, "sync ") || strings.HasPrefix(what, "remove ")
	}, syscall.EIO
	require.ErrorIs(t, d.Write(1, snapshotOf(orders, 1)), syscall.EIO)
	require.Len(t, m.names(temporary), 1)
	m.fail = nil
	require.NoError(t, d.Write(1, snapshotOf(orders, 1)))
	require.Empty(t, m.names(temporary))
}
