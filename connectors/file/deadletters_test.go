package file

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func letters(t *testing.T, path string) *DeadLetters {
	t.Helper()
	d, err := OpenDeadLetters(DeadLetterConfig{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestADeadLetterIsALineOfJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.jsonl")
	d := letters(t, path)
	when := time.Date(2026, 1, 2, 15, 4, 5, 123456789, time.FixedZone("", 3600))
	require.NoError(t, d.Write(t.Context(), []DeadLetter{
		{when, "rejected", errors.New(`<no "way">`), 3, "file", []byte("12:3:0011223344556677"), "käse", []byte("a\x00b")},
		{Time: when, Position: []byte{0, 1}},
	}))
	require.NoError(t, d.Write(t.Context(), []DeadLetter{{Time: when, Class: "age"}}))
	require.Equal(t, `{"time":"2026-01-02T14:04:05.123456789Z","class":"rejected","error":"<no \"way\">","attempts":3,"split":"file","position":"12:3:0011223344556677","key":"käse","data":"YQBi"}
{"time":"2026-01-02T14:04:05.123456789Z","class":"","error":"","attempts":0,"split":"","position":"base64:AAE=","key":"","data":""}
{"time":"2026-01-02T14:04:05.123456789Z","class":"age","error":"","attempts":0,"split":"","position":"","key":"","data":""}
`, content(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

func TestLettersAreAppendedAndATornLineGetsItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n{\"time\":"), 0o644))
	require.NoError(t, letters(t, path).Close())
	require.Equal(t, "{}\n{\"time\":\n", content(t, path))
	d := letters(t, path)
	require.NoError(t, d.Write(t.Context(), []DeadLetter{{Class: "age"}}))
	lines := strings.Split(content(t, path), "\n")
	require.Len(t, lines, 4)
	require.Contains(t, lines[2], `"class":"age"`)
}

func TestAFailedWriteSaysSoAndSpoilsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.jsonl")
	d := letters(t, path)
	// The disk was full in the middle of a line: what append leaves behind then.
	require.NoError(t, d.append([]byte(`{"time":"20`)))
	require.NoError(t, d.Write(t.Context(), []DeadLetter{{Class: "age"}}))
	lines := strings.Split(content(t, path), "\n")
	require.Equal(t, `{"time":"20`, lines[0])
	require.True(t, json.Valid([]byte(lines[1])))

	require.NoError(t, d.Close())
	err := d.Write(t.Context(), []DeadLetter{{Class: "age"}})
	require.ErrorAs(t, err, new(*PathError))
	require.ErrorIs(t, err, fs.ErrClosed)
	require.ErrorAs(t, d.Close(), new(*PathError))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Write(ctx, nil), context.Canceled)
	require.Error(t, letters(t, path).Write(t.Context(), []DeadLetter{{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}))
}

func TestWhatCannotKeepLettersIsNamed(t *testing.T) {
	dir := t.TempDir()
	for path, is := range map[string]error{
		dir:                            ErrDirectory,
		os.DevNull:                     ErrNotDurable,
		filepath.Join(dir, "no", "it"): fs.ErrNotExist,
	} {
		_, err := OpenDeadLetters(DeadLetterConfig{Path: path})
		require.ErrorIs(t, err, is)
		require.ErrorContains(t, err, "open dead-letter file "+path+": ")
	}
	_, err := OpenDeadLetters(DeadLetterConfig{})
	require.EqualError(t, err, "dead-letter file: path: none: must be set")
}

func TestLettersOfSeveralWritersDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.jsonl")
	var wg sync.WaitGroup
	for range 4 {
		d := letters(t, path)
		for range 2 {
			wg.Go(func() {
				for range 20 {
					if err := d.Write(context.Background(), []DeadLetter{{Class: "age", Data: make([]byte, 5000)}, {Class: "age"}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(content(t, path), "\n"), "\n")
	require.Len(t, lines, 4*2*20*2)
	for _, l := range lines {
		require.True(t, json.Valid([]byte(l)), l)
	}
}
