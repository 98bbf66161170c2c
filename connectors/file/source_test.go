package file

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/stream"
)

var _ stream.Source = (*Source)(nil)

// numbered is a text of some lines of about ten bytes.
func numbered(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestAFileIsReadToItsEndAndOnFromEachPosition(t *testing.T) {
	text := numbered(800) + "\n\r\nlast" // beyond the part that the fingerprint is of
	want := model(text, 100)
	path := write(t, text)
	require.Equal(t, want, readAll(t, open(t, path, 0, ""), 7))
	for i, r := range want {
		if i%13 == 0 || i > len(want)-3 {
			require.Equal(t, append([]got(nil), want[i+1:]...), readAll(t, open(t, path, 0, r.Position), 100), "from %s", r.Position)
		}
	}
}

func TestAFileThatHasGrownIsReadOn(t *testing.T) {
	for _, lines := range []int{1, 5, 1000} {
		text := numbered(lines)
		path := write(t, text)
		all := readAll(t, open(t, path, 0, ""), 10)
		position := all[len(all)-1].Position
		require.Empty(t, readAll(t, open(t, path, 0, position), 10))
		require.NoError(t, os.WriteFile(path, []byte(text+"more\n"), 0o600))
		more := readAll(t, open(t, path, 0, position), 10)
		require.Len(t, more, 1)
		require.Equal(t, "more", more[0].Value)
		require.EqualValues(t, lines+1, Line([]byte(more[0].Position)))
	}
}

func TestALastLineMayGetItsEndLater(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		path := write(t, "a\nb")
		all := readAll(t, open(t, path, 0, ""), 10)
		require.NoError(t, os.WriteFile(path, []byte("a\nb"+end+"c\n"), 0o600))
		more := readAll(t, open(t, path, 0, all[1].Position), 10)
		require.Len(t, more, 1)
		require.Equal(t, "c", more[0].Value)
	}
}

func TestAnotherFileIsRefused(t *testing.T) {
	long := numbered(1000)
	for name, c := range map[string]struct {
		was, is string
		reason  string
	}{
		"replaced":              {"a\nb\nc\n", "a\nB\nc\nd\n", "its first 6 bytes differ"},
		"replaced, a long one":  {long, "X" + long[1:], "its first 4096 bytes differ"},
		"truncated":             {long, long[:5000], "it has 5000 bytes only"},
		"emptied":               {"a\n", "", "it has 0 bytes only"},
		"its last line grew":    {"a\nb", "a\nbb\n", "line 2, which was its last, is longer now"},
		"its last line grew \r": {"a\nb", "a\nb\rb\n", "line 2, which was its last, is longer now"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.was)
			all := readAll(t, open(t, path, 0, ""), 10)
			position := all[len(all)-1].Position
			require.NoError(t, os.WriteFile(path, []byte(c.is), 0o600))
			s, err := Open(Config{Path: path})
			require.NoError(t, err)
			defer s.Close()
			err = assign(s, position)
			var changed *ChangedError
			require.ErrorAs(t, err, &changed)
			require.Equal(t, ChangedError{path, position, c.reason}, *changed)
			require.ErrorContains(t, err, path+" is not the file that was read up to "+position)
		})
	}
}

func TestPositionsAndSplitsOfOthersAreRefused(t *testing.T) {
	path := write(t, "a\n")
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	defer s.Close()
	for _, position := range []string{"", "1", "2:1", "2:1:0", "-2:1:af63bd4c8601b7be", "2:-1:af63bd4c8601b7be", "2:1:xf63bd4c8601b7be", "2:1:af63bd4c8601b7be:", "99999999999999999999:1:af63bd4c8601b7be"} {
		err := s.Assign([]stream.Split{{ID: FileSplit, Position: []byte(position)}})
		require.ErrorAs(t, err, new(*PositionError), position)
	}
	require.ErrorAs(t, s.Assign([]stream.Split{{ID: "stdin"}}), new(*SplitError))
	require.ErrorAs(t, s.Revoke([]string{"stdin"}), new(*SplitError))
}

