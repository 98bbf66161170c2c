package asyncsink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

func TestACheckpointWritesWhatIsNewAndSharesTheRest(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.InFlight.Requests = 10
		r.open(c)
		files := newShelf(t)
		payload := strings.Repeat("x", 1000)
		write := func(from, to int) {
			for i := from; i < to; i++ {
				r.write(fmt.Sprintf("k%d:%d:%s", i%7, i, payload))
			}
		}
		cost := func() int64 {
			before := files.written
			files.save(r)
			return files.written - before
		}
		write(0, 1000)
		full := cost()
		require.Greater(t, full, int64(1000*1000))
		require.Less(t, cost(), int64(1000), "nothing has happened")
		for range 10 {
			open <- struct{}{}
			r.settle()
		}
		require.Less(t, cost(), int64(1000), "settled entries are left out by bits")
		write(1000, 1010)
		require.Less(t, cost(), full/80, "1 % is new")
		restore := files.save(r)
		left := names(t, r.snap())
		r.end(r.Writer)

		c.Restore = restore
		r.to.answers(hang)
		r.open(c)
		require.Equal(t, left, names(t, r.snap()))
		before := files.written
		files.save(r)
		require.Less(t, files.written-before, int64(2000), "the next life shares the files as well")
		close(open)
	})
}

// With one entry in a thousand unsettled, files hold little else.
func TestStragglersRetainAsMuchDiskAsTheyNeed(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		stop := make(chan struct{})
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			for i, e := range b.All() {
				if strings.HasSuffix(e, "000") {
					b.Set(i, Outcome{Kind: Retry, After: time.Hour})
				}
			}
			return nil
		})
		c := Config{Batch: limits.Batch{Entries: 100}, Held: limits.Held{Entries: 3000}, InFlight: limits.InFlight{Controller: limits.Static}}
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 8 << 20}
		r.open(c)
		files := newShelf(t)
		payload := strings.Repeat("x", 300)
		for i := range 100_000 {
			r.write(fmt.Sprintf("k%d:%s%06d", i%7, payload, i))
			if i%2000 == 1999 {
				files.save(r)
			}
		}
		r.pass(time.Second)
		restore := files.save(r)
		require.Equal(t, 100, r.Held())
		require.Less(t, files.bytes(), int64(100*400*3), "twice what is held, and what the state says of it")
		require.Less(t, len(files.files), 20)
		require.Zero(t, r.Stats().SpillBytes)
		require.Len(t, files.stored(r.Writer, restore), 100)
		close(stop)
	})
}

func TestManySmallCheckpointsDoNotMeanManyFiles(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(Config{InFlight: limits.InFlight{Timeout: time.Hour}})
		files := newShelf(t)
		var restore *Restore
		for i := range 500 {
			r.write(fmt.Sprintf("k:%d", i))
			restore = files.save(r)
			require.LessOrEqual(t, len(files.files), manyFiles+2)
		}
		require.Len(t, files.stored(r.Writer, restore), 500)
		require.Less(t, files.entries, int64(500*8), "each entry is written again a few times, not 500")
	})
}

func TestACheckpointThatFailsLeavesTheNextOneWhole(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(Config{})
		files := newShelf(t)
		r.write(entries(10, 3)...)
		files.save(r)
		r.write(entries(20, 3)...)

		s := r.snap()
		full := errors.New("disk full")
		files.fail, files.named = full, map[string]bool{}
		_, err := s.Changes(t.Context(), files)
		require.ErrorIs(t, err, full)
		require.ErrorContains(t, err, "share f1")
		files.fail = nil
		s.Close()

		s = r.snap()
		_, _, _ = files.write(s) // written, and never published: Saved is not called
		s.Close()
		require.Len(t, files.stored(r.Writer, files.save(r)), 30)
	})
}

// After a sync that failed nobody knows what is on the disk, and to sync again would say that all is well.
func TestAFileWhoseSyncFailedIsNotSharedAgain(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 3
		c.Spill = Spill{Dir: t.TempDir(), Bytes: 8 << 20}
		r.open(c)
		shelf := newShelf(t)
		for i := range 60 {
			r.write(big(i, 3))
		}
		try := func() error {
			s := r.snap()
			defer s.Close()
			_, err := s.Changes(t.Context(), shelf)
			return err
		}
		shelf.fail = fmt.Errorf("import: %w", &files.SyncError{Path: "x", Err: syscall.EIO})
		require.ErrorIs(t, try(), syscall.EIO)
		shelf.fail = nil
		require.ErrorIs(t, try(), syscall.EIO, "the next one fails as well")
		for range 20 { // until its entries have been copied to another file
			r.pass(time.Second)
			shelf.named = map[string]bool{}
			if err := try(); err == nil {
				return
			}
		}
		require.Fail(t, "checkpoints fail for good")
	})
}

// As after a restore with no-claim: each file is copied once, and the copies are shared.
func TestSharedFilesMayGetOtherNames(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(Config{})
		files := newShelf(t)
		r.write(entries(10, 3)...)
		files.save(r)
		r.write(entries(20, 3)...)
		restore := files.save(r)
		files.theirs = maps.Clone(files.named)
		r.end(r.Writer)

		r.open(Config{Restore: restore, Held: limits.Held{Entries: 12}})
		files.rename = true
		next := files.save(r)
		require.Len(t, files.files, 5, "two of theirs, copies of them, and the new state")
		require.Len(t, files.stored(r.Writer, next), 30)
		files.rename = false
		before := files.written
		files.save(r)
		require.Less(t, files.written-before, int64(1000))
	})
}

