package statecodec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestWhatWasWrittenIsRead(t *testing.T) {
	for seed := range uint64(80) {
		want := random(rand.New(rand.NewPCG(seed, 1)))
		b := want.bytes(t)
		got, err := read(bytes.NewReader(b), Caps{})
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, got, "seed %d", seed)

		h, totals, err := Verify(bytes.NewReader(b), Caps{})
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want.Header, h)
		require.Equal(t, uint64(len(want.Sections)), totals.Sections)
		entries := 0
		for _, c := range want.Sections {
			entries += len(c.Entries)
		}
		require.Equal(t, uint64(entries), totals.Entries)
	}
}

func TestReadersThatGiveLittleMakeNoDifference(t *testing.T) {
	want := random(rand.New(rand.NewPCG(7, 1)))
	b := want.bytes(t)
	for _, r := range []io.Reader{
		iotest.OneByteReader(bytes.NewReader(b)), iotest.HalfReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b)),
	} {
		got, err := read(r, Caps{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestWhatIsNotReadIsSkipped(t *testing.T) {
	data := make([]byte, 1000)
	want := snapshot{Header: Header{Job: "orders"}}
	for i := range 4 {
		c := content{Section: Section{Operator: fmt.Sprint(i), Kind: KindBuffer}, Blobs: [][]byte{{1}, {2}}}
		for seq := range uint64(1000) { // several blocks
			c.Entries = append(c.Entries, Entry{Seq: seq, Data: data})
		}
		want.Sections = append(want.Sections, c)
	}
	b := want.bytes(t)
	readers := map[string]func(d *Decoder){
		"nothing":           func(*Decoder) {},
		"one blob":          func(d *Decoder) { _, err := d.Blob(); require.NoError(t, err) },
		"an entry first":    func(d *Decoder) { require.NoError(t, d.Entry(&Entry{})) },
		"a block and a bit": func(d *Decoder) { require.NoError(t, first(d, 300)) },
	}
	for what, part := range readers {
		d, err := NewDecoder(bytes.NewReader(b), Caps{})
		require.NoError(t, err, what)
		for i := range want.Sections {
			s, err := d.Next()
			require.NoError(t, err, what)
			require.Equal(t, want.Sections[i].Section, s, what)
			part(d)
		}
		_, err = d.Next()
		require.Equal(t, io.EOF, err, what)
		require.Equal(t, Totals{Sections: 4, Entries: 4000}, d.Totals(), what)
	}
}

func first(d *Decoder, n int) error {
	for range n {
		if err := d.Entry(&Entry{}); err != nil {
			return err
		}
	}
	return nil
}

func TestBlobsAreGoneOnceEntriesAreRead(t *testing.T) {
	s := snapshot{Sections: []content{{
		Section: Section{Operator: "sink", Kind: KindBuffer}, Blobs: [][]byte{{1}}, Entries: []Entry{{Seq: 1}, {Seq: 2}},
	}}}
	d, err := NewDecoder(bytes.NewReader(s.bytes(t)), Caps{})
	require.NoError(t, err)
	_, err = d.Next()
	require.NoError(t, err)
	require.NoError(t, first(d, 1))
	_, err = d.Blob()
	require.Equal(t, io.EOF, err)
	require.NoError(t, first(d, 1), "the entries are not disturbed")
	require.Equal(t, io.EOF, first(d, 1))
}

func TestOutsideASectionThereIsNothing(t *testing.T) {
	d, err := NewDecoder(bytes.NewReader(snapshot{}.bytes(t)), Caps{})
	require.NoError(t, err)
	require.ErrorIs(t, d.Entry(&Entry{}), errNextFirst)
	_, err = d.Blob()
	require.ErrorIs(t, err, errNextFirst)
	for range 2 {
		_, err = d.Next()
		require.Equal(t, io.EOF, err)
		require.Equal(t, io.EOF, d.Entry(&Entry{}))
		_, err = d.Blob()
		require.Equal(t, io.EOF, err)
	}
}

// A fresh entry: next in sequence, of any key group of the default number, the clock read once in 256 entries.
func TestAFreshEntryCostsAtMostTenBytes(t *testing.T) {
	for _, n := range []int{100, 1 << 10} {
		var s snapshot
		c := content{Section: Section{Operator: "sink", Kind: KindBuffer, KeyGroups: DefaultKeyGroups}}
		e := Entry{Writer: [16]byte{1, 2, 3}, Born: 1_700_000_000_000_000_000, Data: make([]byte, n)}
		for i := range 10_000 {
			e.Seq++
			e.KeyGroup = KeyGroup(KeyHash(fmt.Sprint(i)), DefaultKeyGroups)
			if i%256 == 0 {
				e.Born += 1_234_567
			}
			c.Entries = append(c.Entries, e)
		}
		s.Sections = []content{c}
		overhead := float64(len(s.bytes(t)))/10_000 - float64(n)
		require.LessOrEqual(t, overhead, 10.0)
	}
}

func TestTheEncoderReusesOneBlock(t *testing.T) {
	e, err := NewEncoder(io.Discard, Header{})
	require.NoError(t, err)
	require.NoError(t, e.Begin(Section{Operator: "sink", Kind: KindBuffer}))
	small, large := Entry{Data: make([]byte, 1000)}, Entry{Data: make([]byte, 1<<20)}
	for range blockTarget / 1000 {
		require.NoError(t, e.Entry(&small)) // it has grown to its size
	}
	allocs := testing.AllocsPerRun(1000, func() {
		err = errors.Join(e.Entry(&small), e.Entry(&large))
	})
	require.NoError(t, err)
	require.Zero(t, allocs)
}

func TestTheDecoderReusesOneBlock(t *testing.T) {
	s := snapshot{Sections: []content{{Section: Section{Operator: "sink", Kind: KindDead}}}}
	for range 2000 {
		s.Sections[0].Entries = append(s.Sections[0].Entries, Entry{Class: "rejected", Cause: "too large", Data: make([]byte, 1000)})
	}
	d, err := NewDecoder(bytes.NewReader(s.bytes(t)), Caps{})
	require.NoError(t, err)
	_, err = d.Next()
	require.NoError(t, err)
	var e Entry
	require.NoError(t, d.Entry(&e)) // makes the block, and the strings
	allocs := testing.AllocsPerRun(1000, func() { err = d.Entry(&e) })
	require.NoError(t, err)
	require.Zero(t, allocs)
}
