package statecodec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var heldSection = Section{Operator: "sink", Kind: KindBuffer, Codec: "bytes", CodecVersion: 1, KeyGroups: 8}

// olderFile is a file of three sections, of which the second has entries 100 to 199.
func olderFile(t *testing.T) []byte {
	var out bytes.Buffer
	enc, err := NewEncoder(&out, Header{Job: "orders"})
	require.NoError(t, err)
	require.NoError(t, enc.Begin(Section{Operator: "source", Kind: KindSource}))
	require.NoError(t, enc.Begin(heldSection))
	for seq := uint64(100); seq < 200; seq++ {
		require.NoError(t, enc.Entry(&Entry{Seq: seq, Data: fmt.Append(nil, seq), Born: 5, Unsure: seq == 110}))
	}
	require.NoError(t, enc.Begin(heldSection))
	require.NoError(t, enc.Entry(&Entry{Seq: 300, Data: []byte("300")}))
	require.NoError(t, enc.Close())
	return out.Bytes()
}

func bitmapOf(t *testing.T, seqs ...uint64) Bitmap {
	var b BitmapBuilder
	for _, s := range seqs {
		b.AddWords(s, 1, 1)
	}
	m, err := b.Bitmap()
	require.NoError(t, err)
	return m
}

// through writes a section of what an older file holds, and reads it back.
func through(t *testing.T, x *Held) *Held {
	var out bytes.Buffer
	enc, err := NewEncoder(&out, Header{})
	require.NoError(t, err)
	require.NoError(t, enc.Held(x, func(yield func(*Entry, error) bool) {
		for i := range x.Changed {
			if !yield(&x.Changed[i], nil) {
				return
			}
		}
	}))
	require.NoError(t, enc.Close())
	dec, err := NewDecoder(&out, Caps{})
	require.NoError(t, err)
	s, err := dec.Next()
	require.NoError(t, err)
	require.Equal(t, KindHeld, s.Kind)
	got, err := dec.Held()
	require.NoError(t, err)
	_, err = dec.Next()
	require.ErrorIs(t, err, io.EOF)
	return got
}

func TestWhatAnOlderFileHoldsIsReadAsItIsNow(t *testing.T) {
	held := through(t, &Held{
		Section: heldSection, File: "data/3-17", Index: 1, InFile: 101,
		Held: bitmapOf(t, 101, 110, 150, 199), Unsure: bitmapOf(t, 150),
		Changed: []Entry{{Seq: 101, Attempts: 3}, {Seq: 199, Class: "rejected", Cause: "no", DeadAt: 9, Attempts: 1}},
	})
	require.Equal(t, "data/3-17", held.File)
	require.EqualValues(t, 101, held.InFile)
	file := olderFile(t)
	closed := 0
	r := &HeldReader{
		Open: func() (io.ReadCloser, error) {
			return readCloser{bytes.NewReader(file), func() { closed++ }}, nil
		},
		Section: heldSection, Index: held.Index, First: 100, Last: 199, Held: held,
	}
	var got []Entry
	var e Entry
	var err error
	for err = r.Next(&e); err == nil; err = r.Next(&e) {
		e.Data = slices.Clone(e.Data)
		got = append(got, e)
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []Entry{
		{Seq: 101, Data: []byte("101"), Born: 5, Attempts: 3},
		{Seq: 110, Data: []byte("110"), Born: 5},
		{Seq: 150, Data: []byte("150"), Born: 5, Unsure: true},
		{Seq: 199, Data: []byte("199"), Born: 5, Attempts: 1, Class: "rejected", Cause: "no", DeadAt: 9},
	}, got)
	require.EqualValues(t, 4, r.Count())
	r.Close()
	r.Close()
	require.Equal(t, 1, closed)
	(*HeldReader)(nil).Close()
}

type readCloser struct {
	io.Reader
	close func()
}

func (r readCloser) Close() error { r.close(); return nil }

func open(file []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
}

func TestAPartOfASectionIsReadByItself(t *testing.T) {
	r := &HeldReader{Open: open(olderFile(t)), Section: heldSection, Index: 1, First: 120, Last: 122, Unsure: true}
	var e Entry
	for seq := uint64(120); seq <= 122; seq++ {
		require.NoError(t, r.Next(&e))
		require.Equal(t, seq, e.Seq)
		require.True(t, e.Unsure)
	}
	require.ErrorIs(t, r.Next(&e), io.EOF)
}