// State that has no name, such as Encode writes, is written again until it has one.
func TestStateWithoutANameIsWrittenWhole(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		old := entries(40, 40)
		state := r.earlier(old...)
		files := newShelf(t)
		c := single()
		c.Restore, c.Held.Entries = from(state), 10
		var restore *Restore
		r.to.answers(hang)
		r.open(c)
		for range 3 {
			restore = files.save(r)
			require.Len(t, files.stored(r.Writer, restore), 40)
		}
		r.end(r.Writer)
		c.Restore = restore
		r.to.answers(nil)
		r.open(c)
		r.drain()
		require.ElementsMatch(t, old, r.to.got())
	})
}

// damagedFile flips a byte in the middle of a shared file of a checkpoint of 4,000 entries.
func damagedFile(t *testing.T, r *rig) (files *shelf, restore *Restore) {
	r.to.answers(hang)
	r.open(Config{})
	files = newShelf(t)
	for i := range 4000 {
		r.write(fmt.Sprintf("k%d:%s", i%9, strings.Repeat("x", 500)))
	}
	files.save(r)
	r.write("k:last")
	restore = files.save(r)
	r.end(r.Writer)
	data := bytes.Clone(files.files["f1"])
	data[len(data)/2] ^= 1
	files.files["f1"] = data
	return files, restore
}

func TestDamageInASharedFileStopsTheWriterAndLosesNothing(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		_, restore := damagedFile(t, r)
		r.to.answers(nil)
		r.open(Config{Restore: restore})
		var refused *StateError
		_, err := r.Flush(t.Context())
		require.ErrorAs(t, err, &refused)
		var format *statecodec.FormatError
		require.ErrorAs(t, err, &format)
		require.Equal(t, statecodec.Checksum, format.Fault)
		require.Equal(t, 4001, int(r.Stats().Delivered.Entries)+r.Held(), "what was not read is still held")
	})
}

func TestToldToTheWriterGoesOnWithoutWhatIsDamaged(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		files, restore := damagedFile(t, r)
		var reported, kept atomic.Int64
		restore.Damaged = func(d Damage) {
			reported.Add(1)
			kept.Add(int64(len(d.Bytes)))
			require.Equal(t, "f1", d.File)
		}
		r.to.answers(nil)
		r.open(Config{Restore: restore})
		_, err := r.Flush(t.Context())
		require.NoError(t, err)
		require.Positive(t, reported.Load())
		require.Greater(t, kept.Load(), int64(100<<10))
		s := r.Stats()
		require.Equal(t, s.Found, s.Delivered.Entries)
		require.Less(t, s.Found, int64(4001))
		require.Greater(t, s.Found, int64(3000), "one block is lost")
		require.Contains(t, r.to.got(), "k:last")
		require.Zero(t, r.Held())
		restore = files.save(r)
		require.Empty(t, files.stored(r.Writer, restore), "they are not held for ever")
	})
}

func TestAFileThatIsNotThereStopsTheWriter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		files, restore := damagedFile(t, r)
		delete(files.files, "f1")
		_, err := r.tryOpen(r.to, Config{Restore: restore})
		if err == nil {
			t.Fatal("it must be refused: the first entries could not be read")
		}
		require.ErrorAs(t, err, new(*StateError))
		restore.File = nil
		_, err = r.tryOpen(r.to, Config{Restore: restore})
		require.ErrorContains(t, err, "Restore.File is needed")
	})
}

func TestStateThatContradictsItselfIsRefused(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		section := statecodec.Section{Operator: "writer", Kind: statecodec.KindBuffer, Codec: "string", CodecVersion: 1, KeyGroups: statecodec.DefaultKeyGroups}
		for name, write := range map[string]func(enc *statecodec.Encoder) error{
			"overlap": func(enc *statecodec.Encoder) error {
				for range 2 {
					if err := enc.Begin(section); err != nil {
						return err
					}
					if err := enc.Entry(&statecodec.Entry{Seq: 3, Data: []byte("k:3")}); err != nil {
						return err
					}
				}
				return nil
			},
			"entry 2 after 3": func(enc *statecodec.Encoder) error {
				err := enc.Begin(section)
				for _, seq := range []uint64{3, 2} {
					err = errors.Join(err, enc.Entry(&statecodec.Entry{Seq: seq, Data: []byte("k:3")}))
				}
				return err
			},
			"next sequence": func(enc *statecodec.Encoder) error {
				return errors.Join(enc.Begin(statecodec.Section{Operator: "writer", Kind: statecodec.KindBuffer, Codec: writerCodec, CodecVersion: 1}), enc.Blob([]byte("x")))
			},
			"committable": func(enc *statecodec.Encoder) error {
				s := section
				s.Kind = statecodec.KindCommittable
				return enc.Begin(s)
			},
		} {
			var out bytes.Buffer
			enc, err := statecodec.NewEncoder(&out, statecodec.Header{Job: "job"})
			require.NoError(t, err)
			require.NoError(t, write(enc))
			require.NoError(t, enc.Close())
			_, err = r.tryOpen(r.to, Config{Restore: &Restore{Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(out.Bytes())), nil
			}}})
			require.ErrorAs(t, err, new(*StateError), name)
			require.ErrorContains(t, err, name)
		}
	})
}
