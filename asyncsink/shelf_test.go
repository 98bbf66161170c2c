package asyncsink

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/internal/core"
	diskfiles "github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

// shelf is a store of checkpoints in memory, as [Files] sees one.
type shelf struct {
	t       *testing.T
	mu      sync.Mutex // guards files, which the writer's readers read
	files   map[string][]byte
	number  int
	named   map[string]bool // by the checkpoint in the making
	written int64           // bytes, over all checkpoints
	entries int64           // written, over all checkpoints
	fail    error           // of the next Share
	disk    diskfiles.FS    // that spilled files lie on
	rename  bool            // every file gets a new name: nothing is shared
	theirs  map[string]bool // what keep keeps besides
}

func newShelf(t *testing.T) *shelf {
	return &shelf{t: t, files: map[string][]byte{}, disk: diskfiles.OS{}}
}

// Share implements Files.
func (s *shelf) Share(_ context.Context, f File) (string, error) {
	if s.fail != nil {
		return "", s.fail
	}
	data := s.files[f.Name]
	if f.Name == "" {
		r, err := s.disk.Open(f.Path)
		require.NoError(s.t, err)
		data, err = io.ReadAll(r)
		require.NoError(s.t, err)
		require.NoError(s.t, r.Close())
		require.Equal(s.t, f.Size, int64(len(data)))
		require.Equal(s.t, f.CRC32C, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
		_, totals, err := statecodec.Verify(bytes.NewReader(data), statecodec.Caps{})
		require.NoError(s.t, err)
		require.EqualValues(s.t, f.Entries, totals.Entries)
	}
	require.NotNil(s.t, data, "%s is not on the shelf", f)
	name := f.Name
	if name == "" || s.rename {
		name = s.put(data)
	}
	require.False(s.t, s.named[name], "%s is shared twice", name)
	s.named[name] = true
	return name, nil
}

func (s *shelf) put(data []byte) string {
	s.number++
	name := fmt.Sprintf("f%d", s.number)
	s.mu.Lock()
	s.files[name] = data
	s.mu.Unlock()
	s.written += int64(len(data))
	return name
}

// write makes an incremental checkpoint of a snapshot, and returns what restores it.
func (s *shelf) write(snap *Snapshot[string]) (*Restore, *Changes[string], string) {
	s.named = map[string]bool{}
	changes, err := snap.Changes(context.Background(), s)
	require.NoError(s.t, err)
	var out bytes.Buffer
	enc, err := statecodec.NewEncoder(&out, statecodec.Header{Job: "job", Final: snap.Final()})
	require.NoError(s.t, err)
	require.NoError(s.t, changes.Encode(enc))
	require.NoError(s.t, enc.Close())
	s.entries += changes.Written()
	name := s.put(out.Bytes())
	s.named[name] = true
	restore := s.restore(name)
	s.agree(snap, restore)
	return restore, changes, name
}

// restore is what restores the checkpoint of a state file.
func (s *shelf) restore(name string) *Restore {
	open := func(name string) (io.ReadCloser, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		data, ok := s.files[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	return &Restore{
		Checkpoint: 7, Name: name, Open: func() (io.ReadCloser, error) { return open(name) }, File: open,
	}
}

// keep removes all files but those of the last checkpoint.
func (s *shelf) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.files, func(name string, _ []byte) bool { return !s.named[name] && !s.theirs[name] })
}

// save takes an incremental checkpoint as a runner does.
func (s *shelf) save(r *rig) *Restore {
	snap, err := r.Snapshot()
	require.NoError(s.t, err)
	defer snap.Close()
	restore, changes, name := s.write(snap)
	changes.Saved(name)
	r.settle()
	s.keep()
	return restore
}

// bytes is what the files take.
func (s *shelf) bytes() (n int64) {
	for _, data := range s.files {
		n += int64(len(data))
	}
	return n
}

// stored is what a checkpoint holds, read as the next life reads it.
func (s *shelf) stored(of *Writer[string], from *Restore) (all []core.Held[string]) {
	exact := *from
	exact.Exact = true
	w := &Writer[string]{name: of.name, traits: of.traits, config: Config{Restore: &exact}}
	x := state[string]{w: w}
	require.NoError(s.t, x.read())
	for _, p := range x.parts {
		r := w.readerOf(*p, 0)
		var e statecodec.Entry
		err := r.Next(&e)
		for ; err == nil; err = r.Next(&e) {
			h, err := w.held(&e, p.at.CodecVersion)
			require.NoError(s.t, err)
			all = append(all, h)
		}
		require.ErrorIs(s.t, err, io.EOF)
		r.Close()
	}
	return all
}

// agree: an incremental checkpoint holds what its snapshot shows.
func (s *shelf) agree(snap *Snapshot[string], from *Restore) {
	brief := func(h core.Held[string]) string {
		class := ""
		if h.Death != nil {
			class = h.Death.Class
		}
		return fmt.Sprint(h.Seq, h.ID.Seq, h.ID.Writer[:2], h.Entry[:min(len(h.Entry), 10)], h.Attempts, h.Unsure, h.Born, class)
	}
	var want, got []string
	for h, err := range snap.all() {
		require.NoError(s.t, err)
		want = append(want, brief(h))
	}
	for _, h := range s.stored(snap.w, from) {
		got = append(got, brief(h))
	}
	if !slices.Equal(want, got) {
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i] != got[i] {
				require.FailNow(s.t, "the checkpoint is not the snapshot", "at %d of %d and %d:\n%v\n%v\nparts %+v", i, len(want), len(got),
					want[min(i, len(want)):min(i+4, len(want))], got[min(i, len(got)):min(i+4, len(got))], snap.parts)
			}
		}
	}
}
