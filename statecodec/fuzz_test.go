package statecodec

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the bytes are: an error of this package or a snapshot that is the same when it is written and read again; and
// no more memory than they and the caps allow. To get past the checksums, the fuzzer's bytes are taken twice: as a
// file, and as the payloads of blocks that are sealed rightly.
func FuzzDecoder(f *testing.F) {
	whole := small().bytes(f)
	start, blocks := cutBlocks(whole)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	for _, b := range blocks {
		f.Add(append([]byte{b[12], 1}, b[headSize:]...))
	}
	for seed := range uint64(10) {
		s := random(rand.New(rand.NewPCG(seed, 2)))
		if b := s.bytes(f); len(b) < 10_000 {
			f.Add(b)
		}
	}
	caps := Caps{BlockBytes: 1 << 20, EntryBytes: 1 << 19, NameBytes: 1 << 10}
	f.Fuzz(func(t *testing.T, b []byte) {
		try(t, b, caps)
		if len(b) >= 2 {
			section := sealed(typeSection, 0, []byte{byte(KindDead), 1, 16, 1, 'o', 0})
			block := sealed(b[0], uint32(b[1]), b[2:])
			end := trailerFor(Totals{Sections: 1, Entries: uint64(b[1])}, start, section, block)
			try(t, slices.Concat(start, section, block, end), caps)
		}
	})
}

func try(t *testing.T, b []byte, caps Caps) {
	var s snapshot
	d, err := NewDecoder(bytes.NewReader(b), caps)
	if err == nil {
		s, err = readAll(d)
		require.LessOrEqual(t, cap(d.buf), min(max(2*len(b), blockTarget), caps.BlockBytes))
	}
	var format *FormatError
	var newer *NewerError
	switch {
	case err == nil:
		again, err := read(bytes.NewReader(s.bytes(t)), Caps{})
		require.NoError(t, err)
		require.Equal(t, s, again)
		_, _, err = Verify(bytes.NewReader(b), caps)
		require.NoError(t, err)
	case errors.As(err, &format):
		require.LessOrEqual(t, format.Offset, int64(len(b)))
	case errors.As(err, &newer), errors.Is(err, ErrNotSnapshot):
	default:
		t.Fatalf("an error of no type: %v", err)
	}
}

// What is written is read: the fuzzer chooses the fields of two entries, so that each is coded against another.
func FuzzEntries(f *testing.F) {
	f.Add([]byte("a writer's bytes"), uint64(1), uint32(3), uint16(0), int64(5), false, "", "", int64(0), []byte("data"))
	f.Add([]byte{}, ^uint64(0), ^uint32(0), ^uint16(0), int64(-1), true, "rejected", "too large", int64(-1)<<63, []byte{})
	f.Fuzz(func(t *testing.T, writer []byte, seq uint64, group uint32, attempts uint16, born int64, unsure bool, class, cause string, deadAt int64, data []byte) {
		e := Entry{Seq: seq, KeyGroup: group % 1000, Attempts: attempts, Born: born, Unsure: unsure, Class: cut(class), Cause: cut(cause), DeadAt: deadAt, Data: bytes.Clone(data)}
		if data == nil {
			e.Data = []byte{}
		}
		copy(e.Writer[:], writer)
		next := Entry{Writer: e.Writer, Seq: seq + 1, KeyGroup: e.KeyGroup, Born: -born, Data: []byte{}}
		want := snapshot{Sections: []content{{Section: Section{Operator: "o", Kind: KindDead, KeyGroups: 1000}, Entries: []Entry{e, next, e}}}}
		got, err := read(bytes.NewReader(want.bytes(t)), Caps{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A header is read or refused, and what is read is the same when it is written again.
func FuzzHeader(f *testing.F) {
	whole := small().bytes(f)
	start, _ := cutBlocks(whole)
	f.Add(start[prefixSize : len(start)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := NewDecoder(bytes.NewReader(header(body, uint32(len(body)))), Caps{NameBytes: 1 << 10})
		if err != nil {
			fault(t, err)
			return
		}
		again, err := NewDecoder(bytes.NewReader(appendHeader(nil, d.Header())), Caps{})
		require.NoError(t, err)
		require.Equal(t, d.Header(), again.Header())
	})
}

// Most entries are read by a shorter way. It leads to the same entries, and to the same error.
func FuzzQuick(f *testing.F) {
	_, blocks := cutBlocks(small().bytes(f))
	f.Add(blocks[3][headSize:], uint32(2), uint32(128))
	f.Add([]byte{flagSeq | flagKeyGroup | flagAttempts | flagBorn, 0x80, 1, 0x80, 1, 0x80, 1, 0x80, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint32(3), uint32(1000))
	f.Add(append([]byte{flagKeyGroup, 100, 0}, make([]byte, 20)...), uint32(3), uint32(100))
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := Section{KeyGroups: uint32(wild(r))}
		w := NewBlockWriter(s, 0)
		for e := (Entry{}); w.Entries() < 50; {
			e = entryAfter(r, e, s)
			require.NoError(f, w.Add(&e))
		}
		f.Add(w.Payload(), uint32(w.Entries()), s.KeyGroups)
	}
	f.Fuzz(func(t *testing.T, payload []byte, entries, groups uint32) {
		open := func() *Decoder {
			return &Decoder{caps: Caps{EntryBytes: 1 << 10}.orDefaults(), section: Section{KeyGroups: groups}, place: atEntries, buf: payload, left: entries}
		}
		quick, slow := open(), open()
		for slow.err == nil && slow.left > 0 {
			want, got := Entry{}, Entry{Class: "before", Cause: "it"}
			slow.left--
			if slow.entry(&want); slow.err == nil && slow.left == 0 {
				slow.end("the block")
			}
			err := quick.Entry(&got)
			require.Equal(t, slow.err, err)
			if err == nil {
				require.Equal(t, want, got)
			}
		}
	})
}
