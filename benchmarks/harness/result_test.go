package harness

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// session is a result with one of everything.
func session() *Result {
	at := func(s int) time.Time { return time.Date(2026, 3, 4, 5, 6, 7+s, 0, time.UTC) }
	sample := func(s, round int, contender string, cost, rate float64) Sample {
		return Sample{
			Suite: "core", Case: "null", Contender: contender, Round: round, Started: at(s), Load: 0.5, Others: 0.02,
			Wall: 1.5, CPU: 1.25, Peak: 30 << 20, Figures: map[string]float64{"cost": cost, "rate": rate, "retries": 0.125},
		}
	}
	failed := sample(30, 3, "Peer, tuned", 0, 0)
	failed.Figures, failed.Error = nil, "java: exit status 1: Exception in thread \"main\"\n\tat a|b"
	return &Result{
		Format: Format, Started: at(0), Finished: at(95), Runs: 3, Seed: 42,
		Commit: Commit{Hash: "0123abcd", Dirty: true},
		Machine: Machine{CPU: "Quick 9000", Cores: 2, Memory: 24 << 30, Kernel: "6.1", System: "linux/amd64", Go: "go1.26.0",
			Env: map[string]string{"GOGC": "200"}},
		Suites: []Suite{{
			Name: "core", About: "What a record costs.",
			Cases: []Case{{
				Name: "null", About: "A destination that takes everything.",
				Figures: []Figure{{"cost", "CPU time, ns", Lower}, {"rate", "records/s", Higher}, {"retries", "retries", ""}},
				Contenders: []Contender{
					{Name: "Spillway", Args: []string{"write", "-n=5"}, Version: "this commit, go1.26.0"},
					{Name: "Peer", Peer: true, Args: []string{"Write", "n=5"}, Version: "Peer 1.0"},
					{Name: "Peer, tuned", Peer: true, Args: []string{"Write", "tuned=1"}, Version: "Peer 1.0"},
					{Name: "Other", Peer: true, NotRun: "mvn is not on the PATH"},
				},
			}, {
				Name: "alone", About: "A case without a peer.", Figures: []Figure{{"cost", "CPU time, ns", Lower}},
				Contenders: []Contender{{Name: "Spillway", Version: "this commit, go1.26.0"}},
			}, {
				Name: "floor", About: "A case of peers.", Figures: []Figure{{"cost", "CPU time, ns", Lower}},
				Contenders: []Contender{{Name: "Plain", Peer: true, Version: "this commit, go1.26.0"}},
			}},
		}},
		Samples: []Sample{
			sample(0, 1, "Spillway", 20, 12_345_678), sample(5, 1, "Peer", 80, 6_000_000), sample(10, 1, "Peer, tuned", 40, 10_000_000),
			sample(15, 2, "Peer", 160, 3_000_000), sample(20, 2, "Spillway", 32, 10_000_000), sample(25, 2, "Peer, tuned", 80, 5_000_000),
			failed, sample(35, 3, "Spillway", 22, 12_000_000), sample(40, 3, "Peer", 66, 6_000_000),
			{Suite: "core", Case: "alone", Contender: "Spillway", Round: 1, Started: at(90), Figures: map[string]float64{"cost": 450}},
			{Suite: "core", Case: "floor", Contender: "Plain", Round: 1, Started: at(92), Figures: map[string]float64{"cost": 5}},
		},
	}
}

func TestAResultIsSavedAsTheGoldenFilesAndReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := session()
	jsonPath, markdownPath, err := r.Save(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "2026-03-04T050607Z.json"), jsonPath)
	require.Equal(t, filepath.Join(dir, "2026-03-04T050607Z.md"), markdownPath)
	for got, golden := range map[string]string{jsonPath: "testdata/result.json", markdownPath: "testdata/result.md"} {
		text, err := os.ReadFile(got)
		require.NoError(t, err)
		if *rewrite {
			require.NoError(t, os.WriteFile(golden, text, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), golden)
	}
	text, err := os.ReadFile("testdata/result.json")
	require.NoError(t, err)
	back := &Result{}
	require.NoError(t, json.Unmarshal(text, back))
	require.Equal(t, r, back)
}

func TestNothingIsLeftBehindBesideTheTwoFiles(t *testing.T) {
	dir := t.TempDir()
	_, _, err := session().Save(dir)
	require.NoError(t, err)
	_, _, err = session().Save(dir)
	require.NoError(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2)
}

func TestAFileThatCantBePutInItsPlaceLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	r := session()
	inTheWay := filepath.Join(dir, "2026-03-04T050607Z.json")
	require.NoError(t, os.MkdirAll(filepath.Join(inTheWay, "x"), 0o755))
	_, _, err := r.Save(dir)
	require.Error(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, _, err = r.Save(filepath.Join(inTheWay, "x", "\x00"))
	require.Error(t, err)
}

func TestTheQuickEditionSaysThatItIsOne(t *testing.T) {
	r := session()
	r.Quick, r.Commit = true, Commit{}
	text := r.Markdown()
	require.Contains(t, text, "Quick edition")
	require.Contains(t, text, "| unknown ")
	require.NotContains(t, session().Markdown(), "Quick edition")
}

func TestABusyMachineIsWarnedOf(t *testing.T) {
	r := session()
	require.NotContains(t, r.Markdown(), "say little")
	for i := range r.Samples {
		r.Samples[i].Others = 0.35
	}
	require.Contains(t, r.Markdown(), "**Other programs took 35 % of the machine's CPU meanwhile: rates, wall times and pauses say little.**")
}
