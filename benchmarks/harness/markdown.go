package harness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ofProcess are the figures that are measured from outside. They are shown and not
// compared: start and warm-up are in the times, and a JVM takes the heap that it is given.
var ofProcess = []struct {
	Figure
	of func(Sample) float64
}{
	{Figure{"", "process: peak memory, MiB", ""}, func(s Sample) float64 { return float64(s.Peak) / (1 << 20) }},
	{Figure{"", "process: CPU time, s", ""}, func(s Sample) float64 { return s.CPU }},
	{Figure{"", "process: wall time, s", ""}, func(s Sample) float64 { return s.Wall }},
}

// Markdown is the result for a reader: what was run on what, the first figure of
// each case, then all of them.
func (r *Result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks, %s\n\n", r.Started.UTC().Format("2 January 2006"))
	if r.Interrupted {
		b.WriteString("**Interrupted: runs are missing.**\n\n")
	}
	if r.Quick {
		b.WriteString("**Quick edition: sizes so small, and runs so few, that the figures say little. It shows that everything runs.**\n\n")
	}
	r.head(&b)
	if o := 100 * r.others().median; o > noisy {
		fmt.Fprintf(&b, "\n**Other programs took %s %% of the machine's CPU meanwhile: rates, wall times and pauses say little.**\n", number(o))
	}
	r.summary(&b)
	for _, s := range r.Suites {
		fmt.Fprintf(&b, "\n## Suite %s\n\n%s\n", s.Name, s.About)
		for _, c := range s.Cases {
			fmt.Fprintf(&b, "\n### %s/%s\n\n%s\n\n", s.Name, c.Name, c.About)
			r.caseTable(&b, s.Name, c)
		}
	}
	return b.String()
}

func (r *Result) head(b *strings.Builder) {
	m := r.Machine
	t := table{head: []string{"what", "value"}}
	commit := r.Commit.Hash
	if commit == "" {
		commit = "unknown"
	}
	if r.Commit.Dirty {
		commit += ", with changes that are not committed"
	}
	t.add("commit", commit)
	t.add("session", fmt.Sprintf("%s, %v, runs of each contender: %d, seed %d",
		r.Started.UTC().Format(time.RFC3339), r.Finished.Sub(r.Started).Round(time.Second), r.Runs, r.Seed))
	t.add("machine", fmt.Sprintf("%s, %d cores, %.1f GiB, %s %s", m.CPU, m.Cores, float64(m.Memory)/(1<<30), m.System, m.Kernel))
	seen := map[string]bool{}
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			for _, x := range c.Contenders {
				if x.Version != "" && !seen[x.Version] {
					seen[x.Version] = true
					t.add("ran", x.Version)
				}
			}
		}
	}
	for _, name := range sortedKeys(m.Env) {
		t.add("environment", name+"="+m.Env[name])
	}
	if len(r.Samples) > 0 {
		var loads []float64
		for _, s := range r.Samples {
			loads = append(loads, s.Load)
		}
		o, l := r.others(), spreadOf(loads)
		t.add("CPU that went elsewhere during runs", fmt.Sprintf("median %s %%, at most %s %%", number(100*o.median), number(100*o.max)))
		t.add("load average before runs, earlier runs in it", fmt.Sprintf("median %s, at most %s", number(l.median), number(l.max)))
	}
	t.write(b)
	b.WriteString(`
Contenders of a case take turns, each run in a process of its own. An advantage is how many times better ours is than the peer, round
by round: the median of the rounds (the least to the most). 2x is half the cost or twice the rate; below 1x the peer is better. Where
other programs took much of the machine, trust advantages and CPU times, not rates.
`)
}

// noisy is the share of the CPU, in percent, from which on what went elsewhere is warned of.
const noisy = 20

// others is the share of the CPU that went elsewhere, over all runs.
func (r *Result) others() spread {
	var all []float64
	for _, s := range r.Samples {
		all = append(all, s.Others)
	}
	if all == nil {
		return spread{}
	}
	return spreadOf(all)
}

// summary is the first figure of each case.
func (r *Result) summary(b *strings.Builder) {
	t := table{head: []string{"case", "figure", "contender", "median", "peer", "its median", "advantage"}}
	for _, s := range r.Suites {
		for _, c := range s.Cases {
			r.summarize(&t, s.Name, c)
		}
	}
	if len(t.rows) > 0 {
		b.WriteString("\n## The first figure of each case\n\n")
		t.write(b)
	}
}

