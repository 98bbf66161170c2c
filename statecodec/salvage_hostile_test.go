package statecodec

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestAnErrorOfTheReaderIsNoDamage(t *testing.T) {
	_, file, _ := sample(t)
	broken := errors.New("disk on fire")
	for n := range len(file) + 1 {
		b := slices.Clone(file)
		b[min(n, len(b)-1)/2+50]++ // and there is damage before it
		d, err := NewDecoder(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(broken)), Caps{})
		if err == nil {
			d.Salvage(func(x Damage) { require.NotEqual(t, Truncated, x.Err.Fault) })
			_, err = readAll(d)
		}
		if n > 150 {
			require.ErrorIs(t, err, broken, "after %d bytes", n)
		}
		require.Error(t, err)
	}
}

func TestALongHoleIsReportedInParts(t *testing.T) {
	const cap = 4 << 10
	_, file, blocks := sample(t)
	hole := make([]byte, 100<<10)
	r := rand.New(rand.NewPCG(1, 9))
	for i := range hole {
		hole[i] = byte(r.Uint32())
	}
	at := blocks[3].from // before the second section
	b := slices.Insert(slices.Clone(file), at, hole...)
	got, damage, err := salvaged(t, b, Caps{BlockBytes: cap})
	require.NoError(t, err)
	want, _, _ := sample(t)
	require.Equal(t, want, got)
	require.Len(t, damage, len(hole)/(cap+headSize)+1)
	require.Equal(t, int64(at), damage[0].Offset)
}

// Bytes in which a block of the largest size might begin everywhere: the work is linear all the same.
func plausibleEverywhere(n int, length uint32) []byte {
	b := make([]byte, n/headSize*headSize)
	for i := 0; i < len(b); i += headSize {
		head{crc: 1, length: length, typ: typeBlob}.put(b[i:])
	}
	return b
}

func TestASalvageTakesTheMemoryOfTwoBlocks(t *testing.T) {
	const block = 1_300_000 // the window doubles, and not beyond two
	_, file, blocks := sample(t)
	at := blocks[3].from
	for what, hole := range map[string][]byte{
		"zeros":              make([]byte, 10*block),
		"blocks everywhere":  plausibleEverywhere(3*block, block),
		"above the cap":      plausibleEverywhere(5*block, 4*block),
		"a length, no bytes": plausibleEverywhere(headSize, block),
	} {
		b := slices.Insert(slices.Clone(file), at, hole...)
		d, err := NewDecoder(bytes.NewReader(b), Caps{BlockBytes: block})
		require.NoError(t, err)
		got := allocated(func() {
			d.Salvage(func(Damage) {})
			for err == nil {
				_, err = d.Next()
			}
		})
		require.Equal(t, io.EOF, err)
		require.Equal(t, uint64(4), d.Totals().Sections, what)
		require.LessOrEqual(t, cap(d.mem), 2*(block+headSize)+fullBlock, what)
		require.Less(t, got, uint64(5*block+block/2), "%s: the window and the halves that it grew from", what)
	}
}

func TestHostileLengthsAllocateNothingInASalvage(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t))
	for what, length := range map[string]uint32{"at the cap": DefaultBlockBytes, "above it": 1<<32 - 1, "an entry's": DefaultEntryBytes} {
		b := slices.Concat(start, blocks[0], plausibleEverywhere(headSize, length), make([]byte, 100<<10), blocks[2], blocks[3])
		got := uint64(math.MaxUint64)
		for range 5 {
			got = min(got, allocated(func() {
				d, err := NewDecoder(bytes.NewReader(b), Caps{})
				require.NoError(t, err)
				d.Salvage(func(Damage) {})
				for err == nil {
					_, err = d.Next()
				}
				require.Equal(t, Totals{Sections: 2, Entries: 2}, d.Totals(), what)
			}))
		}
		require.Less(t, got, uint64(blockTarget+64<<10), what)
	}
}

// Whatever lies behind a header, and whatever is written over a part of a file: no panic, bounded memory, each byte is read
// or reported, and of the file nothing is returned that was not written.
func FuzzSalvage(f *testing.F) {
	want, file, blocks := sample(f)
	start := blocks[0].from
	f.Add([]byte{}, uint16(0))
	f.Add([]byte("00000\x00\x00\x0000"), uint16(474)) // a whole block two bytes on
	f.Add(file[start:], uint16(0))
	f.Add(bytes.Repeat([]byte{0xff}, 16), uint16(blocks[2].from))
	for i, x := range blocks {
		f.Add(file[x.from:x.to], uint16(blocks[len(blocks)-1-i].from+3))
	}
	f.Fuzz(func(t *testing.T, noise []byte, at uint16) {
		caps := Caps{BlockBytes: 1 << 10, EntryBytes: 1 << 9, NameBytes: 1 << 8}
		_, _, err := salvaged(t, slices.Concat(file[:start], noise), caps)
		require.NoError(t, err)
		_, _, err = salvaged(t, slices.Concat(file[:start], file[blocks[0].from:blocks[1].to], noise, file[blocks[2].from:]), caps)
		require.NoError(t, err)

		b := slices.Clone(file)
		from := start + int(at)%(len(b)-start)
		for i := range min(len(noise), len(b)-from) {
			b[from+i] ^= max(noise[i], 1)
		}
		got, damage, err := salvaged(t, b, Caps{})
		require.NoError(t, err)
		require.Equal(t, len(noise) > 0, len(damage) > 0)
		isPart(t, want, got)
		got, _, err = salvaged(t, file[:from], caps)
		require.NoError(t, err)
		isPart(t, want, got)
	})
}

// ends is a reader that nobody asks again once it has ended.
type ends struct {
	t     testing.TB
	r     io.Reader
	ended bool
}

func (e *ends) Read(b []byte) (int, error) {
	require.False(e.t, e.ended)
	n, err := e.r.Read(b)
	e.ended = err != nil
	return n, err
}

func TestAReaderThatHasEndedIsNotAskedAgain(t *testing.T) {
	_, file, blocks := sample(t)
	for n := blocks[0].from; n <= len(file); n++ {
		d, err := NewDecoder(&ends{t: t, r: bytes.NewReader(file[:n])}, Caps{})
		require.NoError(t, err)
		d.Salvage(func(Damage) {})
		_, err = readAll(d)
		require.NoError(t, err)
	}
}

func TestSalvageComesBeforeNext(t *testing.T) {
	d, err := NewDecoder(bytes.NewReader(small().bytes(t)), Caps{})
	require.NoError(t, err)
	_, err = d.Next()
	require.NoError(t, err)
	require.Panics(t, func() { d.Salvage(func(Damage) {}) })
}

func TestSumsAreThoseOfTheirParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 10))
	b := make([]byte, 10*sumStep+77)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	var s sums
	for range 2000 {
		from := r.IntN(len(b))
		to := from + r.IntN(len(b)-from+1)
		require.Equal(t, crc32.Checksum(b[from:to], castagnoli), s.of(b, from, to), "%d to %d", from, to)
	}
}
