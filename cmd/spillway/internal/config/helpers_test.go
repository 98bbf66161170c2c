package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// good is a document without a fault.
const good = `name: orders
source: {file: {path: in.jsonl}}
sink: {kinesis: {stream: s, region: us-east-1}}
`

// load loads a document that is called p.yaml, with arguments and variables.
func load(t testing.TB, document string, args []string, env ...string) (*Loaded, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("p.yaml", []byte(document), 0o600))
	return Load(append([]string{"p.yaml"}, args...), env, strings.NewReader(""))
}

// faults are the lines of an error.
func faults(t testing.TB, err error) []string {
	t.Helper()
	require.Error(t, err)
	require.ErrorAs(t, err, new(Faults))
	return strings.Split(err.Error(), "\n")
}

func absent(t *testing.T) string { return filepath.Join(t.TempDir(), "no.yaml") }
