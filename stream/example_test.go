package stream_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/stream"
)

// words is a source with one split. A position is the number of words before it.
type words struct {
	all      []string
	next     uint64
	assigned bool
	position []byte // of all records of a Read
}

func (w *words) Replayable() bool { return true }
func (w *words) Close() error     { return nil }

func (w *words) Discover(context.Context) ([]stream.Split, error) {
	return []stream.Split{{ID: "words"}}, nil
}

func (w *words) Assign(splits []stream.Split) error {
	for _, s := range splits {
		next := uint64(0)
		if s.Position != nil {
			if len(s.Position) != 8 {
				return fmt.Errorf("position of %d bytes: it is not one of words", len(s.Position))
			}
			next = binary.BigEndian.Uint64(s.Position)
		}
		w.next, w.assigned = next, true
	}
	return nil
}

func (w *words) Revoke([]string) error {
	w.assigned = false
	return nil
}

func (w *words) Read(ctx context.Context, dst []stream.Record) (n int, err error) {
	w.position = w.position[:0]
	for ; w.assigned && n < len(dst) && w.next < uint64(len(w.all)); n++ {
		word := w.all[w.next]
		w.next++
		w.position = binary.BigEndian.AppendUint64(w.position, w.next)
		dst[n] = stream.Record{Split: "words", Position: w.position[len(w.position)-8:], Value: []byte(word)}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, ctx.Err()
}

// A job reads four words, and stops when the first, second and fourth are settled. Its next life reads the third and fourth
// again: the mark stands behind what is settled without a gap.
func Example() {
	ctx := context.Background()
	var saved []stream.Split // by the checkpoint
	for range 2 {
		source := &words{all: []string{"ink", "paper", "pen", "stamp"}}
		splits := saved
		if splits == nil {
			splits, _ = source.Discover(ctx)
		}
		if err := source.Assign(splits); err != nil {
			panic(err)
		}
		var marks stream.Marks
		marks.Assign(splits...)

		records := make([]stream.Record, 10)
		n, err := source.Read(ctx, records)
		if err != nil {
			panic(err)
		}
		seq := uint64(0) // a sink's
		for _, r := range records[:n] {
			seq++
			marks.Add(seq, r.Split, r.Position)
			fmt.Println(seq, string(r.Value))
		}

		marks.Settle(4, 4)
		marks.Settle(1, 2)
		saved = marks.Positions()
		fmt.Println("goes on at", binary.BigEndian.Uint64(saved[0].Position))
	}
	// Output:
	// 1 ink
	// 2 paper
	// 3 pen
	// 4 stamp
	// goes on at 2
	// 1 pen
	// 2 stamp
	// goes on at 4
}

func ExampleMarks_Origin() {
	var marks stream.Marks
	marks.Add(1, "orders-0", []byte("offset 17"))
	split, position, ok := marks.Origin(1)
	fmt.Println(split, string(position), ok)
	marks.Settle(1, 1)
	_, _, ok = marks.Origin(1)
	fmt.Println(ok)
	// Output:
	// orders-0 offset 17 true
	// false
}
