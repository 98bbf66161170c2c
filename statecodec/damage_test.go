package statecodec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"runtime/metrics"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// small has one block of each type, and some of two.
func small() snapshot {
	return snapshot{
		Header: Header{Job: "orders", Instance: "0", Checkpoint: 42, Epoch: 3, Time: 1, Final: true},
		Sections: []content{
			{Section: Section{Operator: "file", Kind: KindSource}, Blobs: [][]byte{[]byte("position")}},
			{
				Section: Section{Operator: "sink", Kind: KindBuffer, Codec: "bytes", CodecVersion: 1, KeyGroups: 128},
				Entries: []Entry{{Writer: [16]byte{9}, Seq: 5, KeyGroup: 77, Born: 10, Data: []byte("a")}, {Seq: 6, Unsure: true, Attempts: 2, Data: []byte("b")}},
			},
			{
				Section: Section{Operator: "sink", Kind: KindDead, Codec: "bytes", CodecVersion: 1},
				Entries: []Entry{{Seq: 4, Class: "rejected", Cause: "no", DeadAt: 20, Data: []byte("c")}},
			},
		},
	}
}

func fault(t *testing.T, err error) *FormatError {
	t.Helper()
	var f *FormatError
	require.ErrorAs(t, err, &f)
	return f
}

func TestASnapshotCutAnywhereIsTruncated(t *testing.T) {
	whole := small().bytes(t)
	for n := range whole {
		_, err := read(bytes.NewReader(whole[:n]), Caps{})
		f := fault(t, err)
		require.Equal(t, Truncated, f.Fault, "after %d bytes: %v", n, err)
		require.LessOrEqual(t, f.Offset, int64(n))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		_, _, verr := Verify(bytes.NewReader(whole[:n]), Caps{})
		require.Equal(t, Truncated, fault(t, verr).Fault, "after %d bytes", n)
	}
}

