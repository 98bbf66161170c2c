package suites

import (
	"fmt"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// State is what the state of a writer costs: to take, to write, to read. Ours is
// compared with Flink's AsyncSinkWriterStateSerializer and its AsyncSinkWriter.
func State(ours, flink harness.Program, quick bool) harness.Suite {
	s := states{ours, flink, 1}
	if quick {
		s.divide = 50
	}
	return harness.Suite{
		Name: "state",
		About: "What the state of a writer that holds much costs. Entries of 100 B or 1 KiB and a key of 16 B; the payload is data and key, " +
			"overhead is all else. Each process warms up, then measures several repetitions as one. " +
			"Ours has each entry's identity, attempts, time and key group in it, and checksums; Flink's has the length.",
		Cases: []harness.Case{
			s.out("out-100B", 100, "2g", 10),
			s.out("out-1KiB", 1024, "6g", 5),
			s.in("in-100B", 100, "2g", 10),
			s.in("in-1KiB", 1024, "6g", 5),
			s.pause("pause-1M", 1_000_000, "2g"),
			s.pause("pause-10M", 10_000_000, "4g"),
			s.checkpoint("checkpoint-100B", 100),
			s.checkpoint("checkpoint-1KiB", 1024),
			s.spill("spill-100B", 100),
			s.spill("spill-1KiB", 1024),
			s.restore("restore-100B", 100),
			s.restore("restore-1KiB", 1024),
		},
	}
}

// states makes cases about state, ours and Flink's. A heap is the smallest of so
// many even GiB with which Flink is not slowed down.
type states struct {
	ours, peer harness.Program
	divide     int // the numbers of entries
}

func (s states) own(name, program string, n int, args ...string) harness.Contender {
	return harness.Contender{
		Name: name, Program: s.ours,
		Args: append([]string{program, fmt.Sprint("-n=", n/s.divide)}, args...),
	}
}

func (s states) flink(what, heap string, n int, args ...string) harness.Contender {
	jvm := []string{"-Xms" + heap, "-Xmx" + heap, "bench.State", "what=" + what, fmt.Sprint("n=", n/s.divide)}
	return harness.Contender{Name: "Flink", Peer: true, Program: s.peer, Args: append(jvm, args...)}
}
