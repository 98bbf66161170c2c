package statecodec

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var blockSection = Section{Operator: "sink", Kind: KindDead, Codec: "c", CodecVersion: 2, KeyGroups: 8}

func blockEntries(n int) []Entry { return blockEntriesUpTo(n, 3000) }

func blockEntriesUpTo(n, size int) []Entry {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	list := make([]Entry, n)
	for i := range list {
		list[i] = Entry{
			Writer: [16]byte{byte(r.IntN(2))}, Seq: uint64(10*i + r.IntN(10)), KeyGroup: uint32(r.IntN(8)), Attempts: uint16(r.IntN(3)),
			Born: int64(r.IntN(3)), Unsure: r.IntN(2) == 0, Data: bytes.Repeat([]byte{byte(i)}, r.IntN(size)),
		}
		if r.IntN(2) == 0 {
			list[i].Class, list[i].Cause, list[i].DeadAt = "age", strings.Repeat("x", r.IntN(7*size)), 5
		}
	}
	return list
}

// blocks gives the entries as sealed blocks.
func blocks(t testing.TB, entries []Entry, target int) (list [][]byte) {
	t.Helper()
	w := NewBlockWriter(blockSection, target)
	seal := func() {
		list = append(list, w.Seal())
		w.Reset(nil)
	}
	for i := range entries {
		if !w.Fits(&entries[i]) {
			seal()
		}
		require.NoError(t, w.Add(&entries[i]))
	}
	seal()
	return list
}

func TestAFileOfBlocksIsTheSnapshotThatAnEncoderWrites(t *testing.T) {
	entries := blockEntries(500)
	var want bytes.Buffer
	e, err := NewEncoder(&want, Header{Job: "orders", Checkpoint: 3})
	require.NoError(t, err)
	require.NoError(t, e.Begin(blockSection))
	for i := range entries {
		require.NoError(t, e.Entry(&entries[i]))
	}
	require.NoError(t, e.Close())

	frame, got, err := NewFrame(Header{Job: "orders", Checkpoint: 3}, blockSection)
	require.NoError(t, err)
	list := blocks(t, entries, 0)
	require.Greater(t, len(list), 3)
	for _, b := range list {
		require.LessOrEqual(t, len(b), fullBlock)
		frame.Add(b)
		got = append(got, b...)
	}
	end, sum := frame.End()
	require.Len(t, end, 36)
	require.True(t, bytes.Equal(want.Bytes(), append(got, end...)))
	require.Equal(t, crc32.Checksum(want.Bytes(), castagnoli), sum)
	again, _ := frame.End()
	require.Equal(t, end, again, "a frame may be asked again")

	_, _, err = NewFrame(Header{}, Section{})
	require.ErrorContains(t, err, "needs an operator and a kind")
	_, _, err = NewFrame(Header{Job: strings.Repeat("j", DefaultNameBytes+1)}, blockSection)
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestBlocksStandBetweenEntriesOfASnapshot(t *testing.T) {
	entries := blockEntries(30)
	w := NewBlockWriter(blockSection, 0)
	for i := range entries[10:20] {
		require.NoError(t, w.Add(&entries[10+i]))
	}
	var b bytes.Buffer
	e, err := NewEncoder(&b, Header{})
	require.NoError(t, err)
	require.ErrorIs(t, e.Block(w.Payload(), 10), errNoSection)
	require.NoError(t, e.Begin(blockSection))
	for i := range entries {
		switch {
		case i == 10:
			require.NoError(t, e.Block(w.Payload(), w.Entries()))
		case i < 10 || i >= 20:
			require.NoError(t, e.Entry(&entries[i]))
		}
	}
	require.ErrorContains(t, e.Blob(nil), "call Blob before Entry")
	require.ErrorContains(t, e.Block(nil, 0), "no block writer makes that")
	require.ErrorContains(t, e.Block([]byte{1, 2, 3}, 2), "no block writer makes that")
	require.Equal(t, Totals{Sections: 1, Entries: 30}, e.Totals())
	require.NoError(t, e.Close())
	s, err := read(&b, Caps{})
	require.NoError(t, err)
	require.Len(t, s.Sections, 1)
	for i, x := range s.Sections[0].Entries {
		entries[i].Cause = cut(entries[i].Cause)
		require.Equal(t, entries[i], x)
	}
}

func TestABlockIsReadByItself(t *testing.T) {
	entries := blockEntries(200)
	var file []byte
	var r BlockReader
	next := 0
	for _, b := range blocks(t, entries, 20000) {
		at := int64(len(file))
		file = append(file, b...)
		require.NoError(t, r.Load(bytes.NewReader(file), at, len(b), blockSection))
		require.Equal(t, b, r.Raw())
		first := next
		for r.Left() > 0 {
			var x Entry
			require.NoError(t, r.Entry(&x))
			want := entries[next]
			want.Cause = cut(want.Cause)
			require.Equal(t, want, x)
			next++
		}
		require.Equal(t, io.EOF, r.Entry(&Entry{}))
		r.Use(b[HeadBytes:], next-first, blockSection)
		var x Entry
		require.NoError(t, r.Entry(&x))
		require.Equal(t, entries[first].Seq, x.Seq)
	}
	require.Equal(t, len(entries), next)
}

func TestWhatIsAddedToABlockLeavesWhatWasShownOfIt(t *testing.T) {
	entries := blockEntries(50)
	w := NewBlockWriter(blockSection, 0)
	require.True(t, w.Fits(&Entry{Data: make([]byte, 1<<20)}), "an empty block takes any")
	require.NoError(t, w.Add(&entries[0]))
	require.False(t, w.Fits(&Entry{Data: make([]byte, 1<<20)}))
	require.NoError(t, w.Add(&entries[1]))
	shown := w.Payload()
	was := bytes.Clone(shown)
	for i := range entries[2:] {
		require.NoError(t, w.Add(&entries[2+i]))
	}
	w.Seal()
	require.Equal(t, was, shown)
	require.Equal(t, entries[0].Seq, w.First())
	require.Equal(t, entries[49].Seq, w.Last())
	require.Equal(t, 50, w.Entries())
}

func TestABlockWriterRefusesWhatAnEncoderRefuses(t *testing.T) {
	w := NewBlockWriter(blockSection, 0)
	require.ErrorIs(t, w.Add(&Entry{Data: make([]byte, DefaultEntryBytes+1)}), ErrTooLarge)
	require.ErrorContains(t, w.Add(&Entry{KeyGroup: 8}), "key group 8 in a section with 8")
	require.Empty(t, w.Payload())
	require.Zero(t, w.Entries())
}

func TestNoFlippedBitOfABlockGoesUnseen(t *testing.T) {
	b := blocks(t, blockEntriesUpTo(3, 20), 0)[0]
	var r BlockReader
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			f := fault(t, r.Load(bytes.NewReader(b), 0, len(b), blockSection))
			require.Contains(t, []Fault{Checksum, Length}, f.Fault)
			require.Error(t, r.Entry(&Entry{}), "an error stays")
			b[i] ^= 1 << bit
		}
	}
	require.NoError(t, r.Load(bytes.NewReader(b), 0, len(b), blockSection), "until another is loaded")
	for n := range b {
		f := fault(t, r.Load(bytes.NewReader(b[:n]), 0, len(b), blockSection))
		require.Equal(t, Truncated, f.Fault)
	}
	for _, size := range []int{-1, 0, headSize, 1 << 30} {
		require.Equal(t, Length, fault(t, r.Load(bytes.NewReader(b), 0, size, blockSection)).Fault)
	}
}

