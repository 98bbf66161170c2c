package statecodec_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/statecodec"
)

func ExampleBitmapBuilder() {
	settled := [2]uint64{0b1011, 0} // of a chunk of 128 entries, the first of which is 1000
	var b statecodec.BitmapBuilder
	b.AddWords(1000, 128, ^settled[0], ^settled[1])
	b.AddRange(5000, 1_000_000)
	held, err := b.Bitmap()
	check(err)
	fmt.Println(held.Count(), "held, in", len(held.AppendTo(nil)), "bytes")
	for first, last := range held.Runs() {
		fmt.Println(first, "to", last)
	}
	c := held.Cursor()
	fmt.Println(c.Contains(1002), c.Contains(1003), c.Contains(70_000))
	// Output:
	// 995126 held, in 43 bytes
	// 1002 to 1002
	// 1004 to 1127
	// 5000 to 1000000
	// true false true
}

func ExampleDecoder_Salvage() {
	var file bytes.Buffer
	enc, err := statecodec.NewEncoder(&file, statecodec.Header{Job: "orders"})
	check(err)
	for _, operator := range []string{"one", "two"} {
		check(enc.Begin(statecodec.Section{Operator: operator, Kind: statecodec.KindBuffer}))
		check(enc.Entry(&statecodec.Entry{Seq: 1, Data: []byte("ink for " + operator)}))
	}
	check(enc.Close())
	file.Bytes()[bytes.Index(file.Bytes(), []byte("ink"))] = 'p'

	dec, err := statecodec.NewDecoder(&file, statecodec.Caps{})
	check(err)
	dec.Salvage(func(d statecodec.Damage) { fmt.Println(d.Length, "bytes lost:", d.Err) })
	for {
		s, err := dec.Next()
		if err == io.EOF {
			break
		}
		check(err)
		var e statecodec.Entry
		for dec.Entry(&e) == nil {
			fmt.Printf("%s: %s\n", s.Operator, e.Data)
		}
	}
	// Output:
	// 29 bytes lost: statecodec: damaged at byte 81 in section "one" (buffer): checksum: of the block
	// two: ink for two
	// 0 bytes lost: statecodec: damaged at byte 199: checksum: the trailer counts {Sections:2 Entries:2} and there are {Sections:2 Entries:1}
}
