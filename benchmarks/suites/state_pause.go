package suites

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// pause is how long taking the state keeps the writer from writing.
func (s states) pause(name string, n int, heap string) harness.Case {
	ours, peer := both("size=100", "warm=5", "repeats=20")
	return harness.Case{
		Name: name,
		About: fmt.Sprintf("How long a snapshot stops a writer that holds %s entries of 100 B: taking it, and the write after it. "+
			"Flink's copies its list, ours what describes its chunks. Of 20 snapshots the median and the longest.", number(n/s.divide)),
		Figures: []harness.Figure{
			{Name: "pause_median_ms", Label: "pause, median, ms", Better: harness.Lower},
			{Name: "pause_max_ms", Label: "pause, longest, ms", Better: harness.Lower},
		},
		Contenders: []harness.Contender{
			s.own("Spillway", "state-pause", n, ours...),
			s.flink("pause", heap, n, peer...),
		},
	}
}

// number writes a whole number with commas.
func number(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// pause takes snapshots of a writer that holds n entries; peers/flink/State.java is the peer.
type pause struct{ n, size, warm, repeats int }

func pauseProgram(f *flag.FlagSet) func() (figures, error) {
	p := &pause{}
	f.IntVar(&p.n, "n", million, "`entries`")
	f.IntVar(&p.size, "size", 100, "`bytes` of an entry's data")
	f.IntVar(&p.warm, "warm", 5, "`snapshots` before those that are measured")
	f.IntVar(&p.repeats, "repeats", 20, "`snapshots` that are measured")
	return p.figures
}

func (p *pause) figures() (figures, error) {
	w, stop, err := holding(p.n, p.n+p.warm+p.repeats, p.size)
	if err != nil {
		return nil, err
	}
	defer stop()
	ctx, names := context.Background(), keys(plainKeys)
	var pauses []time.Duration
	for i := range p.warm + p.repeats {
		next := entry{names[i], make([]byte, p.size)}
		start := time.Now()
		s, err := w.Snapshot()
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(ctx, next); err != nil {
			return nil, err
		}
		took := time.Since(start)
		if s.Len() != p.n+i {
			return nil, fmt.Errorf("%d entries of %d are in the snapshot", s.Len(), p.n+i)
		}
		s.Close()
		if i >= p.warm {
			pauses = append(pauses, took)
		}
	}
	slices.Sort(pauses)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return figures{"pause_median_ms": ms(pauses[len(pauses)/2]), "pause_max_ms": ms(pauses[len(pauses)-1])}, nil
}
