package checkpoint

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// drafted calls f with a draft of a Write that is given up.
func drafted(t *testing.T, h *History, f func(d *Draft)) {
	t.Helper()
	over := errors.New("given up")
	_, err := h.Write(t.Context(), func(_ context.Context, d *Draft) error {
		f(d)
		return over
	})
	require.ErrorIs(t, err, over)
}

func TestADraftTellsWhatItsManifestWillSay(t *testing.T) {
	h := opened(t, newMemory())
	x := Description{
		Final: true, Operators: []Operator{{Name: "sink", Kind: "buffer", Codec: "bytes", CodecVersion: 1, Entries: 3, Bytes: 30}},
		KeyGroups: KeyGroups{Last: 127, Of: 128}, Entries: 3, Written: 2,
	}
	c := write(t, h, func(ctx context.Context, d *Draft) error {
		require.Equal(t, uint64(2), d.ID())
		require.Equal(t, uint64(1), d.Epoch())
		d.Describe(Description{Entries: 99})
		d.Describe(x)
		return full(ctx, d)
	})
	require.Equal(t, x, Description{c.Final, c.Operators, c.KeyGroups, c.Entries, c.State().Entries})
	require.Equal(t, []Role{RoleLog, RoleState}, []Role{c.Files[0].Role, c.Files[1].Role})
}

func TestACheckpointHasOneStateFile(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	for _, fill := range []func(context.Context, *Draft) error{
		func(context.Context, *Draft) error { return nil },
		func(ctx context.Context, d *Draft) error { return errors.Join(state(ctx, d), state(ctx, d)) },
		func(ctx context.Context, d *Draft) error { _, err := d.Put(ctx, "", text("")); return err },
	} {
		_, err := h.Write(t.Context(), fill)
		require.ErrorContains(t, err, "role")
		require.Len(t, m.names(), 1)
	}
}

func TestPutWritesInChunksAndSumsUpWhatItWrote(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	for _, n := range []int{0, 1, chunk - 1, chunk, 5*chunk + 7} {
		b := []byte(strings.Repeat("spillway", n/8+1))[:n]
		drafted(t, h, func(d *Draft) {
			f, err := d.Put(t.Context(), RoleLog, func(w io.Writer) error {
				for rest := b; len(rest) > 0; {
					k := min(len(rest), 1+len(rest)/3)
					_, err := w.Write(rest[:k])
					require.NoError(t, err)
					rest = rest[k:]
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, int64(n), f.Size)
			require.Equal(t, CRC(crc32.Checksum(b, castagnoli)), f.CRC32C)
			require.Equal(t, string(b), string(m.objects["orders/0/"+f.Name].data))
		})
	}
}

func TestAFileThatCouldNotBeMadeMayBeMadeAgainAndLeavesNothing(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	m.setHook(func(op, _ string) fate {
		if op == "put" {
			m.setHook(nil)
			return failsLate
		}
		return works
	})
	c := write(t, h, func(ctx context.Context, d *Draft) error {
		_, err := d.Put(ctx, RoleState, text("x"))
		require.ErrorIs(t, err, errStore)
		gone := errors.New("gone")
		_, err = d.Put(ctx, RoleState, func(w io.Writer) error { return errors.Join(text("x")(w), gone) })
		require.ErrorIs(t, err, gone)
		return state(ctx, d)
	})
	require.Equal(t, []string{"data/1-3"}, fileNames(c), "no name is used twice")
	requireNoOrphans(t, m)
}

// A store may stop reading, or read twice.
func TestAStoreThatMisusesFillIsFoundOut(t *testing.T) {
	for _, s := range []Store{
		filling{newMemory(), func(io.Writer, func(io.Writer) error) error { return nil }},
		filling{newMemory(), func(w io.Writer, fill func(io.Writer) error) error { _ = fill(w); return fill(w) }},
		filling{newMemory(), func(w io.Writer, fill func(io.Writer) error) error { _ = fill(short{}); return nil }},
	} {
		h := opened(t, s)
		_, err := h.Write(t.Context(), full)
		require.Error(t, err)
		_, err = h.Write(t.Context(), func(ctx context.Context, d *Draft) error {
			_, err := d.Put(ctx, RoleState, func(w io.Writer) error { _ = text("x")(w); return nil }) // it does not look
			return err
		})
		require.Error(t, err)
	}
}

type filling struct {
	*memory
	put func(w io.Writer, fill func(io.Writer) error) error
}

func (f filling) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	return f.memory.Put(ctx, name, func(w io.Writer) error { return f.put(w, fill) })
}

type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) / 2, io.ErrShortWrite }

