package harness

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func runner(runs int) *Runner {
	return &Runner{Runs: runs, Seed: 7, Limit: ample, Log: io.Discard}
}

func suiteOf(contenders ...Contender) []Suite {
	return []Suite{{Name: "s", Cases: []Case{{Name: "c", Figures: []Figure{{Name: "cost", Label: "cost", Better: Lower}}, Contenders: contenders}}}}
}

func prints(name string, p Program) Contender {
	return Contender{Name: name, Program: p, Args: []string{"print", `{"cost":2}`}}
}

func TestContendersTakeTurnsInTheOrderOfTheSeed(t *testing.T) {
	a := &actor{}
	names := []string{"one", "two", "three"}
	r := runner(4).Run(t.Context(), suiteOf(prints("one", a), prints("two", a), prints("three", a)))
	var want, got []string
	for _, round := range order(4, 3, 7) {
		for _, i := range round {
			want = append(want, names[i])
		}
	}
	for i, s := range r.Samples {
		got = append(got, s.Contender)
		require.Equal(t, i/3+1, s.Round)
		require.Empty(t, s.Error)
		require.Equal(t, map[string]float64{"cost": 2}, s.Figures)
		require.Positive(t, s.Wall)
		require.GreaterOrEqual(t, s.Others, 0.0)
		require.LessOrEqual(t, s.Others, 1.0)
	}
	require.Equal(t, want, got)
	require.Empty(t, r.Failed())
	require.Empty(t, r.Missing())
	require.False(t, r.Interrupted)
}

func TestAProgramIsPreparedOnceASession(t *testing.T) {
	a := &actor{}
	runner(2).Run(t.Context(), suiteOf(prints("one", a), prints("two", a)))
	require.Equal(t, 1, a.prepared)
}

func TestWhoFailsOrHangsIsReportedAndTheOthersRunOn(t *testing.T) {
	a := &actor{}
	r := runner(1)
	r.Limit = brief
	result := r.Run(t.Context(), suiteOf(
		Contender{Name: "fails", Program: a, Args: []string{"fail", "no memory"}},
		Contender{Name: "hangs", Program: a, Args: []string{"hang", filepath.Join(t.TempDir(), "pid")}},
		prints("works", a),
	))
	require.Len(t, result.Samples, 3)
	failed := strings.Join(result.Failed(), "\n")
	require.Contains(t, failed, "s/c: fails: round 1: ")
	require.Contains(t, failed, "exit status 3: no memory")
	require.Contains(t, failed, "s/c: hangs: round 1: not done after 2s: ended")
	require.Len(t, result.values("s", "c", "works", "cost"), 1)
}

func TestWhoCannotBeHadIsNotRunAndTheReasonIsKept(t *testing.T) {
	missing := &actor{missing: "mvn is not on the PATH"}
	r := runner(2).Run(t.Context(), suiteOf(prints("ours", &actor{}), prints("peer", missing)))
	require.Len(t, r.Samples, 2)
	require.Equal(t, []string{"s/c: peer: not run: mvn is not on the PATH"}, r.Missing())
	require.Contains(t, r.Suites[0].Cases[0].Contenders[0].Version, "this commit")
}

func TestAnInterruptedSessionKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stops := &stopper{cancel: cancel, after: 3}
	r := runner(5).Run(ctx, suiteOf(prints("a", stops)))
	require.True(t, r.Interrupted)
	require.Len(t, r.Samples, 2, "the third run was cut off: it is no sample")
	require.Empty(t, r.Failed())
	require.Contains(t, r.Markdown(), "Interrupted")
}

// stopper ends the session when it is asked for a run too many.
type stopper struct {
	actor
	cancel context.CancelFunc
	after  int
}

func (s *stopper) Command(args []string) []string {
	if s.after--; s.after == 0 {
		s.cancel()
	}
	return s.actor.Command(args)
}

func TestTheSuitesThatAreRunAreNotChanged(t *testing.T) {
	suites := suiteOf(prints("ours", &actor{}))
	runner(1).Run(t.Context(), suites)
	require.Empty(t, suites[0].Cases[0].Contenders[0].Version)
}
