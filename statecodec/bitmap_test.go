package statecodec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// set is the model of a bitmap: the sequences that are set, ascending.
type set []uint64

// addRandom adds ranges and words to a builder, and to its model.
func addRandom(r *rand.Rand, b *BitmapBuilder) (s set) {
	next := wild(r) >> r.IntN(64)
	for range r.IntN(12) {
		if next > MaxBitmapSeq-10_000 {
			break
		}
		first := next + uint64(r.IntN(3)*r.IntN(200))
		n := 1 + r.IntN(400)
		if r.IntN(2) == 0 {
			b.AddRange(first, first+uint64(n)-1)
			for i := range n {
				s = append(s, first+uint64(i))
			}
		} else {
			words := make([]uint64, (n+63)/64)
			for i := range words {
				words[i] = []uint64{0, ^uint64(0), r.Uint64(), r.Uint64() & r.Uint64() & r.Uint64()}[r.IntN(4)]
			}
			b.AddWords(first, n, words...)
			for i := range n {
				if words[i/64]>>(i%64)&1 != 0 {
					s = append(s, first+uint64(i))
				}
			}
		}
		next = first + uint64(n)
	}
	return s
}

// is requires m to be the set s, by each way to look at it.
func is(t testing.TB, s set, m Bitmap) {
	t.Helper()
	require.Equal(t, uint64(len(s)), m.Count())
	if len(s) == 0 {
		require.Equal(t, Bitmap{}, m)
	} else {
		require.Equal(t, s[0], m.First())
		require.Equal(t, s[len(s)-1], m.Last())
	}
	var byRuns, byWords set
	for first, last := range m.Runs() {
		if last < first || len(byRuns) > 0 && first <= byRuns[len(byRuns)-1]+1 {
			t.Fatalf("a run from %d to %d: neighbours are one run", first, last)
		}
		for seq := first; seq <= last; seq++ {
			byRuns = append(byRuns, seq)
		}
	}
	require.Equal(t, s, byRuns)
	for first, word := range m.Words() {
		if first%64 != 0 || word == 0 {
			t.Fatalf("word %x at %d", word, first)
		}
		for i := range uint64(64) {
			if word>>i&1 != 0 {
				byWords = append(byWords, first+i)
			}
		}
	}
	require.Equal(t, s, byWords)

	c := m.Cursor()
	ask := func(seq uint64) {
		if _, has := slices.BinarySearch(s, seq); has != c.Contains(seq) {
			t.Fatalf("%d: %v", seq, !has)
		}
	}
	for _, seq := range s {
		ask(seq - 1)
		ask(seq)
		ask(seq + 1)
	}
	for _, seq := range []uint64{0, 64, math.MaxUint64} {
		ask(seq)
	}
	for _, seq := range slices.Backward(s[:min(len(s), 100)]) {
		ask(seq)
	}
}

func built(t testing.TB, b *BitmapBuilder) Bitmap {
	t.Helper()
	m, err := b.Bitmap()
	require.NoError(t, err)
	return m
}

func TestABitmapHoldsWhatWasAdded(t *testing.T) {
	var b BitmapBuilder
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := addRandom(r, &b)
		m := built(t, &b)
		is(t, s, m)

		enc := m.AppendTo([]byte("before"))
		require.Equal(t, "before", string(enc[:6]))
		again, err := DecodeBitmap(enc[6:], uint64(len(s)))
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, m, again)
		clear(enc) // it was copied
		is(t, s, again)
		if len(s) > 1 {
			_, err := DecodeBitmap(m.AppendTo(nil), uint64(len(s)-1))
			require.Equal(t, Length, fault(t, err).Fault)
			span := s[len(s)-1] - s[0] + 1
			require.LessOrEqual(t, len(enc)-6, int(span/8)+8+8+12, "an eighth of a byte a sequence, both ends' words, two tokens")
		}
	}
}

func TestASetHasOneEncodingHoweverItWasAdded(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		var b, one BitmapBuilder
		for _, seq := range addRandom(r, &b) {
			one.AddRange(seq, seq)
		}
		require.Equal(t, built(t, &one), built(t, &b), "seed %d", seed)
	}
}

func TestACutHoldsWhatLiesInIt(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		var b BitmapBuilder
		s := addRandom(r, &b)
		m := built(t, &b)
		for range 5 {
			first, last := wild(r), wild(r)
			if len(s) > 0 && r.IntN(4) > 0 {
				first, last = s[r.IntN(len(s))]-uint64(r.IntN(70)), s[r.IntN(len(s))]+uint64(r.IntN(70))
			}
			var want set
			for _, seq := range s {
				if seq >= first && seq <= last {
					want = append(want, seq)
				}
			}
			is(t, want, m.Cut(first, last))
		}
	}
}