func TestNoSplitNoRecords(t *testing.T) {
	path := write(t, "a\nb\n")
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	defer s.Close()
	require.Empty(t, readAll(t, s, 1))
	require.NoError(t, assign(s, ""))
	require.True(t, s.Replayable())
	n, err := s.Read(t.Context(), make([]stream.Record, 1))
	require.Equal(t, 1, n)
	require.NoError(t, err)
	require.NoError(t, s.Revoke([]string{FileSplit}))
	require.Empty(t, readAll(t, s, 1))
	require.NoError(t, assign(s, ""))
	require.Len(t, readAll(t, s, 1), 2, "assigned anew, it begins anew")
}

func TestWhatIsNoFileIsNamed(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, c := range map[string]struct {
		is   error
		says string
	}{
		filepath.Join(dir, "no"): {fs.ErrNotExist, "no such file or directory: check the path"},
		dir:                      {ErrDirectory, "it is a directory"},
		pipe:                     {ErrNotRegular, "it is not a regular file: read a pipe or a device through standard input"},
		os.DevNull:               {ErrNotRegular, "it is not a regular file"},
	} {
		_, err := Open(Config{Path: path})
		var p *PathError
		require.ErrorAs(t, err, &p)
		require.Equal(t, path, p.Path)
		require.ErrorIs(t, err, c.is)
		require.ErrorContains(t, err, "read "+path+": "+c.says)
	}
	_, err := Open(Config{LineBytes: -1})
	require.EqualError(t, err, "file source: path: none: must be set\nline_bytes: -1B: must be 1B to 1GiB")
	require.ErrorAs(t, err, new(*limits.Fault))
}

func TestPermissionIsNamed(t *testing.T) {
	err := error(&PathError{"read", "in.jsonl", &fs.PathError{Op: "open", Path: "in.jsonl", Err: syscall.EACCES}}) // root may read everything
	require.ErrorIs(t, err, fs.ErrPermission)
	require.EqualError(t, err, "read in.jsonl: permission denied: let the user of this process use it")
}

func TestALineAboveTheLimitIsBrokenAndTheNextIsNot(t *testing.T) {
	path := write(t, "1234\n12345\n123456\r\n12345")
	s := open(t, path, 5, "")
	dst := make([]stream.Record, 10)
	n, err := s.Read(t.Context(), dst)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.NoError(t, s.TooLong(dst[0]))
	require.NoError(t, s.TooLong(dst[1]))
	require.EqualError(t, s.TooLong(dst[2]), "the line is longer than 5B: raise line_bytes if such lines are right")
	require.EqualValues(t, 3, Line(dst[2].Position))
	require.Len(t, readAll(t, s, 1), 1)
}

func TestReadEndsWithItsContext(t *testing.T) {
	s := open(t, write(t, "a\n"), 0, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Read(ctx, make([]stream.Record, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, readAll(t, s, 1), 1, "nothing is lost")
}

func TestAReadThatFailsSaysWhere(t *testing.T) {
	s := open(t, write(t, "a\n"), 0, "")
	require.NoError(t, s.f.Close())
	for range 2 {
		_, err := s.Read(t.Context(), make([]stream.Record, 1))
		require.ErrorAs(t, err, new(*PathError))
		require.ErrorIs(t, err, fs.ErrClosed)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	s := open(t, write(t, numbered(200_000)), 0, "")
	dst := make([]stream.Record, 512)
	ctx := t.Context()
	read := func() {
		if n, err := s.Read(ctx, dst); n == 0 || err != nil {
			t.Error(n, err)
		}
	}
	read()
	require.Zero(t, testing.AllocsPerRun(300, read))
}

func TestLineOfAPosition(t *testing.T) {
	require.EqualValues(t, 12, Line([]byte("100:12:0000000000000000")))
	require.EqualValues(t, 12, Line([]byte("100:12")))
	require.Zero(t, Line([]byte("100")))
	require.Zero(t, Line([]byte("a:b:c")))
	require.Zero(t, Line(nil))
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("line=%d", size), func(b *testing.B) {
			const total = 32 << 20
			lines := total / size
			path := write(b, strings.Repeat(strings.Repeat("x", size-1)+"\n", lines))
			dst := make([]stream.Record, 512)
			b.SetBytes(int64(lines * size))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				s := open(b, path, 0, "")
				for {
					k, err := s.Read(b.Context(), dst)
					n += k
					if err == io.EOF {
						break
					}
				}
				_ = s.Close()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
