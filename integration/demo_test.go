package integration

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheDemoLosesNothing runs what the README offers first. Its verdict is
// counted from the stream, so here it is only asked for.
func TestTheDemoLosesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, spillway, "demo").CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "SIGKILL: worker")
	require.Contains(t, string(out), "restored checkpoint=")
	require.Contains(t, string(out), "\nlost 0\n")
}
