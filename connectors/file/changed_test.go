package file

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/stream"
)

func TestAFileThatIsTruncatedAndWrittenAnewWhileItIsReadIsNoEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("0123456789\n", 100_000)), 0o600))
	s, err := Open(Config{Path: path})
	require.NoError(t, err)
	require.NoError(t, s.Assign([]stream.Split{{ID: FileSplit}}))
	dst := make([]stream.Record, 512)
	_, err = s.Read(t.Context(), dst)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("abcdefghijklmnop\n", 50_000)), 0o600))
	for err == nil {
		_, err = s.Read(t.Context(), dst)
	}
	require.NotErrorIs(t, err, io.EOF)
	require.ErrorAs(t, err, new(*ChangedError))
	require.NoError(t, s.Close())
}