func TestABlockOfAnotherKindIsNoBlockOfEntries(t *testing.T) {
	frame, start, err := NewFrame(Header{}, blockSection)
	require.NoError(t, err)
	var r BlockReader
	end, _ := frame.End()
	require.Equal(t, Malformed, fault(t, r.Load(bytes.NewReader(end), 0, len(end), blockSection)).Fault)
	section := len(start) - (16 + 1 + 1 + 1 + 5 + 2)
	f := fault(t, r.Load(bytes.NewReader(start), int64(section), len(start)-section, blockSection))
	require.Equal(t, Malformed, f.Fault)
	require.EqualValues(t, section, f.Offset)
}

type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestAnErrorOfTheReaderIsHandedOn(t *testing.T) {
	broken := errors.New("broken")
	var r BlockReader
	require.ErrorIs(t, r.Load(failing{broken}, 0, 100, blockSection), broken)
	require.ErrorIs(t, r.Entry(&Entry{}), broken)
}

func TestBlocksAllocateNothingOnceWarm(t *testing.T) {
	x := Entry{Data: make([]byte, 1000)}
	w := NewBlockWriter(blockSection, 0)
	var r BlockReader
	var b []byte
	round := func() {
		for w.Fits(&x) {
			x.Seq++
			_ = w.Add(&x)
		}
		b = w.Seal()
		r.Use(b[HeadBytes:], w.Entries(), blockSection)
		var out Entry
		for r.Entry(&out) == nil {
		}
		w.Reset(b)
	}
	round()
	require.LessOrEqual(t, cap(b), fullBlock+fullBlock/8)
	require.Zero(t, testing.AllocsPerRun(20, round))
}

// Whatever the bytes say, reading them ends in entries or an error, and takes no more memory than they have.
func FuzzBlockReader(f *testing.F) {
	for _, b := range blocks(f, blockEntriesUpTo(20, 20), 500) {
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, mend bool) {
		if mend && len(b) > headSize { // else the checksum stops nearly all
			sealBlock(b, readHead(b).count)
		}
		var r BlockReader
		if err := r.Load(bytes.NewReader(b), 0, len(b), blockSection); err != nil {
			fault(t, err)
			return
		}
		for {
			var x Entry
			if err := r.Entry(&x); err == io.EOF {
				return
			} else if err != nil {
				fault(t, err)
				return
			}
		}
	})
}
