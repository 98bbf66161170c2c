package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATableIsAsWideAsItsFirstRowsAndNeverTooWide(t *testing.T) {
	var b strings.Builder
	table := table{w: &b, indent: "  ", columns: []column{{"N", true}, {"NAME", false}, {"NOTE", false}}}
	table.row("1", "é", "")
	table.under("    below")
	table.row("1,000", "a\nb", strings.Repeat("x", 200))
	table.end()
	table.row("1,000,000", "later", "y")
	table.under("    below, too")
	table.end()
	require.Equal(t, "      N  NAME  NOTE\n      1  é\n    below\n  1,000  a b   "+strings.Repeat("x", 82)+"...\n  1,000,000  later  y\n    below, too\n", b.String())

	b.Reset()
	table.widths = nil
	table.end()
	require.Empty(t, b.String(), "no head without a row")
	for range firstRows {
		table.row("1", "2", "3")
	}
	require.Empty(t, b.String())
	table.row("1,000", "2", "3")
	require.Equal(t, firstRows+2, strings.Count(b.String(), "\n"), "the first rows decide how wide it is")
}

func TestAParagraphIsBroken(t *testing.T) {
	var b strings.Builder
	paragraph(&b, "  ", strings.Repeat("word ", 25)+"\n"+strings.Repeat("x", 120))
	require.Equal(t, "  "+strings.TrimSpace(strings.Repeat("word ", 19))+"\n  "+strings.TrimSpace(strings.Repeat("word ", 6))+"\n  "+strings.Repeat("x", 120)+"\n", b.String())
}

func TestSizesSpansAndCountsReadAsPeopleWriteThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KiB", 1<<20 - 1: "1.0MiB", 5 << 30: "5.0GiB", 1536: "1.5KiB", 1 << 62: "4.0EiB"} {
		require.Equal(t, want, size(n))
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 340 * time.Millisecond: "340ms", 59*time.Second + 900*time.Millisecond: "59s", 220 * time.Second: "3m40s",
		5*time.Hour + 2*time.Minute: "5h2m", 76 * time.Hour: "3d4h",
	} {
		require.Equal(t, want, span(d))
	}
	require.Equal(t, "1 entry", count(1, "entry"))
	require.Equal(t, "2,000 entries", count(2000, "entry"))
	require.Equal(t, "0 places", count(0, "place"))
}