func (r *Result) summarize(t *table, suite string, c Case) {
	f := c.Figures[0]
	name, label := suite+"/"+c.Name, f.Label
	row := func(ours Contender, median string, more ...string) {
		t.add(append([]string{name, label, ours.Name, median}, more...)...)
		name, label = "", "" // said once
	}
	for _, ours := range c.Contenders {
		values := r.values(suite, c.Name, ours.Name, f.Name)
		if ours.Peer || len(values) == 0 {
			continue
		}
		median, alone := number(spreadOf(list(values)).median), true
		for _, peer := range c.Contenders {
			its := r.values(suite, c.Name, peer.Name, f.Name)
			if peer.Peer && len(its) > 0 {
				row(ours, median, peer.Name, number(spreadOf(list(its)).median), times(f.Better, values, its))
				alone = false
			}
		}
		if alone {
			row(ours, median, "", "", "")
		}
	}
}

// caseTable is every figure of a case, of each contender that printed it.
func (r *Result) caseTable(b *strings.Builder, suite string, c Case) {
	t := table{head: []string{"figure", "contender", "median", "min", "max"}}
	var peers []Contender
	isOurs := func(x Contender) bool { return !x.Peer }
	for _, x := range c.Contenders {
		if x.Peer && x.NotRun == "" && slices.ContainsFunc(c.Contenders, isOurs) {
			peers = append(peers, x)
			t.head = append(t.head, "advantage over "+x.Name)
		}
	}
	add := func(f Figure, of func(contender string) map[int]float64) {
		label := f.Label
		if f.Better != "" {
			label += ", " + string(f.Better) + " is better"
		}
		for _, x := range c.Contenders {
			values := of(x.Name)
			if len(values) == 0 {
				continue
			}
			s := spreadOf(list(values))
			row := []string{label, x.Name, number(s.median), number(s.min), number(s.max)}
			for _, peer := range peers {
				if x.Peer {
					row = append(row, "")
				} else {
					row = append(row, times(f.Better, values, of(peer.Name)))
				}
			}
			t.add(row...)
			label = "" // said once
		}
	}
	for _, f := range c.Figures {
		add(f, func(x string) map[int]float64 { return r.values(suite, c.Name, x, f.Name) })
	}
	for _, f := range ofProcess {
		add(f.Figure, func(x string) map[int]float64 {
			all := map[int]float64{}
			for _, s := range r.samples(suite, c.Name, x) {
				if s.Error == "" {
					all[s.Round] = f.of(s)
				}
			}
			return all
		})
	}
	if len(t.rows) > 0 {
		t.write(b)
	}
	r.troubles(b, suite, c, len(t.rows) > 0)
}

// troubles says who did not run, and which runs failed.
func (r *Result) troubles(b *strings.Builder, suite string, c Case, below bool) {
	var lines []string
	for _, x := range c.Contenders {
		if x.NotRun != "" {
			lines = append(lines, fmt.Sprintf("- %s: **not run**: %s", x.Name, oneLine(x.NotRun)))
		}
		for _, s := range r.samples(suite, c.Name, x.Name) {
			if s.Error != "" {
				lines = append(lines, fmt.Sprintf("- %s: round %d **failed** after %s s: %s", x.Name, s.Round, number(s.Wall), oneLine(s.Error)))
			}
		}
	}
	if len(lines) > 0 && below {
		b.WriteString("\n")
	}
	for _, l := range lines {
		b.WriteString(l + "\n")
	}
}

// values are a contender's values of a figure, by round.
func (r *Result) values(suite, name, contender, figure string) map[int]float64 {
	all := map[int]float64{}
	for _, s := range r.samples(suite, name, contender) {
		if v, ok := s.Figures[figure]; ok {
			all[s.Round] = v
		}
	}
	return all
}

func times(better Better, ours, peer map[int]float64) string {
	a, ok := advantage(better, ours, peer)
	if !ok {
		return ""
	}
	median, least, most := number(a.median), number(a.min), number(a.max)
	if least == most {
		return median + "x"
	}
	return fmt.Sprintf("%sx (%s to %s)", median, least, most)
}

// number writes a value with three digits that count, and commas from a thousand on.
func number(v float64) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Sprint(v)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if v == math.Trunc(v) {
		text := fmt.Sprintf("%.0f", v)
		for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
			text = text[:at] + "," + text[at:]
		}
		return text
	}
	return fmt.Sprintf("%.*f", 2-int(math.Floor(math.Log10(math.Abs(v)))), v)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// table is a table whose columns line up in the plain text as well.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(row ...string) {
	for i, cell := range row {
		row[i] = strings.ReplaceAll(oneLine(cell), "|", `\|`)
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(b *strings.Builder) {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
	}
	line(t.head)
	rule := make([]string, len(width))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
}