func TestAnotherFileThanTheStateMeansIsRefused(t *testing.T) {
	var e Entry
	var format *FormatError
	for _, r := range []*HeldReader{
		{Open: open(olderFile(t)), Section: heldSection, Index: 7, Last: 10},
		{Open: open(olderFile(t)), Section: heldSection, Index: 0, Last: 10},
	} {
		err := r.Next(&e)
		require.ErrorAs(t, err, &format)
		require.ErrorContains(t, err, "it is another file than the state means")
	}
	require.ErrorIs(t, (&HeldReader{Open: open([]byte("another file"))}).Next(&e), ErrNotSnapshot)
	gone := errors.New("gone")
	require.ErrorIs(t, (&HeldReader{Open: func() (io.ReadCloser, error) { return nil, gone }}).Next(&e), gone)
}

// Whatever a damaged section says: an error that says so, and no panic.
func TestSectionsOfWhatIsHeldThatMakeNoSenseAreRefused(t *testing.T) {
	good := [3][]byte{append(appendName(nil, "f"), 1, 5), bitmapOf(t, 3).AppendTo(nil), nil}
	for what, blobs := range map[string][][]byte{
		"not complete":             {good[0]},
		"the name of the file":     {{}, good[1], good[2]},
		"which section":            {appendName(nil, "f"), good[1], good[2]},
		"how many entries":         {append(appendName(nil, "f"), 1), good[1], good[2]},
		"nothing of f is held":     {good[0], nil, nil},
		"above the limit":          {append(appendName(nil, "f"), 1, 1), bitmapOf(t, 3, 4).AppendTo(nil), nil},
		"bitmap":                   {good[0], {255}, nil},
		"the name of the file\x00": {{200, 1, 1}, good[1], good[2]},
	} {
		var out bytes.Buffer
		enc, err := NewEncoder(&out, Header{})
		require.NoError(t, err)
		s := heldSection
		s.Kind = KindHeld
		require.NoError(t, enc.Begin(s))
		for _, b := range blobs {
			require.NoError(t, enc.Blob(b))
		}
		require.NoError(t, enc.Close())
		dec, err := NewDecoder(&out, Caps{})
		require.NoError(t, err)
		_, err = dec.Next()
		require.NoError(t, err)
		_, err = dec.Held()
		var format *FormatError
		require.ErrorAs(t, err, &format, what)
	}
}

func TestChangesOfWhatIsHeldAscend(t *testing.T) {
	var out bytes.Buffer
	enc, err := NewEncoder(&out, Header{})
	require.NoError(t, err)
	x := Held{Section: heldSection, File: "f", InFile: 9, Held: bitmapOf(t, 1, 2)}
	gone := errors.New("gone")
	require.ErrorIs(t, enc.Held(&x, func(yield func(*Entry, error) bool) { yield(nil, gone) }), gone)
	require.NoError(t, enc.Held(&x, func(yield func(*Entry, error) bool) {
		_ = yield(&Entry{Seq: 2}, nil) && yield(&Entry{Seq: 1}, nil)
	}))
	require.NoError(t, enc.Close())
	dec, err := NewDecoder(&out, Caps{})
	require.NoError(t, err)
	for range 2 {
		_, err = dec.Next()
		require.NoError(t, err)
	}
	_, err = dec.Held()
	require.ErrorContains(t, err, "entry 1 after 2")
}

func FuzzHeld(f *testing.F) {
	f.Add(append(appendName(nil, "f"), 1, 5), []byte{}, []byte{}, uint64(1))
	f.Fuzz(func(t *testing.T, ref, held, unsure []byte, seed uint64) {
		if len(held) < 2 { // a good one, too
			r := rand.New(rand.NewPCG(seed, 1))
			var b BitmapBuilder
			for at := r.Uint64N(1 << 40); r.IntN(50) > 0; at += 1 + r.Uint64N(1000) {
				b.AddWords(at, 1, 1)
			}
			m, err := b.Bitmap()
			require.NoError(t, err)
			held = m.AppendTo(nil)
		}
		var x Held
		if x.parse([3][]byte{ref, held, unsure}, Caps{}.orDefaults()) != nil {
			return
		}
		require.NotEmpty(t, x.File)
		require.LessOrEqual(t, x.Held.Count(), x.InFile)
		require.Equal(t, held, x.Held.AppendTo(nil))
	})
}
