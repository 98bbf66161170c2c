package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/statecodec"
)

// life is one of a process over the state of a job, made by hand.
type life struct {
	testing.TB
	*checkpoint.History
	codec   string
	version uint32
	claims  uint64          // entries that manifests tell of too many
	file    checkpoint.File // that holds the entries of the first checkpoint
	first   []statecodec.Entry
}

func newLife(t testing.TB, s checkpoint.Store, job checkpoint.Job, retained int) *life {
	t.Helper()
	h, err := checkpoint.Open(t.Context(), s, job, checkpoint.Options{Retained: retained, Program: "spillway test"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return &life{TB: t, History: h, codec: kinesis.Codec{}.ID(), version: 1}
}

func (l *life) section(k statecodec.Kind) statecodec.Section {
	return statecodec.Section{Operator: "sink", Kind: k, Codec: l.codec, CodecVersion: l.version}
}

// write makes a checkpoint that holds n entries, and as many of those of the life's first checkpoint as are from the
// sequence held on; 0: none.
func (l *life) write(held uint64, entries ...statecodec.Entry) *checkpoint.Checkpoint {
	l.Helper()
	c, err := l.Write(l.Context(), func(ctx context.Context, d *checkpoint.Draft) error {
		n := uint64(len(entries))
		if held > 0 {
			n += l.first[len(l.first)-1].Seq - held + 1
			if err := d.Share(l.file); err != nil {
				return err
			}
		}
		f, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error { return l.state(w, d, held, entries) })
		if l.first == nil {
			l.file, l.first = f, entries
		}
		d.Describe(checkpoint.Description{Entries: n + l.claims, Written: uint64(len(entries)), Operators: []checkpoint.Operator{
			{Name: "source", Kind: "source", Codec: "spillway.positions"},
			{Name: "sink", Kind: "buffer", Codec: l.codec, CodecVersion: l.version, Entries: n, Bytes: 17 * n},
		}})
		return err
	})
	require.NoError(l, err)
	return c
}

func (l *life) state(w io.Writer, d *checkpoint.Draft, held uint64, entries []statecodec.Entry) error {
	enc, err := statecodec.NewEncoder(w, statecodec.Header{Job: l.Job().Name, Instance: l.Job().Instance, Checkpoint: d.ID(), Epoch: d.Epoch(), Time: time.Now().UnixNano()})
	require.NoError(l, err)
	require.NoError(l, enc.Begin(statecodec.Section{Operator: "source", Kind: statecodec.KindSource, Codec: "spillway.positions"}))
	require.NoError(l, enc.Blob(append(append(binary.AppendUvarint(nil, 4), "file"...), "1890:100:f1a921cf78677710"...)))
	if held > 0 {
		var b statecodec.BitmapBuilder
		b.AddRange(held, l.first[len(l.first)-1].Seq)
		bits, err := b.Bitmap()
		require.NoError(l, err)
		var none statecodec.Bitmap
		require.NoError(l, enc.Held(&statecodec.Held{
			Section: l.section(statecodec.KindBuffer), File: l.file.Name, Index: 1, InFile: uint64(len(l.first)), Held: bits, Unsure: none,
		}, func(func(*statecodec.Entry, error) bool) {}))
	}
	require.NoError(l, enc.Begin(l.section(statecodec.KindBuffer)))
	for i := range entries {
		if err := enc.Entry(&entries[i]); err != nil {
			return err
		}
	}
	return enc.Close()
}

// records are entries, from a sequence on, that were accepted a second apart, the last one just now.
func records(from uint64, n int) []statecodec.Entry {
	entries := make([]statecodec.Entry, n)
	for i := range entries {
		seq := from + uint64(i)
		data, _ := kinesis.Codec{}.AppendEncode(nil, kinesis.Record{PartitionKey: fmt.Sprintf("k%d", seq%7), Data: fmt.Appendf(nil, `{"n":%d}`, seq)})
		entries[i] = statecodec.Entry{Writer: [16]byte{7}, Seq: seq, Born: time.Now().Add(time.Duration(i-n+1) * time.Second).UnixNano(), Data: data}
	}
	return entries
}

// local is the store in the folder state.
func local(t testing.TB) *checkpoint.Local {
	t.Helper()
	s, err := checkpoint.OpenLocal("state")
	require.NoError(t, err)
	return s
}

// newer makes a manifest one of a newer program.
func (w *world) newer(name string) {
	w.Helper()
	text, _, _ := strings.Cut(strings.Replace(w.read(name), `"format": 0`, `"format": 99`, 1), "crc32c: ")
	w.write(name, text+fmt.Sprintf("crc32c: %08x\n", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))))
}

func (w *world) abs(name string) string {
	w.Helper()
	path, err := filepath.Abs(name)
	require.NoError(w, err)
	return path
}

// tree is every file and folder below one, with its size and when it was changed.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := os.Lstat(path)
		if err == nil {
			all[path] = fmt.Sprint(i.Mode(), i.Size(), i.ModTime().UnixNano())
		}
		return err
	}))
	return all
}

// look runs a tool beside whatever runs, on a standard error of its own.
func (w *world) look(args ...string) ran {
	w.Helper()
	var stdout bytes.Buffer
	code, stderr := w.lookInto(&stdout, args...)
	return ran{code, stdout.String(), stderr}
}

// lookInto runs one with a standard output of its own.
func (w *world) lookInto(stdout io.Writer, args ...string) (code int, stderr string) {
	w.Helper()
	beside := *w
	beside.stderr = &lines{}
	code = run(beside.process(stdout, append([]string{"state"}, args...)))
	return code, beside.stderr.String()
}

// objects are the lines of JSON of standard output.
func (r ran) objects(t testing.TB) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(r.stdout) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		all = append(all, v)
	}
	return all
}

// hooked is a store whose reading a test can change.
type hooked struct {
	checkpoint.Store
	open func(name string) error
	read func()
}

func (h *hooked) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if h.open != nil {
		if err := h.open(name); err != nil {
			return nil, err
		}
	}
	r, err := h.Store.Open(ctx, name)
	if err != nil || h.read == nil {
		return r, err
	}
	return hookedReader{r, h.read}, nil
}

type hookedReader struct {
	io.ReadCloser
	read func()
}

func (r hookedReader) Read(p []byte) (int, error) {
	r.read()
	return r.ReadCloser.Read(p)
}

// over has every store be one.
func (w *world) over(s checkpoint.Store) {
	w.store = func(context.Context, string) (checkpoint.Store, error) { return s, nil }
}
