package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/benchmarks/harness"
	"github.com/spillway-go/spillway/benchmarks/peers/flink"
	"github.com/spillway-go/spillway/benchmarks/suites"
)

// TestMain is also the process of each run of our own programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "one" {
		main()
		return
	}
	// Else each process that the race detector watches waits for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func session(t *testing.T, args ...string) (code int, stdout, stderr string, out string) {
	t.Helper()
	out = t.TempDir()
	var o, e bytes.Buffer
	code = run(t.Context(), append(args, "-out", out), &o, &e)
	return code, o.String(), e.String(), out
}

// short is a session of one contender that is soon done; its peer cannot be had.
func short(t *testing.T) []string {
	t.Setenv("PATH", t.TempDir())
	return []string{"-quick", "-suite=state/pause-1M", "-allow-missing"}
}

func TestASessionEndsWithATableAndTheSamples(t *testing.T) {
	code, stdout, stderr, out := session(t, append(short(t), "-runs=2")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "### state/pause-1M")
	require.Contains(t, stdout, "runs of each contender: 2")
	files, err := filepath.Glob(filepath.Join(out, "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var r harness.Result
	require.NoError(t, json.Unmarshal(text, &r))
	require.Len(t, r.Samples, 2)
	text, err = os.ReadFile(strings.TrimSuffix(files[0], ".json") + ".md")
	require.NoError(t, err)
	require.Equal(t, stdout, string(text))
}

func TestAPeerThatCannotBeHadFailsTheSessionUnlessAllowed(t *testing.T) {
	code, stdout, stderr, _ := session(t, append(short(t), "-allow-missing=false")...)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stdout, "- Flink: **not run**: java is not on the PATH")
	require.Contains(t, stderr, "state/pause-1M: Flink: not run: java is not on the PATH")

	code, stdout, _, _ = session(t, short(t)...)
	require.Zero(t, code)
	require.Contains(t, stdout, "not run")
	require.Contains(t, stdout, "pause, median, ms")
}

func TestAFailedRunFailsTheSession(t *testing.T) {
	r := &harness.Result{Samples: []harness.Sample{{Suite: "s", Case: "c", Contender: "x", Round: 1, Error: "no memory"}}}
	var e bytes.Buffer
	require.Equal(t, exitFailed, verdict(r, true, &e))
	require.Equal(t, "benchmarks: s/c: x: round 1: no memory\n", e.String())
}

func TestAnInterruptedSessionIsSavedAndFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var o, e bytes.Buffer
	require.Equal(t, exitFailed, run(ctx, append(short(t), "-out", t.TempDir()), &o, &e))
	require.Contains(t, o.String(), "Interrupted")
	require.Contains(t, e.String(), "interrupted")
}

func TestAResultThatCannotBeSavedIsStillPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var o, e bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), append(short(t), "-out", file), &o, &e))
	require.Contains(t, o.String(), "### state/pause-1M")
	require.Contains(t, e.String(), "the result was not saved")
}

func TestAllFaultsOfTheCommandLineAreToldAtOnce(t *testing.T) {
	code, _, stderr, _ := session(t, "-suite=core/nul,state", "-runs=-1", "-limit=1ms")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `-suite: "core/nul": must be of core, core/null, core/async`)
	require.Contains(t, stderr, "-runs: -1: must be")
	require.Contains(t, stderr, "-limit: 1ms: must be")

	code, _, stderr, _ = session(t, "-fast")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "-fast")
	var o, e bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"core"}, &o, &e))
	require.Contains(t, e.String(), "core: not a flag")
}

func TestHelpNamesEachFlag(t *testing.T) {
	code, stdout, _, _ := session(t, "-h")
	require.Zero(t, code)
	for _, name := range []string{"-suite", "-runs", "-quick", "-out", "-seed", "-limit", "-allow-missing"} {
		require.Contains(t, stdout, name)
	}
}

// At small sizes: what a case compares is printed by Flink too.
func TestFlinkPrintsWhatItsCaseCompares(t *testing.T) {
	peer := &flink.Flink{}
	if _, err := peer.Prepare(t.Context()); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ours := &harness.Self{Args: []string{"one"}}
	for _, s := range []harness.Suite{suites.Core(ours, peer, true), suites.State(ours, peer, true)} {
		for i, c := range s.Cases {
			s.Cases[i].Contenders = slices.DeleteFunc(c.Contenders, func(x harness.Contender) bool { return x.Program != peer })
			for j, x := range s.Cases[i].Contenders {
				s.Cases[i].Contenders[j].Args = append(slices.Clone(x.Args), "n=1000", "warm=0")
			}
		}
		var log bytes.Buffer
		r := (&harness.Runner{Runs: 1, Seed: 1, Limit: 60e9, Log: &log}).Run(t.Context(), []harness.Suite{s})
		require.Empty(t, r.Failed())
		for _, sample := range r.Samples {
			for _, c := range s.Cases {
				for _, f := range c.Figures {
					if c.Name == sample.Case && f.Better != "" {
						require.Contains(t, sample.Figures, f.Name, "%s: %s", c.Name, sample.Contender)
					}
				}
			}
		}
	}
}

func TestTheSameCommandRunsOneProgram(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.Command(path, "one", "state-in", "-n=100", "-size=10").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "gb_per_second")
	_, err = exec.Command(path, "one", "nothing").Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Contains(t, string(exit.Stderr), "benchmarks: program: nothing: must be one of")
}
