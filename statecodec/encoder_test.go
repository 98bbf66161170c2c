package statecodec

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func buffer(t *testing.T, w io.Writer) *Encoder {
	t.Helper()
	e, err := NewEncoder(w, Header{Job: "orders"})
	require.NoError(t, err)
	require.NoError(t, e.Begin(Section{Operator: "sink", Kind: KindBuffer, KeyGroups: 4}))
	return e
}

func TestARefusalWritesNothingAndTheEncoderStaysUsable(t *testing.T) {
	var b bytes.Buffer
	e := buffer(t, &b)
	long := strings.Repeat("n", DefaultNameBytes+1)
	big := make([]byte, DefaultEntryBytes+1)
	require.ErrorIs(t, e.Blob(big), ErrTooLarge)
	require.ErrorIs(t, e.Entry(&Entry{Data: big}), ErrTooLarge)
	require.ErrorIs(t, e.Entry(&Entry{Class: long}), ErrTooLarge)
	require.ErrorIs(t, e.Begin(Section{Operator: long, Kind: KindBuffer}), ErrTooLarge)
	require.ErrorIs(t, e.Begin(Section{Operator: "o", Codec: long, Kind: KindBuffer}), ErrTooLarge)
	require.ErrorContains(t, e.Begin(Section{Kind: KindBuffer}), "needs an operator and a kind")
	require.ErrorContains(t, e.Begin(Section{Operator: "o"}), "needs an operator and a kind")
	require.ErrorContains(t, e.Entry(&Entry{KeyGroup: 4}), "key group 4 in a section with 4")
	require.NoError(t, e.Entry(&Entry{KeyGroup: 3}))
	require.ErrorContains(t, e.Blob(nil), "call Blob before Entry")
	require.Equal(t, Totals{Sections: 1, Entries: 1}, e.Totals())
	require.NoError(t, e.Close())

	s, err := read(&b, Caps{})
	require.NoError(t, err)
	require.Len(t, s.Sections, 1)
	require.Len(t, s.Sections[0].Entries, 1)

	_, err = NewEncoder(&b, Header{Job: long})
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestWhatTheEncoderTakesTheDecoderReads(t *testing.T) {
	long, big := strings.Repeat("n", DefaultNameBytes), make([]byte, DefaultEntryBytes)
	want := snapshot{
		Header: Header{Job: long, Instance: long},
		Sections: []content{{
			Section: Section{Operator: long, Kind: KindDead, Codec: long},
			Blobs:   [][]byte{big},
			Entries: []Entry{{Class: long, Cause: long[:maxCause], Data: big}, {Seq: 1, Data: []byte{}}},
		}},
	}
	got, err := read(bytes.NewReader(want.bytes(t)), Caps{})
	require.NoError(t, err)
	require.True(t, len(got.Sections) == 1 && bytes.Equal(big, got.Sections[0].Entries[0].Data)) // a diff of it helps nobody
	want.Sections[0].Entries[0].Data, want.Sections[0].Blobs = nil, nil
	got.Sections[0].Entries[0].Data, got.Sections[0].Blobs = nil, nil
	require.Equal(t, want, got)
}

func TestALongCauseIsCutBetweenCharacters(t *testing.T) {
	for pad := range 4 {
		cause := strings.Repeat("x", pad) + strings.Repeat("\U0001F4A7", maxCause)
		got := cut(cause)
		require.True(t, strings.HasPrefix(cause, got))
		require.Equal(t, maxCause-(maxCause-pad)%4, len(got))
	}
	require.Len(t, cut(strings.Repeat("\x80", 2*maxCause)), maxCause-4, "bytes that are no characters")
	require.Len(t, cut(strings.Repeat("x", maxCause)), maxCause)
}

func TestNothingIsAddedWithoutASectionOrAfterTheEnd(t *testing.T) {
	e, err := NewEncoder(io.Discard, Header{})
	require.NoError(t, err)
	require.ErrorIs(t, e.Entry(&Entry{}), errNoSection)
	require.ErrorIs(t, e.Blob(nil), errNoSection)
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Close(), errClosed)
	require.ErrorIs(t, e.Begin(Section{Operator: "sink", Kind: KindBuffer}), errClosed)
	require.ErrorIs(t, e.Entry(&Entry{}), errClosed)
	require.ErrorIs(t, e.Blob(nil), errClosed)
}

var errDisk = errors.New("disk full")

// full takes n bytes and no more.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestAnErrorOfTheWriterIsSticky(t *testing.T) {
	_, err := NewEncoder(&full{}, Header{})
	require.ErrorIs(t, err, errDisk)

	e := buffer(t, &full{n: 1000})
	large := Entry{Data: make([]byte, blockTarget)}
	require.ErrorIs(t, e.Entry(&large), errDisk)
	require.ErrorIs(t, e.Entry(&Entry{}), errDisk)
	require.ErrorIs(t, e.Blob(nil), errDisk)
	require.ErrorIs(t, e.Begin(Section{Operator: "sink", Kind: KindBuffer}), errDisk)
	require.ErrorIs(t, e.Close(), errDisk)

	e = buffer(t, &full{n: 120})
	require.NoError(t, e.Entry(&Entry{Data: make([]byte, 100)}), "it is in the block")
	require.ErrorIs(t, e.Close(), errDisk)
}