func TestLongRunsTakeAFewBytes(t *testing.T) {
	var b BitmapBuilder
	b.AddRange(1000, 1<<40)
	b.AddRange(1<<62, MaxBitmapSeq)
	m := built(t, &b)
	require.Equal(t, (1<<40-1000+1)+(MaxBitmapSeq-1<<62+1), m.Count())
	enc := m.AppendTo(nil)
	require.Less(t, len(enc), 64)
	again, err := DecodeBitmap(enc, 0)
	require.NoError(t, err)
	require.Equal(t, m, again)
	var runs [][2]uint64
	for first, last := range m.Runs() {
		runs = append(runs, [2]uint64{first, last})
	}
	require.Equal(t, [][2]uint64{{1000, 1 << 40}, {1 << 62, MaxBitmapSeq}}, runs)
	require.Equal(t, uint64(3), m.Cut(1<<40-1, 1<<62).Count())
	c := m.Cursor()
	require.True(t, c.Contains(MaxBitmapSeq))
	require.False(t, c.Contains(math.MaxUint64))
	require.True(t, c.Contains(1<<40))
	require.False(t, c.Contains(1<<40+1))

	b.AddRange(0, MaxBitmapSeq)
	m = built(t, &b)
	require.Equal(t, uint64(math.MaxUint64), m.Count(), "all there are")
}

func TestIterationEndsWhenItIsTold(t *testing.T) {
	var b BitmapBuilder
	b.AddWords(1, 64, 0x5555)
	b.AddRange(640, 1<<40)
	b.AddRange(1<<41, 1<<41)
	m := built(t, &b)
	for stop := range 11 { // runs, of which there are ten
		n := 0
		for range m.Runs() {
			if n++; n > stop {
				break
			}
		}
		require.Equal(t, min(stop+1, 10), n)
	}
	n := 0
	for range m.Words() {
		if n++; n == 5 {
			break
		}
	}
	require.Equal(t, 5, n)
}

func TestABuilderRefusesWhatDoesNotAscend(t *testing.T) {
	for what, add := range map[string]func(b *BitmapBuilder){
		"a range again":             func(b *BitmapBuilder) { b.AddRange(20, 30) },
		"words that overlap":        func(b *BitmapBuilder) { b.AddWords(30, 10, 0) },
		"words below":               func(b *BitmapBuilder) { b.AddWords(0, 10, 1) },
		"a range from high to low":  func(b *BitmapBuilder) { b.AddRange(50, 49) },
		"the sequence that is none": func(b *BitmapBuilder) { b.AddRange(50, math.MaxUint64) },
		"words beyond the highest":  func(b *BitmapBuilder) { b.AddWords(math.MaxUint64-5, 64, 1) },
		"more than the words":       func(b *BitmapBuilder) { b.AddWords(50, 65, 1) },
		"less than none":            func(b *BitmapBuilder) { b.AddWords(50, -1, 1) },
	} {
		var b BitmapBuilder
		b.AddRange(20, 30)
		add(&b)
		b.AddRange(100, 101)
		m, err := b.Bitmap()
		require.ErrorContains(t, err, "statecodec: bitmap: ", what)
		require.Equal(t, Bitmap{}, m)
		b.AddRange(1, 2)
		is(t, set{1, 2}, built(t, &b))
	}
	var b BitmapBuilder
	b.AddWords(7, 0)
	b.AddWords(7, 1, 3, 0, 5)
	b.AddWords(8, 4, ^uint64(0))
	is(t, set{7, 8, 9, 10, 11}, built(t, &b))
}

// words makes the bytes of a run.
func words(kind, n uint64, mixed ...uint64) []byte {
	b := binary.AppendUvarint(nil, n<<kindBits|kind)
	for _, v := range mixed {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func TestBytesThatAreNoBitmapAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		b      []byte
		at     int64
		fault  Fault
		detail string
	}{
		"an unknown kind":           {words(0, 1), 0, Malformed, "unknown kind"},
		"no words":                  {words(runSet, 0), 0, Malformed, "no words"},
		"a run in two":              {slices.Concat(words(runSet, 1), words(runSet, 1)), 1, Malformed, "as the one before"},
		"a run that does not end":   {[]byte{0x80}, 0, Length, "does not end"},
		"a number above 64 bits":    {bytes.Repeat([]byte{0xff}, 11), 0, Length, "overflows"},
		"a long number":             {[]byte{0x86, 0}, 0, Malformed, "zeros before it"},
		"clear at the end":          {slices.Concat(words(runSet, 1), words(runClear, 1)), 1, Malformed, "nothing is set"},
		"words that do not arrive":  {words(runMixed, 2, 5), 0, Length, "a run of 2 words in 8 bytes"},
		"many that do not arrive":   {words(runMixed, 1<<60, 5), 0, Length, "beyond the highest"},
		"a clear word in mixed":     {words(runMixed, 2, 5, 0), 0, Malformed, "all clear or all set"},
		"a full word in mixed":      {words(runMixed, 2, 5, math.MaxUint64), 0, Malformed, "all clear or all set"},
		"a run beyond the end":      {slices.Concat(words(runClear, 5), words(runSet, maxWords-5)), 1, Length, "beyond the highest"},
		"clear beyond the end":      {slices.Concat(words(runClear, maxWords+1), words(runSet, 1)), 0, Length, "beyond the highest"},
		"mixed beyond the end":      {slices.Concat(words(runClear, maxWords), words(runMixed, 1, 5)), 9, Length, "beyond the highest"},
		"the sequence that is none": {slices.Concat(words(runClear, maxWords-1), words(runMixed, 1, 1<<63)), 9, Length, "above the highest"},
	} {
		_, err := DecodeBitmap(c.b, 0)
		require.ErrorContains(t, err, c.detail, what)
		require.Equal(t, c.fault, fault(t, err).Fault, what)
		require.Equal(t, c.at, fault(t, err).Offset, what)
	}
	m, err := DecodeBitmap(slices.Concat(words(runClear, maxWords-1), words(runMixed, 1, 1<<62)), 1)
	require.NoError(t, err)
	is(t, set{MaxBitmapSeq}, m)
}