func TestALocalFileIsImportedByItsBytesWhereTheStoreCannotLinkIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "segment")
	require.NoError(t, os.WriteFile(path, []byte("segment"), 0o600))
	f := File{Size: 7, CRC32C: CRC(crc32.Checksum([]byte("segment"), castagnoli)), Entries: 9}
	for _, s := range []Store{newMemory(), &importing{memory: newMemory()}, &importing{memory: newMemory(), can: true}} {
		h := opened(t, s)
		c := write(t, h, func(ctx context.Context, d *Draft) error {
			got, err := d.Import(ctx, path, f)
			require.NoError(t, err)
			want := f
			want.Name, want.Role = got.Name, RoleLog
			require.Equal(t, want, got)
			return state(ctx, d)
		})
		require.NoError(t, c.Verify(t.Context(), nil))
		if i, ok := s.(*importing); ok && !i.can {
			continue
		}
		wrong := f
		wrong.Size++
		_, err := h.Write(t.Context(), func(ctx context.Context, d *Draft) error {
			_, err := d.Import(ctx, path, wrong)
			return errors.Join(err, state(ctx, d))
		})
		require.Error(t, err)
	}
	h := opened(t, newMemory())
	drafted(t, h, func(d *Draft) {
		wrong := f
		wrong.CRC32C++
		_, err := d.Import(t.Context(), path, wrong)
		require.ErrorIs(t, err, errNotAsWritten)
		require.ErrorContains(t, err, path)
		_, err = d.Import(t.Context(), path+"x", f)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// importing is an Importer, or says that it cannot.
type importing struct {
	*memory
	can bool
}

func (i *importing) Import(ctx context.Context, path, name string) error {
	if !i.can {
		return errors.ErrUnsupported
	}
	b, err := os.ReadFile(path)
	i.set(name, b, works)
	return err
}

func TestOnlyFilesThatTheJobNamesAreSharedOrCopied(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	c := write(t, h, full)
	drafted(t, h, func(d *Draft) {
		f := c.Files[0]
		require.NoError(t, d.Share(f))
		f.Size++
		require.EqualError(t, d.Share(f), "share data/1-1: checkpoint 2 has another file of that name")
		f.Name = "data/1-77"
		require.EqualError(t, d.Share(f), "share data/1-77: no checkpoint of this job names it")
		_, err := d.CopyFrom(t.Context(), c, f)
		require.EqualError(t, err, "copy data/1-77: orders/0/chk-00000000000000000002 names no such file")
	})
	_, err := h.Write(t.Context(), func(ctx context.Context, d *Draft) error {
		return errors.Join(d.Share(c.Files[0]), d.Share(c.Files[0]), state(ctx, d))
	})
	require.ErrorContains(t, err, "each once")
}

func TestADraftMayBeFilledByManyGoroutinesAndNoneAfterItsEnd(t *testing.T) {
	m := newMemory()
	h := opened(t, m)
	earlier := write(t, h, full)
	var late *Draft
	var after error
	m.setHook(func(op, _ string) fate {
		if op == "list" {
			m.setHook(nil)
			_, after = late.Put(context.Background(), RoleLog, text("x"))
		}
		return works
	})
	c := write(t, h, func(ctx context.Context, d *Draft) error {
		late = d
		var filling sync.WaitGroup
		for range 8 {
			filling.Go(func() {
				if _, err := d.Put(ctx, RoleLog, text("x")); err != nil {
					t.Error(err)
				}
			})
		}
		filling.Wait()
		return state(ctx, d)
	})
	require.Len(t, c.Files, 9)
	require.ErrorIs(t, after, errDraftOver, "once fill has returned")
	_, err := late.Put(t.Context(), RoleLog, text("x"))
	require.ErrorIs(t, err, errDraftOver)
	_, err = late.CopyFrom(t.Context(), c, c.Files[0])
	require.ErrorIs(t, err, errDraftOver)
	_, err = late.Import(t.Context(), "x", File{})
	require.ErrorIs(t, err, errDraftOver)
	require.ErrorIs(t, late.Share(earlier.Files[0]), errDraftOver)
	late.Describe(Description{Final: true})
	require.False(t, newest(t, h).Final)
	require.NoError(t, c.Verify(t.Context(), nil))
	requireNoOrphans(t, m)
}
