package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// nobody is a program that is not run.
type nobody struct{ name string }

func (*nobody) Prepare(context.Context) (string, error) { return "", nil }
func (*nobody) Command([]string) []string               { return nil }

var ours, peer = &nobody{"ours"}, &nobody{"peer"}

func all(quick bool) []harness.Suite {
	return []harness.Suite{Core(ours, peer, quick), State(ours, peer, quick)}
}

// every calls f with each contender.
func every(t *testing.T, quick bool, f func(t *testing.T, c harness.Case, x harness.Contender)) {
	for _, s := range all(quick) {
		for _, c := range s.Cases {
			for _, x := range c.Contenders {
				t.Run(strings.Join([]string{s.Name, c.Name, x.Name}, "/"), func(t *testing.T) { f(t, c, x) })
			}
		}
	}
}

// At small sizes: what a case compares is printed by each of our programs.
func TestEachOfOurProgramsPrintsWhatItsCaseCompares(t *testing.T) {
	every(t, true, func(t *testing.T, c harness.Case, x harness.Contender) {
		if x.Program != ours {
			return
		}
		var out bytes.Buffer
		require.NoError(t, Run(append(x.Args, "-n=1000", "-warm=1"), &out))
		var f map[string]float64
		require.NoError(t, json.Unmarshal(out.Bytes(), &f))
		for _, figure := range c.Figures {
			if figure != thread { // which Go does not tell
				require.Contains(t, f, figure.Name)
			}
			if figure.Better != "" {
				require.Positive(t, f[figure.Name], figure.Name)
			}
		}
	})
}

var setting = regexp.MustCompile(`^-?(destination|failing|size|warm|repeats|n)=(.*)$`)

// Ours and the peer's get the same work; only where a slow one would run for hours, fewer records.
func TestContendersOfACaseAreGivenTheSameWork(t *testing.T) {
	for _, quick := range []bool{false, true} {
		first := map[string]string{}
		every(t, quick, func(t *testing.T, c harness.Case, x harness.Contender) {
			for _, a := range x.Args {
				m := setting.FindStringSubmatch(a)
				if m == nil || c.Name == "failing" && m[1] == "n" {
					continue
				}
				id := fmt.Sprint(quick, c.Name, m[1])
				if _, ok := first[id]; !ok {
					first[id] = m[2]
				}
				require.Equal(t, first[id], m[2], m[1])
			}
		})
		require.Equal(t, "delay", first[fmt.Sprint(quick, "failing", "destination")])
		require.Equal(t, "10", first[fmt.Sprint(quick, "failing", "failing")])
	}
}

func TestFlinkIsAlwaysAPeer(t *testing.T) {
	every(t, false, func(t *testing.T, c harness.Case, x harness.Contender) {
		require.Equal(t, strings.HasPrefix(x.Name, "Flink"), x.Program == peer)
		if x.Program == peer {
			require.True(t, x.Peer)
		}
	})
}

func TestNamesAreUnique(t *testing.T) {
	for _, s := range all(false) {
		cases := map[string]bool{}
		for _, c := range s.Cases {
			require.False(t, cases[c.Name], c.Name)
			cases[c.Name] = true
			require.NotEmpty(t, c.About)
			require.NotEmpty(t, c.Figures)
			contenders := map[string]bool{}
			for _, x := range c.Contenders {
				require.False(t, contenders[x.Name], "%s: %s", c.Name, x.Name)
				contenders[x.Name] = true
			}
		}
	}
}

func TestTheQuickEditionIsSmaller(t *testing.T) {
	for _, text := range []string{fmt.Sprint(Core(ours, peer, true)), fmt.Sprint(State(ours, peer, true))} {
		require.NotRegexp(t, `n=[0-9]{7}`, text)
	}
}

func TestAProgramThatIsNotThereIsRefusedWithThoseThatAre(t *testing.T) {
	require.EqualError(t, Run(nil, io.Discard), "program: missing: must be one of checkpoint, plain-read, plain-write, restore, spill, state-in, state-out, state-pause, write")
	require.EqualError(t, Run([]string{"x"}, io.Discard), "program: x: must be one of checkpoint, plain-read, plain-write, restore, spill, state-in, state-out, state-pause, write")
}

func TestAValueThatAProgramDoesNotKnowIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"write -destination=moon":    "write: destination: moon: must be null or delay",
		"write -executor=hangman":    "write: executor: hangman: must be loop or lock",
		"write -order=none":          "write: order: none: must be unordered or per-key",
		"state-out -from=nothing":    "state-out: from: nothing: must be writer or entries",
		"state-in -size=big":         `state-in: invalid value "big" for flag -size`,
		"plain-read -dir=./no/such":  "plain-read: open ./no/such",
		"plain-write -dir=./no/such": "plain-write: open ./no/such",
		"state-pause -no-such-flag":  "flag provided but not defined: -no-such-flag",
	} {
		require.ErrorContains(t, Run(append(strings.Fields(args), "-n=1"), io.Discard), want)
	}
}

func TestAProgramTellsItsFlags(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run([]string{"write", "-h"}, &out))
	require.Contains(t, out.String(), "-destination")
}
