package file

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// got is a record as a test keeps it.
type got struct {
	Value    string
	Position string
}

// model is what a source makes of a text, written for the reader and not for speed.
func model(text string, limit int) (all []got) {
	at := mark{}
	for len(text) > 0 {
		end := strings.IndexByte(text, '\n') + 1
		line, whole := text, false
		if end > 0 {
			line, whole = text[:end], true
		}
		text = text[len(line):]
		at.advance([]byte(line))
		at.line++
		value := line
		if whole {
			value = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		}
		if value == "" {
			continue
		}
		if len(value) > limit {
			value = value[:limit+1]
		}
		all = append(all, got{value, string(at.append(nil))})
	}
	return all
}

// readAll reads to the end, a few records at a time.
func readAll(t testing.TB, s stream.Source, few int) (all []got) {
	t.Helper()
	dst := make([]stream.Record, few)
	for {
		n, err := s.Read(context.Background(), dst)
		for _, r := range dst[:n] {
			all = append(all, got{string(r.Value), string(r.Position)})
		}
		if err == io.EOF {
			require.Zero(t, n)
			return all
		}
		require.NoError(t, err)
		require.NotZero(t, n)
	}
}

// write makes a file of a text.
func write(t testing.TB, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "in.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// open opens a source, at a position if there is one.
func open(t testing.TB, path string, limit limits.Bytes, position string) *Source {
	t.Helper()
	s, err := Open(Config{Path: path, LineBytes: limit})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.NoError(t, assign(s, position))
	return s
}

func assign(s stream.Source, position string) error {
	splits, err := s.Discover(context.Background())
	if err != nil {
		return err
	}
	if position != "" {
		splits[0].Position = []byte(position)
	}
	return s.Assign(splits)
}
