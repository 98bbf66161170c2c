package stream

import (
	"fmt"
	"testing"
)

// BenchmarkMarks adds and settles records, with 10,000 unsettled at each time. Times are for one record, both included.
func BenchmarkMarks(b *testing.B) {
	const held, batch = 10_000, 500
	ids := make([]string, 64)
	for i := range ids {
		ids[i] = fmt.Sprintf("shard-%04d", i)
	}
	for _, c := range []struct {
		name   string
		splits int
		size   int // of a position
		stuck  bool
		single bool // settle one by one, in no order
	}{
		{name: "1 split, 8 B", splits: 1, size: 8},
		{name: "1 split, 40 B", splits: 1, size: 40},
		{name: "64 splits, 8 B", splits: 64, size: 8},
		{name: "1 split, 8 B, one stuck", splits: 1, size: 8, stuck: true},
		{name: "64 splits, 40 B, one stuck", splits: 64, size: 40, stuck: true},
		{name: "64 splits, 8 B, out of order", splits: 64, size: 8, single: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var m Marks
			position := make([]byte, c.size)
			seq := uint64(0)
			add := func() {
				seq++
				m.Add(seq, ids[seq%uint64(c.splits)], position)
			}
			for seq < held {
				add()
			}
			settled := uint64(0)
			if c.stuck {
				settled = 1
			}
			b.ReportAllocs()
			for b.Loop() {
				add()
				switch {
				case c.single:
					first := (seq - held - 1) / batch * batch
					at := first + 1 + seq*271%batch // each of a batch once: 271 and 500 share no factor
					m.Settle(at, at)
				case seq%batch == 0:
					m.Settle(settled+1, seq-held)
					settled = seq - held
				}
			}
		})
	}
}
