package core

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pure is what the core may import and, where a package can do more than
// compute, what of it may be used. (Nil: all of it.) The clock, global
// randomness, goroutines, locks and I/O belong to the shell.
var pure = map[string][]string{
	"cmp":          nil,
	"errors":       nil,
	"fmt":          {"Errorf", "Sprint", "Sprintf"},
	"iter":         nil,
	"math":         nil,
	"math/bits":    nil,
	"math/rand/v2": {"Rand"}, // a source that the shell injects
	"slices":       nil,
	"sort":         nil,
	"time": {
		"Duration", "Time", "Unix",
		"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
	},
	"golang.org/x/time/rate":                           {"Limit", "Limiter", "NewLimiter"},
	"github.com/spillway-go/spillway/asyncsink/limits": nil,
}

// readsClock are rate.Limiter's methods that ask for the time themselves; each
// has a twin that is given it.
var readsClock = []string{"Allow", "Reserve", "Wait", "WaitN", "Tokens", "SetLimit", "SetBurst"}

func TestTheCoreIsPure(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	checked := 0
	for _, f := range files {
		if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Empty(t, impurities(t, name, string(source)))
			checked++
		}
	}
	require.Greater(t, checked, 10)
}

func TestImpuritiesAreFound(t *testing.T) {
	for source, want := range map[string]string{
		`import "sync"`:                                "imports sync",
		`import "os"`:                                  "imports os",
		`import "math/rand"`:                           "imports math/rand",
		`import . "time"`:                              "imports time under another name",
		`import clock "time"`:                          "imports time under another name",
		`import "time"; var t = time.Now()`:            "uses time.Now",
		`import "time"; var f = time.Since`:            "uses time.Since",
		`import "time"; func f() { time.Sleep(1) }`:    "uses time.Sleep",
		`import "time"; var t *time.Timer`:             "uses time.Timer",
		`import "math/rand/v2"; var n = rand.IntN(3)`:  "uses rand.IntN",
		`import "fmt"; func f() { fmt.Println() }`:     "uses fmt.Println",
		`func f() { println() }`:                       "calls println",
		`func f() { go f() }`:                          "starts a goroutine",
		`var c chan int`:                               "has a channel",
		`func f(c interface{ C() <-chan int }) {}`:     "has a channel",
		`func f[C ~[]T, T any](c T) { select {} }`:     "selects",
		`func f(l interface{ Allow() }) { l.Allow() }`: "calls Allow, which reads the clock",
		`func init() {}`:                               "has an init function",
	} {
		got := impurities(t, "example.go", "package core\n"+source)
		require.Len(t, got, 1, source)
		require.Contains(t, got[0], want)
	}
	require.Empty(t, impurities(t, "example.go", `package core
import "time"
func f(t time.Time, d time.Duration) time.Time { return t.Add(d * time.Second) }`))
}

// impurities lists what a file does that the core must not, with the lines.
func impurities(t *testing.T, name, source string) (found []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	report := func(at ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%v: ", fset.Position(at.Pos()))+fmt.Sprintf(format, args...))
	}
	allowed := map[string][]string{} // by the name in this file
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		require.NoError(t, err)
		of, ok := pure[path]
		switch {
		case !ok:
			report(i, "imports %s", path)
		case i.Name != nil:
			report(i, "imports %s under another name", path)
		case of != nil:
			allowed[packageName(path)] = of
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "starts a goroutine")
		case *ast.SelectStmt:
			report(n, "selects")
		case *ast.ChanType:
			report(n, "has a channel")
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				report(n, "has an init function")
			}
		case *ast.SelectorExpr:
			if p, ok := n.X.(*ast.Ident); ok {
				if of, ok := allowed[p.Name]; ok && !slices.Contains(of, n.Sel.Name) {
					report(n, "uses %s.%s", p.Name, n.Sel.Name)
				}
			}
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.Ident:
				if f.Name == "print" || f.Name == "println" {
					report(n, "calls %s", f.Name)
				}
			case *ast.SelectorExpr:
				if slices.Contains(readsClock, f.Sel.Name) {
					report(n, "calls %s, which reads the clock", f.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}

// packageName is the name that an import goes by: the last element that is no version.
func packageName(path string) string {
	parts := strings.Split(path, "/")
	if last := parts[len(parts)-1]; len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		parts = parts[:len(parts)-1]
	}
	return parts[len(parts)-1]
}
