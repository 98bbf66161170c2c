package suites

import (
	"fmt"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// spill is entries that are put on disk because there is no room in memory. What is
// compared with is the disk: a plain sequential write of the same bytes.
func (s states) spill(name string, size int) harness.Case {
	return harness.Case{
		Name:    name,
		About:   fmt.Sprintf("%s entries of %d B written to a writer that spills them, made durable once at the end.", number(million/s.divide), size),
		Figures: throughput,
		Contenders: []harness.Contender{
			s.onDisk("Spillway, Writer", "spill", size), s.plain("Plain write", "plain-write", size),
		},
	}
}

func (s states) onDisk(name, program string, size int, args ...string) harness.Contender {
	return s.own(name, program, million, append([]string{fmt.Sprint("-size=", size), "-warm=1", "-repeats=3"}, args...)...)
}

// plain is a contender that uses the disk and nothing else.
func (s states) plain(name, program string, size int) harness.Contender {
	c := s.onDisk(name, program, size)
	c.Peer = true
	return c
}
