package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	lineWidth = 100 // of what is written for people; what is longer is cut in its last column
	firstRows = 64  // rows that the widths of columns are taken from, so that any number of them passes through little memory
	gap       = "  "
)

// column is one of a table.
type column struct {
	title string
	right bool // numbers stand at the right
}

// table writes rows in columns.
type table struct {
	w       io.Writer
	indent  string
	columns []column
	widths  []int // nil: not known yet
	waiting []row
}

type row struct {
	cells []string
	under string // lines below it
}

// row adds a row. What is written is seen at the latest by end.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = tame(c)
	}
	if t.widths != nil {
		t.write(cells)
		return
	}
	if len(t.waiting) == firstRows {
		t.end()
		t.write(cells)
		return
	}
	t.waiting = append(t.waiting, row{cells: cells})
}

// under adds a line below the last row, as long as it is.
func (t *table) under(line string) {
	if t.widths == nil {
		t.waiting[len(t.waiting)-1].under += line + "\n"
		return
	}
	_, _ = io.WriteString(t.w, line+"\n")
}

// end writes what waits.
func (t *table) end() {
	if t.widths != nil || len(t.waiting) == 0 {
		return
	}
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.title
	}
	t.widths = make([]int, len(t.columns))
	rows := append([]row{{cells: head}}, t.waiting...)
	t.waiting = nil
	for _, r := range rows {
		for i, c := range r.cells {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		t.write(r.cells)
		_, _ = io.WriteString(t.w, r.under)
	}
}

func (t *table) write(cells []string) {
	var b strings.Builder
	b.WriteString(t.indent)
	for i, c := range cells {
		if i > 0 {
			b.WriteString(gap)
		}
		pad := strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(c)))
		if t.columns[i].right {
			c, pad = pad+c, ""
		}
		b.WriteString(c)
		if i < len(cells)-1 {
			b.WriteString(pad)
		}
	}
	_, _ = io.WriteString(t.w, cut(strings.TrimRight(b.String(), " "), lineWidth)+"\n") // w keeps its error
}

// cut shortens a line to a number of characters.
func cut(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most-3]) + "..."
}

// paragraph writes a text in lines that are not too wide.
func paragraph(w io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(tame(text)) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth {
			fmt.Fprintln(w, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(w, line)
}

// size writes bytes as people read them: 17B, 1.2MiB.
func size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	v, unit := float64(n)/(1<<10), 0
	const units = "KMGTPE"
	for v >= 999.95 && unit < len(units)-1 {
		v /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f%ciB", v, units[unit])
}

// span writes a duration in its two largest units: 340ms, 12s, 3m40s, 5h2m, 3d4h.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// instant writes a time to the second.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
