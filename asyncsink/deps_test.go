package asyncsink

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever embeds a writer takes no other dependency in.
func TestThePackageNeedsTheStandardLibraryTheRateLimiterAndThisModuleOnly(t *testing.T) {
	const format = "{{if not .Standard}}{{.ImportPath}}{{end}}"
	out, err := exec.Command("go", "list", "-deps", "-f", format, "github.com/spillway-go/spillway/asyncsink").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.Contains(t, packages, "golang.org/x/time/rate")
	for _, p := range packages {
		if p != "golang.org/x/time/rate" {
			require.True(t, strings.HasPrefix(p, "github.com/spillway-go/spillway/"), p)
		}
	}
}
