package core

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var bugs = flag.Bool("bugs", false, "seed each bug of the list into the core and require that the simulation finds it (about two minutes)")

// seededBug is one wrong line: old occurs once in file, and new takes its place.
type seededBug struct{ name, file, old, new string }

// TestTheListOfSeededBugsFitsTheCore keeps the list below from rotting.
func TestTheListOfSeededBugsFitsTheCore(t *testing.T) {
	names := map[string]bool{}
	for _, b := range seededBugs {
		source, err := os.ReadFile(b.file)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(source), b.old), "%s: %q must occur once in %s", b.name, b.old, b.file)
		require.NotEqual(t, b.old, b.new, b.name)
		require.False(t, names[b.name], b.name)
		names[b.name] = true
	}
}

// TestTheSimulationFindsSeededBugs proves the proof: with any of these bugs in
// the core, the simulation fails and prints the seed to replay.
//
//	go test ./asyncsink/internal/core -run SeededBugs -bugs -v -timeout 30m
func TestTheSimulationFindsSeededBugs(t *testing.T) {
	if !*bugs {
		t.Skip("give -bugs to build and run a core for each of the seeded bugs")
	}
	for _, b := range seededBugs {
		t.Run(b.name, func(t *testing.T) {
			out, err := simulateWith(t, b)
			require.Error(t, err, "2,000 schedules did not find it")
			found := regexp.MustCompile(`seed \d+: .*`).FindString(out)
			require.NotEmpty(t, found, "no seed was printed:\n%s", out)
			t.Log(found)
		})
	}
}

// simulateWith runs the simulation on a core with the bug, which is laid over
// the source for that one build.
func simulateWith(t *testing.T, b seededBug) (output string, err error) {
	source, err := filepath.Abs(b.file)
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	mutant := filepath.Join(t.TempDir(), b.file)
	require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(text), b.old, b.new, 1)), 0o600))
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {source: mutant}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))

	out, err := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout=2m",
		"-run", "^TestSimulation$", "-schedules", "2000").CombinedOutput()
	require.NotContains(t, string(out), "build failed")
	return string(out), err
}
