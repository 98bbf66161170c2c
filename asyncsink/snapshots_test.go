package asyncsink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

func TestSnapshotsThatOverlapMayBothBeSaved(t *testing.T) {
	for name, order := range map[string][2]int{"in order": {0, 1}, "out of order": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(hang)
				r.open(Config{})
				files := newShelf(t)
				r.write(entries(10, 3)...)
				first := r.snap()
				r.write(entries(10, 3)...)
				second := r.snap()
				var changes [2]*Changes[string]
				var names [2]string
				_, changes[0], names[0] = files.write(first)
				_, changes[1], names[1] = files.write(second)
				for _, i := range order {
					changes[i].Saved(names[i])
				}
				r.settle()
				require.Len(t, files.stored(r.Writer, files.save(r)), 20)
			})
		})
	}
}

// Such as one that is taken to look at what is held.
func TestASnapshotTakenWhileAnotherIsWrittenDoesNotSpoilIt(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 3
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 8 << 20}
		r.open(c)
		files := newShelf(t)
		for i := range 8 {
			r.write(big(i, 3))
		}
		first := r.snap()
		for i := range 60 {
			r.write(big(8+i, 3))
		}
		r.snap() // to look at
		_, changes, name := files.write(first)
		changes.Saved(name)
		r.settle()
		require.Len(t, files.stored(r.Writer, files.save(r)), 68)
	})
}

func TestStateSavedWithoutANameIsNotLost(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		old := entries(40, 40)
		state := r.earlier(old...)
		files := newShelf(t)
		c := single()
		c.Restore, c.Held.Entries = from(state), 10
		r.to.answers(hang)
		r.open(c)
		s := r.snap()
		_, changes, _ := files.write(s)
		changes.Saved("") // later ones can't share it
		s.Close()
		r.settle()
		require.Len(t, names(t, r.snap()), 40)
		require.Len(t, files.stored(r.Writer, files.save(r)), 40)
	})
}

func TestAWriterThatCouldNotBeOpenedLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := Config{Spill: Spill{Dir: t.TempDir()}}
		down := errors.New("down")
		s := &lifecycle{destination: r.to, open: func(context.Context, Env) error { return down }}
		for range 2 {
			_, err := r.tryOpen(s, c)
			require.ErrorIs(t, err, down)
		}
		c.Restore = from([]byte("no state"))
		for range 2 {
			_, err := r.tryOpen(r.to, c)
			require.ErrorAs(t, err, new(*StateError))
			require.ErrorContains(t, err, "magic")
		}
	})
}

func TestTheSpillFolderIsEmptyAfterClose(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 3
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 64 << 20}
		r.open(c)
		for i := range 200 {
			r.write(big(i, 3))
			if i%20 == 19 && i < 150 {
				r.snap().Close()
			}
		}
		left, _ := r.Close(r.within(time.Second))
		left.Close()
		synctest.Wait()
		list, err := os.ReadDir(c.Spill.Dir)
		require.NoError(t, err)
		require.Len(t, list, 1, "the lock alone: %v", list)
		r.open(c)
	})
}

func TestWhatWasRevivedIsNotBuriedInTheLifeAfter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("far too large")
		files := newShelf(t)
		c := single()
		c.Restore = from(state)
		c.Batch.EntryBytes = 5
		c.DeadLetters = &deadLetters{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		r.open(c)
		r.settle()
		restore := files.save(r)
		r.end(r.Writer)

		r.to.answers(hang)
		r.open(Config{Restore: restore}) // the limit is lifted; no output
		restore = files.save(r)
		r.end(r.Writer)

		c = Config{Restore: restore}
		r.to.answers(nil)
		dead := r.burying(c)
		r.drain()
		require.Empty(t, dead.letters())
	})
}

func TestReadersAreClosedWhenTheWriterClosesWhileOneReads(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		long := entries(2000, 50)
		for i := range long {
			long[i] += strings.Repeat("x", 1000)
		}
		state := r.earlier(long...)
		r.to.answers(hang)
		var opens, closes atomic.Int64
		slow := make(chan struct{})
		c := single()
		c.Held.Entries = 10
		c.Restore = &Restore{Open: func() (io.ReadCloser, error) {
			n := opens.Add(1)
			return &slowReader{Reader: bytes.NewReader(state), n: n, slow: slow, closes: &closes}, nil
		}}
		r.open(c)
		left, _ := r.Close(r.within(time.Second))
		left.Close()
		close(slow)
		synctest.Wait()
		require.Equal(t, opens.Load(), closes.Load())
	})
}

type slowReader struct {
	io.Reader
	n      int64
	slow   chan struct{}
	closes *atomic.Int64
	reads  int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.n == 2 {
		if r.reads++; r.reads > 25 {
			<-r.slow
		}
		return r.Reader.Read(p[:min(len(p), 32<<10)])
	}
	return r.Reader.Read(p)
}
func (r *slowReader) Close() error { r.closes.Add(1); return nil }

func TestAnEntryThatNoStateTakesIsRefused(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.traits.Codec = inflate{}
		c := single()
		c.Held.Entries = 3
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 8 << 20}
		r.open(c)
		r.write("a", "b", "c", "d")
		_, err := r.Write(r.within(time.Minute), "huge")
		require.ErrorIs(t, err, statecodec.ErrTooLarge)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}

type inflate struct{ statecodec.String }

func (inflate) AppendEncode(dst []byte, e string) ([]byte, error) {
	if e == "huge" {
		return append(dst, make([]byte, statecodec.DefaultEntryBytes+1)...), nil
	}
	return append(dst, e...), nil
}

var _ = limits.MiB
