// Package docs holds the guides, and a test that what they cite is there.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link     = regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+)[^)]*\)`)
	external = regexp.MustCompile(`^[a-z]+:`)
	code     = regexp.MustCompile("(?ms)^```.*?^```")
	cited    = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)\w*$`)
)

// Every relative link leads to a file, and where its text is a test's name the file has that test.
func TestWhatTheGuidesCiteIsThere(t *testing.T) {
	guides, err := filepath.Glob("*.md")
	require.NoError(t, err)
	tests := 0
	for _, guide := range append(guides, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(guide)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			name, path := m[1], m[2]
			if external.MatchString(path) {
				continue
			}
			path = filepath.Join(filepath.Dir(guide), path)
			_, err := os.Stat(path)
			require.NoError(t, err, "%s: [%s]", guide, name)
			if cited.MatchString(name) {
				source, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Regexp(t, `(?m)^func `+name+`\(`, string(source), "%s: %s", guide, path)
				tests++
			}
		}
	}
	require.Greater(t, tests, 50)
}
