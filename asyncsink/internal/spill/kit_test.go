package spill

import (
	"bytes"
	"hash/crc32"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

var (
	testHeader  = statecodec.Header{Job: "orders", Instance: "a"}
	testSection = statecodec.Section{Operator: "sink", Kind: statecodec.KindBuffer, Codec: "bytes", KeyGroups: 4}
)

// content is what a file holds.
func content(t testing.TB, disk files.FS, path string) []byte {
	t.Helper()
	f, err := disk.Open(path)
	require.NoError(t, err)
	raw, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return raw
}

// decode reads the entries of a segment's file.
func decode(t testing.TB, raw []byte) (list []statecodec.Entry) {
	t.Helper()
	d, err := statecodec.NewDecoder(bytes.NewReader(raw), statecodec.Caps{})
	require.NoError(t, err)
	require.Equal(t, testHeader, d.Header())
	s, err := d.Next()
	require.NoError(t, err)
	require.Equal(t, testSection, s)
	for {
		var x statecodec.Entry
		if err := d.Entry(&x); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		x.Data = append([]byte{}, x.Data...)
		list = append(list, x)
	}
	_, err = d.Next()
	require.Equal(t, io.EOF, err)
	return list
}

// numbered makes entries of data of some size, numbered from first.
func numbered(first, n, size int) []statecodec.Entry {
	list := make([]statecodec.Entry, n)
	for i := range list {
		list[i] = statecodec.Entry{Writer: [16]byte{1}, Seq: uint64(first + i), Born: 5, Data: bytes.Repeat([]byte{byte(first + i)}, size)}
	}
	return list
}

func open(t testing.TB, c Config) *Log {
	t.Helper()
	c.Header, c.Section = testHeader, testSection
	l, err := Open(c)
	require.NoError(t, err)
	return l
}

// put appends entries up to the first that is refused.
func put(l *Log, list []statecodec.Entry) (taken int, err error) {
	for i := range list {
		if err := l.Append(&list[i], false); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// drain takes out all that is in the log and frees its files.
func drain(t testing.TB, l *Log) []statecodec.Entry {
	t.Helper()
	list := entries(t, l)
	for _, s := range l.Segments() {
		l.Free(s)
	}
	return list
}

// entries takes out all that is in the log.
func entries(t testing.TB, l *Log) (list []statecodec.Entry) {
	t.Helper()
	for b, ok := l.Next(); ok; b, ok = l.Next() {
		in, err := entriesOf(b)
		require.NoError(t, err)
		require.Len(t, in, b.Entries)
		list = append(list, in...)
	}
	return list
}

// seal ends all segments and checks that each file is a whole snapshot. It returns what is in them, and behind them.
func seal(t testing.TB, l *Log) (list []statecodec.Entry) {
	t.Helper()
	blocks := l.Cut()
	for _, s := range l.Segments() {
		require.NoError(t, s.Seal())
		raw := content(t, l.in.fs, s.Path())
		require.EqualValues(t, len(raw), s.Size())
		require.Equal(t, crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli)), s.CRC32C())
		_, totals, err := statecodec.Verify(bytes.NewReader(raw), statecodec.Caps{})
		require.NoError(t, err)
		require.EqualValues(t, s.Entries(), totals.Entries)
		in := decode(t, raw)
		require.Equal(t, s.First(), in[0].Seq)
		require.Equal(t, s.Last(), in[len(in)-1].Seq)
		list = append(list, in...)
	}
	for _, b := range blocks {
		in, err := entriesOf(b)
		require.NoError(t, err)
		list = append(list, in...)
	}
	return list
}

// memFS is a file system that only keeps bytes, for tests with many files.
type memFS struct {
	files.FS
	files map[string]*memFile
}

type memFile struct {
	files.File
	data []byte
}

func (f *memFS) Mkdir(string) error                { f.files = map[string]*memFile{}; return nil }
func (f *memFS) List(string) ([]files.Info, error) { return nil, nil }
func (f *memFS) Lock(string) (io.Closer, error)    { return io.NopCloser(nil), nil }
func (f *memFS) Remove(path string) error          { delete(f.files, path); return nil }
func (f *memFS) Create(path string) (files.File, error) {
	f.files[path] = &memFile{}
	return f.files[path], nil
}
func (f *memFS) Open(path string) (files.Reader, error) {
	return memReader{bytes.NewReader(f.files[path].data)}, nil
}

func (f *memFile) Write(b []byte) (int, error) { f.data = append(f.data, b...); return len(b), nil }
func (f *memFile) Close() error                { return nil }

type memReader struct{ *bytes.Reader }

func (memReader) Close() error { return nil }
