package suites

import (
	"fmt"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// restore is the way of entries from the files of a checkpoint into a writer. What
// is compared with is the disk: plain reading of the same bytes.
func (s states) restore(name string, size int) harness.Case {
	return harness.Case{
		Name: name,
		About: fmt.Sprintf("%s entries of %d B from a file that the system has in its cache: decoded; taken back into a writer's memory; and read and dropped.",
			number(million/s.divide), size),
		Figures: throughput[:2],
		Contenders: []harness.Contender{
			s.onDisk("Spillway, Decoder", "restore", size, "-decode"), s.onDisk("Spillway, Writer", "restore", size),
			s.plain("Plain read", "plain-read", size),
		},
	}
}