func TestNoFlippedBitGoesUnseen(t *testing.T) {
	whole := small().bytes(t)
	for i := range whole {
		for bit := range 8 {
			b := slices.Clone(whole)
			b[i] ^= 1 << bit
			_, err := read(bytes.NewReader(b), Caps{})
			_, _, verr := Verify(bytes.NewReader(b), Caps{})
			if i < len(magic) {
				require.ErrorIs(t, err, ErrNotSnapshot)
				continue
			}
			f := fault(t, err)
			require.NotEqual(t, Malformed, f.Fault, "byte %d bit %d: %v", i, bit, err) // that blames the writer
			require.NotEqual(t, Trailing, f.Fault)
			require.LessOrEqual(t, f.Offset, int64(i), "byte %d bit %d: %v", i, bit, err)
			require.Equal(t, f.Fault, fault(t, verr).Fault)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	whole := small().bytes(t)
	at := bytes.Index(whole, []byte("position"))
	b := slices.Clone(whole)
	b[at]++
	_, err := read(bytes.NewReader(b), Caps{})
	require.Equal(t, &FormatError{Offset: int64(at - headSize), Section: small().Sections[0].Section, Fault: Checksum, Detail: "of the block"}, fault(t, err))
	require.ErrorContains(t, err, `in section "file" (source): checksum: of the block`)

	_, err = read(bytes.NewReader(append(whole, 0)), Caps{})
	require.Equal(t, &FormatError{Offset: int64(len(whole)), Fault: Trailing, Detail: "there is more after the trailer"}, fault(t, err))
	require.NotErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestErrorsAreSticky(t *testing.T) {
	whole := small().bytes(t)
	d, err := NewDecoder(bytes.NewReader(whole[:len(whole)-1]), Caps{})
	require.NoError(t, err)
	for err == nil {
		_, err = d.Next()
	}
	_, again := d.Next()
	require.Same(t, fault(t, err), fault(t, again))
	_, again = d.Blob()
	require.Same(t, fault(t, err), fault(t, again))
	require.Same(t, fault(t, err), fault(t, d.Entry(&Entry{})))
}

// cutBlocks takes a snapshot apart: what lies before the blocks, and the blocks.
func cutBlocks(b []byte) (start []byte, blocks [][]byte) {
	n := prefixSize + int(binary.LittleEndian.Uint32(b[12:])) + 4
	start, b = b[:n], b[n:]
	for len(b) > 0 {
		n := headSize + int(binary.LittleEndian.Uint32(b[4:]))
		blocks, b = append(blocks, b[:n]), b[n:]
	}
	return start, blocks
}

func TestBlocksMissingDoubledOrMovedAreFound(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t)) // section blob, section entries, section entries, trailer
	require.Len(t, blocks, 7)
	for what, blocks := range map[string][][]byte{
		"a blob missing":   slices.Delete(slices.Clone(blocks), 1, 2),
		"a blob twice":     slices.Insert(slices.Clone(blocks), 1, blocks[1]),
		"sections swapped": {blocks[2], blocks[3], blocks[0], blocks[1], blocks[4], blocks[5], blocks[6]},
		"another header":   nil,
	} {
		if blocks == nil {
			other := small()
			other.Header.Checkpoint++
			start, _ = cutBlocks(other.bytes(t))
			_, blocks = cutBlocks(small().bytes(t))
		}
		_, err := read(bytes.NewReader(slices.Concat(start, slices.Concat(blocks...))), Caps{})
		require.Equal(t, Checksum, fault(t, err).Fault, what)
		require.ErrorContains(t, err, "missing, doubled or in another order", what)
	}
}

// sealed makes a block with a right checksum.
func sealed(typ byte, count uint32, payload []byte) []byte {
	b := append(make([]byte, headSize), payload...)
	h := head{length: uint32(len(payload)), count: count, typ: typ}
	h.put(b)
	h.crc = crc32.Checksum(b[4:], castagnoli)
	h.put(b)
	return b
}

func TestAFaultyWritersBytesAreRefused(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t))
	section, blob, entries := blocks[0], blocks[1], blocks[3]
	keyed := blocks[2]
	one := func(b ...byte) []byte { return sealed(typeEntries, 1, b) }
	cases := map[string]struct {
		blocks [][]byte
		fault  Fault
		detail string
	}{
		"entries before a section":         {[][]byte{entries}, Malformed, "before the first section"},
		"a blob before a section":          {[][]byte{blob}, Malformed, "before the first section"},
		"a blob behind entries":            {[][]byte{keyed, entries, blob}, Malformed, "a blob behind entries"},
		"an unknown type":                  {[][]byte{sealed(9, 0, nil)}, Malformed, "unknown type"},
		"a count of a blob":                {[][]byte{section, sealed(typeBlob, 1, nil)}, Malformed, "another type"},
		"a section without a name":         {[][]byte{sealed(typeSection, 0, []byte{1, 0, 0, 0, 0})}, Malformed, "without operator"},
		"a section too long":               {[][]byte{sealed(typeSection, 0, []byte{1, 0, 0, 1, 'o', 0, 0})}, Length, "1 bytes are left over"},
		"a section too short":              {[][]byte{sealed(typeSection, 0, []byte{1, 0, 0, 1, 'o'})}, Length, "codec overflows, or does not end"},
		"key groups out of range":          {[][]byte{sealed(typeSection, 0, []byte{1, 0, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'o', 0})}, Malformed, "out of range"},
		"no entries in a block":            {[][]byte{section, sealed(typeEntries, 0, nil)}, Length, "0 entries"},
		"more entries than bytes":          {[][]byte{section, sealed(typeEntries, 1<<31, []byte{0, 0})}, Length, "entries in a block of 2 bytes"},
		"fewer entries than counted":       {[][]byte{section, sealed(typeEntries, 2, []byte{0, 2, 'a', 'b'})}, Length, "flags"},
		"bytes behind the last entry":      {[][]byte{section, one(0, 0, 0)}, Length, "1 bytes are left over"},
		"an unknown flag":                  {[][]byte{section, one(0x80, 0)}, Malformed, "unknown flags"},
		"a key group that is not":          {[][]byte{keyed, one(flagKeyGroup, 0x80, 1, 0)}, Malformed, "key group 128 of 128"},
		"a key group in a section of none": {[][]byte{section, one(flagKeyGroup, 1, 0)}, Malformed, "key group 1 of 0"},
		"attempts out of range":            {[][]byte{section, one(flagAttempts, 0xff, 0xff, 0x7f, 0)}, Malformed, "attempts"},
		"data longer than its block":       {[][]byte{section, one(0, 5, 1)}, Length, "data overflows"},
		"data longer than the cap":         {[][]byte{section, one(0, 0xff, 0xff, 0xff, 0xff, 0x7f)}, Length, "above the limit"},
		"a class longer than the cap":      {[][]byte{section, one(flagDead, 0, 0xff, 0xff, 0xff, 0x7f)}, Length, "class of"},
		"a number without end":             {[][]byte{section, one(flagSeq, 0x80, 0x80)}, Length, "sequence overflows"},
		"a number above 64 bits":           {[][]byte{section, one(append([]byte{flagSeq}, bytes.Repeat([]byte{0xff}, 12)...)...)}, Length, "sequence overflows"},
		"half a writer":                    {[][]byte{section, one(flagWriter, 1, 2, 3)}, Length, "writer"},
		"a trailer of another size":        {[][]byte{sealed(typeTrailer, 0, []byte{1})}, Malformed, "another size"},
		"a trailer that counts wrongly":    {[][]byte{section, trailerFor(Totals{Sections: 7}, start, section)}, Malformed, "the trailer counts {Sections:7 Entries:0}"},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			_, err := read(bytes.NewReader(slices.Concat(start, slices.Concat(c.blocks...))), Caps{})
			require.Equal(t, c.fault, fault(t, err).Fault, "%v", err)
			require.ErrorContains(t, err, c.detail)
		})
	}
}

// trailerFor makes a trailer with a right seal.
func trailerFor(n Totals, start []byte, blocks ...[]byte) []byte {
	seal := crc32.Checksum(start[len(start)-4:], castagnoli)
	for _, b := range blocks {
		seal = crc32.Update(seal, castagnoli, b[:headSize])
	}
	p := binary.LittleEndian.AppendUint64(nil, n.Sections)
	p = binary.LittleEndian.AppendUint64(p, n.Entries)
	return sealed(typeTrailer, 0, binary.LittleEndian.AppendUint32(p, seal))
}

