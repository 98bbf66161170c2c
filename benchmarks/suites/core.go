package suites

import (
	"fmt"

	"github.com/spillway-go/spillway/benchmarks/harness"
)

// Core is what a record costs from Write until it is settled, in our writer and in
// Flink's AsyncSinkWriter.
func Core(ours, flink harness.Program, quick bool) harness.Suite {
	w := writes{ours, flink, 1}
	if quick {
		w.divide = 50
	}
	return harness.Suite{
		Name: "core",
		About: "What a record costs from Write until it is settled. Entries of 100 B and a key of 16 B, batches of 500, at most 50 requests in flight, " +
			"one goroutine (thread) that writes. Each process warms up with two whole runs and measures the third.",
		Cases: []harness.Case{
			w.of("null", "A destination that takes everything at once: the writer's own cost.", cost, rate, thread, allocations, allocated)(
				"null", 0, w.loop(20_000_000), w.lock(20_000_000), w.flink("Flink", "default", 20_000_000)),
			w.of("async", "A destination that answers after 1 ms.", cost, rate, thread, allocations, allocated, full)(
				"delay", 0, w.loop(20_000_000), w.lock(20_000_000),
				w.flink("Flink", "default", 20_000_000), w.flink("Flink, fixed limit", "fixed", 20_000_000)),
			w.of("failing", "The same, and every tenth entry fails and goes again (ours is told that it was throttled), with the defaults for "+
				"back-off and control of the load. Slow contenders write fewer records, so that a run ends.", rate, cost, full, retries, records)(
				"delay", 10, w.loop(10_000_000), w.lock(10_000_000),
				w.flink("Flink", "default", 50_000), w.flink("Flink, as its Kinesis sink", "kinesis", 300_000)),
			w.of("per-key", "Order kept by key, with 100,000 keys drawn at random, to a destination that takes everything at once. "+
				"Flink's writer keeps no order: it has no answer here.", cost, rate, allocations, allocated, full)(
				"null", 0, w.perKey(w.loop(5_000_000)), w.perKey(w.lock(5_000_000))),
		},
	}
}

// What the program "write" prints, ours and Flink's.
var (
	cost        = harness.Figure{Name: "cpu_ns_per_record", Label: "CPU time a record, ns", Better: harness.Lower}
	thread      = harness.Figure{Name: "thread_cpu_ns_per_record", Label: "of it in the thread that writes, ns"}
	rate        = harness.Figure{Name: "records_per_second", Label: "records/s", Better: harness.Higher}
	allocations = harness.Figure{Name: "allocations_per_record", Label: "allocations a record"}
	allocated   = harness.Figure{Name: "allocated_bytes_per_record", Label: "bytes allocated a record"}
	full        = harness.Figure{Name: "entries_per_request", Label: "entries a request"}
	retries     = harness.Figure{Name: "retried_per_record", Label: "retries a record"}
	records     = harness.Figure{Name: "records", Label: "records written"}
)

// writes makes cases of the program "write".
type writes struct {
	ours, peer harness.Program
	divide     int // the numbers of records
}

// of makes a case of contenders that write to the same destination.
func (w writes) of(name, about string, f ...harness.Figure) func(destination string, failing int, c ...harness.Contender) harness.Case {
	return func(destination string, failing int, contenders ...harness.Contender) harness.Case {
		ours, peer := both("destination="+destination, fmt.Sprint("failing=", failing), "size=100", "warm=2")
		for i, c := range contenders {
			if c.Peer {
				contenders[i].Args = append(c.Args, peer...)
			} else {
				contenders[i].Args = append(c.Args, ours...)
			}
		}
		return harness.Case{Name: name, About: about, Figures: f, Contenders: contenders}
	}
}

func (w writes) loop(n int) harness.Contender { return w.own("loop", n) }
func (w writes) lock(n int) harness.Contender { return w.own("lock", n) }

func (w writes) own(executor string, n int) harness.Contender {
	return harness.Contender{
		Name: "Spillway, " + executor, Program: w.ours,
		Args: []string{"write", "-executor=" + executor, fmt.Sprint("-n=", n/w.divide)},
	}
}

func (w writes) perKey(c harness.Contender) harness.Contender {
	c.Args = append(c.Args, "-order=per-key", "-keys=100000")
	return c
}

// flink has a heap that does not slow it down; its peak memory is what it was given.
func (w writes) flink(name, strategy string, n int) harness.Contender {
	return harness.Contender{
		Name: name, Peer: true, Program: w.peer,
		Args: []string{"-Xms4g", "-Xmx4g", "bench.Write", "strategy=" + strategy, fmt.Sprint("n=", n/w.divide)},
	}
}

// both turns name=value into the flags of ours and the arguments of the peer.
func both(values ...string) (ours, peer []string) {
	for _, v := range values {
		ours = append(ours, "-"+v)
	}
	return ours, values
}