func TestABuilderReusesItsMemory(t *testing.T) {
	var b BitmapBuilder
	add := func() {
		for i := range uint64(1000) {
			b.AddWords(200*i+7, 128, 0x5555, ^uint64(0))
		}
	}
	add()
	built(t, &b)
	var err error
	allocs := testing.AllocsPerRun(100, func() {
		add()
		_, err = b.Bitmap()
	})
	require.NoError(t, err)
	require.Equal(t, 1.0, allocs, "the bitmap")
}

// A span that is only claimed, runs that are only claimed, and the most runs that the bytes can hold.
func TestAHostileBitmapTakesTheMemoryOfItsBytes(t *testing.T) {
	var many []byte
	for i := range 100_000 {
		many = append(many, words(runClear+uint64(i)%2, 1<<40)...)
	}
	for _, b := range [][]byte{
		words(runSet, maxWords-1), words(runMixed, maxWords-1), slices.Concat(words(runClear, maxWords-2), words(runSet, 1)), many,
	} {
		got := uint64(math.MaxUint64)
		for range 5 {
			got = min(got, allocated(func() { DecodeBitmap(b, 0) }))
		}
		require.Less(t, got, uint64(len(b)+len(b)/8+64<<10))
	}
}

// goldenBitmap is what doc.go draws, of 70, 71, 128 to 319, and 6783.
const goldenBitmap = `
	05                       # 1 word clear
	07                       # 1 word mixed
	c0 00 00 00 00 00 00 00  # 64+6 and 64+7
	0e                       # 3 words set
	91 03                    # 100 words clear
	07                       # 1 word mixed
	00 00 00 00 00 00 00 80  # 64*105+63
`

func TestTheBytesOfABitmapAreThoseThatAreDrawn(t *testing.T) {
	var b BitmapBuilder
	b.AddRange(70, 71)
	b.AddRange(128, 319)
	b.AddWords(6700, 84, 0, 1<<19)
	require.Equal(t, golden(t, goldenBitmap), built(t, &b).AppendTo(nil))
}

// Runs of more words than a token of one byte can count, which are written word by word.
func TestLongRunsOfMixedWordsAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	for _, n := range []int{31, 32, 33, 4095, 4096, 4097, 70_000} {
		var b BitmapBuilder
		var want []uint64
		b.AddRange(7, 9)
		for i := range n {
			want = append(want, r.Uint64()|1&^2)
			b.AddWords(64*uint64(10+i), 64, want[i])
		}
		b.AddRange(64*uint64(10+n), 64*uint64(11+n)-1)
		m, err := DecodeBitmap(built(t, &b).AppendTo(nil), 0)
		require.NoError(t, err)
		var got []uint64
		for first, word := range m.Cut(640, math.MaxUint64).Words() {
			require.Equal(t, 64*uint64(10+len(got)), first)
			got = append(got, word)
		}
		require.Equal(t, append(want, math.MaxUint64), got)
	}
}

func FuzzBitmap(f *testing.F) {
	f.Add([]byte{})
	for seed := range uint64(20) {
		var b BitmapBuilder
		addRandom(rand.New(rand.NewPCG(seed, 6)), &b)
		f.Add(built(f, &b).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeBitmap(b, 100_000)
		if err != nil {
			require.LessOrEqual(t, fault(t, err).Offset, int64(len(b)))
			return
		}
		require.True(t, bytes.Equal(b, m.AppendTo(nil)), "a set has one encoding")
		var s set
		var again BitmapBuilder
		for first, last := range m.Runs() {
			again.AddRange(first, last)
			for seq := first; seq <= last; seq++ {
				s = append(s, seq)
			}
		}
		is(t, s, m)
		require.Equal(t, m.AppendTo(nil), built(t, &again).AppendTo(nil))
	})
}