// header makes a header with right checksums.
func header(body []byte, length uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), Version)
	b = binary.LittleEndian.AppendUint32(b, length)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func TestAFaultyHeaderIsRefused(t *testing.T) {
	flags := make([]byte, 27)
	flags[24] = 2
	for what, b := range map[string][]byte{
		"too short":      header(make([]byte, 24), 24),
		"a flag":         header(flags, 27),
		"left over":      header(make([]byte, 28), 28),
		"names too long": header(make([]byte, 27), 1<<31),
	} {
		_, err := NewDecoder(bytes.NewReader(b), Caps{})
		fault(t, err)
		require.NotErrorIs(t, err, io.ErrUnexpectedEOF, what)
	}
	_, err := NewDecoder(bytes.NewReader(header(make([]byte, 27), 27)), Caps{})
	require.NoError(t, err)
}

func TestANewerFormatIsNamedAndAnotherFileIsNot(t *testing.T) {
	b := small().bytes(t)
	binary.LittleEndian.PutUint32(b[8:], 7)
	_, err := NewDecoder(bytes.NewReader(b), Caps{})
	require.Equal(t, Checksum, fault(t, err).Fault, "a version is believed only if its checksum is right")
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
	_, err = NewDecoder(bytes.NewReader(b), Caps{})
	var newer *NewerError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, NewerError{What: "snapshot format", Found: 7, Supported: Version}, *newer)
	require.ErrorContains(t, err, "has version 7, this program reads up to 0: start the program that wrote it")

	for _, other := range []string{"{", `{"time":1}`, "\x89PNG\r\n\x1a\n and much more of it", "\x89SPW\n\x1a\n and line ends changed"} {
		_, err := NewDecoder(bytes.NewReader([]byte(other)), Caps{})
		require.ErrorIs(t, err, ErrNotSnapshot, "%q", other)
	}
}

func TestAnErrorOfTheReaderIsNotTakenForDamage(t *testing.T) {
	whole, broken := small().bytes(t), errors.New("disk on fire")
	for n := range len(whole) + 1 { // also where the end of the file should be
		_, err := read(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(broken)), Caps{})
		require.ErrorIs(t, err, broken, "after %d bytes", n)
		var f *FormatError
		require.False(t, errors.As(err, &f))
	}
}

// Lengths that are only claimed: a block's, an entry's, a name's.
func TestHostileLengthsAllocateNothing(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t))
	claim := func(length uint32) []byte {
		h := head{length: length, typ: typeBlob}
		b := make([]byte, headSize)
		h.put(b)
		return b
	}
	for what, b := range map[string][]byte{
		"at the cap":  slices.Concat(start, blocks[0], claim(DefaultBlockBytes)),
		"above it":    slices.Concat(start, blocks[0], claim(1<<32-1)),
		"some of it":  slices.Concat(start, blocks[0], claim(DefaultBlockBytes), make([]byte, 100<<10)),
		"an entry":    slices.Concat(start, blocks[0], sealed(typeEntries, 1, []byte{0, 0xff, 0xff, 0xff, 0x1f})),
		"a long name": slices.Concat(start, blocks[0], sealed(typeSection, 0, []byte{1, 0, 0, 0xff, 0xff, 0x03})),
	} {
		got := uint64(math.MaxUint64)
		for range 5 { // the least: what else the runtime counts meanwhile only adds
			got = min(got, allocated(func() {
				_, err := read(bytes.NewReader(b), Caps{})
				fault(t, err)
			}))
		}
		require.Less(t, got, uint64(blockTarget+64<<10), what)
	}
}

func TestMemoryStaysWithinTheCaps(t *testing.T) {
	const block = 1 << 20
	s := snapshot{Sections: []content{{Section: Section{Operator: "sink", Kind: KindSource}, Blobs: [][]byte{make([]byte, block), make([]byte, block)}}}}
	b := s.bytes(t)
	d, err := NewDecoder(bytes.NewReader(b), Caps{BlockBytes: block})
	require.NoError(t, err)
	_, err = d.Next()
	require.NoError(t, err)
	got := allocated(func() {
		for err == nil {
			_, err = d.Blob()
		}
	})
	require.Equal(t, io.EOF, err)
	require.Less(t, got, uint64(2*block), "the buffer and the halves that it grew from")

	_, err = read(bytes.NewReader(b), Caps{BlockBytes: block - 1})
	require.Equal(t, Length, fault(t, err).Fault)
	_, _, err = Verify(bytes.NewReader(b), Caps{BlockBytes: block - 1})
	require.Equal(t, Length, fault(t, err).Fault)
	_, err = read(bytes.NewReader(small().bytes(t)), Caps{NameBytes: 5})
	require.Equal(t, Length, fault(t, err).Fault)
}

// allocated is how many bytes f allocates. Small objects may be counted late, large ones are not.
func allocated(f func()) uint64 {
	total := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := total()
	f()
	return total() - before
}
