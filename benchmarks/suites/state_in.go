package suites

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/benchmarks/harness"
	"github.com/spillway-go/spillway/statecodec"
)

// in is a state, read from memory.
func (s states) in(name string, size int, heap string, repeats int) harness.Case {
	ours, peer := both(fmt.Sprint("size=", size), "warm=3", fmt.Sprint("repeats=", repeats))
	return harness.Case{
		Name:    name,
		About:   fmt.Sprintf("The state of %s entries of %d B, read from memory: a list of entries, each with a key and data of its own.", number(million/s.divide), size),
		Figures: throughput[:2],
		Contenders: []harness.Contender{
			s.own("Spillway, statecodec.Decoder", "state-in", million, ours...),
			s.flink("in", heap, million, peer...),
		},
	}
}

// in reads the state of n entries from memory; peers/flink/State.java is the peer.
type in struct{ n, size, warm, repeats int }

func inProgram(f *flag.FlagSet) func() (figures, error) {
	p := &in{}
	f.IntVar(&p.n, "n", million, "`entries`")
	f.IntVar(&p.size, "size", 100, "`bytes` of an entry's data")
	f.IntVar(&p.warm, "warm", 3, "`repetitions` before those that are measured")
	f.IntVar(&p.repeats, "repeats", 10, "`repetitions` that are measured")
	return p.figures
}

func (p *in) figures() (figures, error) {
	state, err := encodedState(p.n, p.size) // the entries share their data: what is measured makes its own
	if err != nil {
		return nil, err
	}
	if err := p.times(p.warm, state); err != nil {
		return nil, err
	}
	m := newMeter()
	if err := p.times(p.repeats, state); err != nil {
		return nil, err
	}
	return perPayload(m, p.n, p.size, p.repeats, len(state)), nil
}

func (p *in) times(repeats int, state []byte) error {
	for range repeats {
		all, err := decodeEntries(bytes.NewReader(state))
		if err != nil {
			return err
		}
		if len(all) != p.n {
			return fmt.Errorf("%d entries of %d", len(all), p.n)
		}
	}
	return nil
}

func decodeEntries(r io.Reader) ([]entry, error) {
	d, err := statecodec.NewDecoder(r, statecodec.Caps{})
	if err != nil {
		return nil, err
	}
	section, err := d.Next()
	if err != nil {
		return nil, err
	}
	var all []entry
	var x statecodec.Entry
	for err = d.Entry(&x); err == nil; err = d.Entry(&x) {
		e, err := codec{}.Decode(section.CodecVersion, x.Data)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if errors.Is(err, io.EOF) {
		_, err = d.Next() // the trailer
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return all, nil
}
