package suites

import (
	"bytes"
	"flag"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/benchmarks/harness"
	"github.com/spillway-go/spillway/statecodec"
)

const million = 1_000_000

var throughput = []harness.Figure{
	{Name: "gb_per_cpu_second", Label: "payload, GB per CPU second", Better: harness.Higher},
	{Name: "gb_per_second", Label: "payload, GB/s", Better: harness.Higher},
	{Name: "overhead_bytes_per_entry", Label: "overhead, B an entry", Better: harness.Lower},
}

// out is the state of a writer, written to memory.
func (s states) out(name string, size int, heap string, repeats int) harness.Case {
	ours, peer := both(fmt.Sprint("size=", size), "warm=3", fmt.Sprint("repeats=", repeats))
	with := func(args ...string) []string { return append(args, ours...) }
	return harness.Case{
		Name: name,
		About: fmt.Sprintf("The state of %s entries of %d B, written to memory. Flink's serializer makes one new array of it all; "+
			"ours writes blocks to an io.Writer: memory that is there already or, on equal terms, a bytes.Buffer that grows.", number(million/s.divide), size),
		Figures: throughput,
		Contenders: []harness.Contender{
			s.own("Spillway, Snapshot.Encode", "state-out", million, with("-from=writer")...),
			s.own("Spillway, Snapshot.Encode, growing memory", "state-out", million, with("-from=writer", "-grow")...),
			s.own("Spillway, statecodec.Encoder", "state-out", million, with("-from=entries")...),
			s.flink("out", heap, million, peer...),
		},
	}
}

// out writes the state of n entries to memory; peers/flink/State.java is the peer.
type out struct {
	n, size, warm, repeats int
	from                   string
	grow                   bool
	there                  bytes.Buffer // without grow: large enough
}

func outProgram(f *flag.FlagSet) func() (figures, error) {
	o := &out{}
	f.StringVar(&o.from, "from", "writer", "writer: Snapshot.Encode of a Writer that holds the entries; entries: the Encoder alone")
	f.BoolVar(&o.grow, "grow", false, "to a buffer that grows from nothing, not to memory that is there")
	f.IntVar(&o.n, "n", million, "`entries`")
	f.IntVar(&o.size, "size", 100, "`bytes` of an entry's data")
	f.IntVar(&o.warm, "warm", 3, "`repetitions` before those that are measured")
	f.IntVar(&o.repeats, "repeats", 10, "`repetitions` that are measured")
	return o.figures
}

func (o *out) figures() (figures, error) {
	encode, done, err := o.source()
	if err != nil {
		return nil, err
	}
	defer done()
	if !o.grow {
		o.there.Grow(o.n * (o.size + keyBytes + 16))
	}
	if _, err := o.times(o.warm, encode); err != nil {
		return nil, err
	}
	m := newMeter()
	bytes, err := o.times(o.repeats, encode)
	if err != nil {
		return nil, err
	}
	return perPayload(m, o.n, o.size, o.repeats, bytes), nil
}

// source makes the entries, and is what writes them as sections.
func (o *out) source() (encode func(*statecodec.Encoder) error, done func(), err error) {
	switch o.from {
	case "entries":
		all := makeEntries(o.n, o.size)
		return func(e *statecodec.Encoder) error { return encodeEntries(e, o.n, func(i int) entry { return all[i] }) }, func() {}, nil
	case "writer":
		w, stop, err := holding(o.n, o.n, o.size)
		if err != nil {
			return nil, nil, err
		}
		s, err := w.Snapshot()
		if err != nil {
			return nil, nil, err
		}
		return s.Encode, func() { s.Close(); stop() }, nil
	}
	return nil, nil, fmt.Errorf("from: %s: must be writer or entries", o.from)
}

// times repeats it, and returns the size of one.
func (o *out) times(repeats int, encode func(*statecodec.Encoder) error) (int, error) {
	size := 0
	for range repeats {
		to := &o.there
		to.Reset()
		if o.grow {
			to = &bytes.Buffer{}
		}
		if err := encodeTo(to, encode); err != nil {
			return 0, err
		}
		size = to.Len()
	}
	return size, nil
}

func encodeTo(w io.Writer, encode func(*statecodec.Encoder) error) error {
	e, err := statecodec.NewEncoder(w, statecodec.Header{Job: "benchmarks", Instance: "0"})
	if err != nil {
		return err
	}
	if err := encode(e); err != nil {
		return err
	}
	return e.Close()
}

// perPayload are the figures of a program that moves all entries so many times.
func perPayload(m meter, n, size, repeats, bytes int) figures {
	wall, cpu := m.stop()
	payload := float64(n) * float64(size+keyBytes)
	return figures{
		"entries":                  float64(n),
		"gb_per_second":            float64(repeats) * payload / float64(wall),
		"gb_per_cpu_second":        float64(repeats) * payload / float64(cpu),
		"overhead_bytes_per_entry": (float64(bytes) - payload) / float64(n),
	}
}
