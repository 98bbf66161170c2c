package statecodec

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// block is where a block lies in a file, and what is read of the file without it.
type block struct {
	from, to int
	typ      byte
	without  snapshot
}

// sample has blocks of each type, several of most, small enough to break each bit of it. Its entries lie two in a block.
func sample(t testing.TB) (s snapshot, file []byte, blocks []block) {
	t.Helper()
	s = small()
	s.Sections[0].Blobs = append(s.Sections[0].Blobs, []byte("another"))
	for seq := range uint64(4) {
		s.Sections[1].Entries = append(s.Sections[1].Entries, Entry{Seq: 100 + seq, KeyGroup: uint32(seq), Data: []byte("more")})
	}
	s.Sections[1].Blobs = [][]byte{[]byte("blob")}
	s.Sections = append(s.Sections, content{Section: Section{Operator: "next", Kind: KindHeld, Codec: "bytes", CodecVersion: 1}, Blobs: [][]byte{{7}}})
	s.Sections[3].Entries = []Entry{{Seq: 9, Data: []byte{}}}
	var b bytes.Buffer
	e, err := NewEncoder(&b, s.Header)
	require.NoError(t, err)
	from := b.Len()
	ends := func(typ byte, change func(s *snapshot)) {
		without := s
		without.Sections = slices.Clone(s.Sections)
		change(&without)
		blocks = append(blocks, block{from, b.Len(), typ, without})
		from = b.Len()
	}
	for i, c := range s.Sections {
		require.NoError(t, e.Begin(c.Section))
		ends(typeSection, func(s *snapshot) { s.Sections = slices.Delete(s.Sections, i, i+1) })
		for k, blob := range c.Blobs {
			require.NoError(t, e.Blob(blob))
			ends(typeBlob, func(s *snapshot) {
				s.Sections[i].Blobs = nilIfNone(slices.Delete(slices.Clone(c.Blobs), k, k+1))
			})
		}
		for k := 0; k < len(c.Entries); k += 2 {
			behind := min(k+2, len(c.Entries))
			for _, x := range c.Entries[k:behind] {
				require.NoError(t, e.Entry(&x))
			}
			e.endBlock()
			ends(typeEntries, func(s *snapshot) {
				s.Sections[i].Entries = nilIfNone(slices.Delete(slices.Clone(c.Entries), k, behind))
			})
		}
	}
	require.NoError(t, e.Close())
	ends(typeTrailer, func(*snapshot) {})
	return s, b.Bytes(), blocks
}

func nilIfNone[E any](s []E) []E {
	if len(s) == 0 {
		return nil
	}
	return s
}

// salvaged reads a file as far as it is whole. Each byte of it must be in a block that is whole, or in damage.
func salvaged(t testing.TB, b []byte, caps Caps) (snapshot, []Damage, error) {
	t.Helper()
	d, err := NewDecoder(bytes.NewReader(b), caps)
	if err != nil {
		return snapshot{}, nil, err
	}
	at := int64(prefixSize + 4 + binary.LittleEndian.Uint32(b[12:]))
	whole := func(to int64) {
		for at < to {
			h := readHead(b[at:])
			end := at + headSize + int64(h.length)
			require.LessOrEqual(t, end, to, "no damage was reported, and there is no block")
			require.Equal(t, h.crc, crc32.Checksum(b[at+4:end], castagnoli), "damage at byte %d was not reported", at)
			at = end
		}
	}
	var all []Damage
	trailing := false
	d.Salvage(func(x Damage) {
		require.GreaterOrEqual(t, x.Offset, at)
		require.Len(t, x.Bytes, int(x.Length))
		require.LessOrEqual(t, x.Length, int64(headSize+d.caps.BlockBytes))
		require.True(t, bytes.Equal(b[x.Offset:x.Offset+x.Length], x.Bytes))
		require.NotZero(t, x.Err.Fault)
		whole(x.Offset)
		at += x.Length
		trailing = trailing || x.Err.Fault == Trailing
		x.Bytes = nil
		all = append(all, x)
	})
	s, err := readAll(d)
	require.LessOrEqual(t, cap(d.mem), d.most)
	if err == nil && !trailing {
		whole(int64(len(b)))
	}
	return s, all, err
}

func TestAWholeSnapshotIsSalvagedWithoutDamage(t *testing.T) {
	want, file, _ := sample(t)
	got, damage, err := salvaged(t, file, Caps{})
	require.NoError(t, err)
	require.Empty(t, damage)
	require.Equal(t, want, got)
	for seed := range uint64(20) {
		want := random(rand.New(rand.NewPCG(seed, 7)))
		got, damage, err := salvaged(t, want.bytes(t), Caps{})
		require.NoError(t, err)
		require.Empty(t, damage)
		require.Equal(t, want, got)
	}
}

// Whichever bit it is: its block is lost, the section if it is the start of one, and nothing else.
func TestOneFlippedBitLosesOneBlock(t *testing.T) {
	_, file, blocks := sample(t)
	for i := range file[:blocks[0].from] {
		b := slices.Clone(file)
		b[i] ^= 4
		_, _, err := salvaged(t, b, Caps{})
		require.Error(t, err, "in the header nothing can be salvaged")
	}
	for _, x := range blocks {
		for i := 8 * x.from; i < 8*x.to; i++ {
			b := slices.Clone(file)
			b[i/8] ^= 1 << (i % 8)
			got, damage, err := salvaged(t, b, Caps{})
			require.NoError(t, err)
			require.Equal(t, x.without, got, "bit %d of byte %d of a block of type %d", i%8, i/8-x.from, x.typ)
			require.Equal(t, int64(x.from), damage[0].Offset)
			require.Equal(t, int64(x.to-x.from), damage[0].Length)
			behind := damage[1:]
			if x.typ == typeSection || x.typ == typeEntries {
				require.Equal(t, int64(len(file)), behind[len(behind)-1].Offset, "the totals do not fit")
				behind = behind[:len(behind)-1]
			}
			for _, orphan := range behind {
				require.Equal(t, typeSection, x.typ)
				require.Equal(t, Orphaned, orphan.Err.Fault)
				require.Zero(t, orphan.Err.Section)
			}
			if x.typ != typeTrailer {
				require.Equal(t, x.typ == typeSection, damage[0].Hides)
			}
		}
	}
}

func TestATruncatedSnapshotIsSalvagedUpToItsEnd(t *testing.T) {
	want, file, blocks := sample(t)
	for _, x := range blocks {
		for n := x.from; n < x.to; n++ {
			got, damage, err := salvaged(t, file[:n], Caps{})
			require.NoError(t, err)
			require.Len(t, damage, 1)
			require.Equal(t, Truncated, damage[0].Err.Fault)
			require.Equal(t, int64(x.from), damage[0].Offset)
			require.Equal(t, int64(n-x.from), damage[0].Length)
			isPart(t, want, got)
			var count, all uint64
			for _, c := range got.Sections {
				count += uint64(len(c.Blobs)+len(c.Entries)) + 1
			}
			for _, c := range blocks { // each block that ends before is there
				if h := readHead(file[c.from:]); c.to <= n {
					all += max(uint64(h.count), 1)
				}
			}
			require.Equal(t, all, count)
		}
	}
}

// isPart requires all of got to be in want, in that order and in those sections.
func isPart(t testing.TB, want, got snapshot) {
	t.Helper()
	require.Equal(t, want.Header, got.Header)
	sections := want.Sections
	for _, c := range got.Sections {
		i := slices.IndexFunc(sections, func(w content) bool { return w.Section == c.Section })
		require.GreaterOrEqual(t, i, 0, "%v", c.Section)
		blobs, entries := sections[i].Blobs, sections[i].Entries
		for _, b := range c.Blobs {
			k := slices.IndexFunc(blobs, func(w []byte) bool { return bytes.Equal(w, b) })
			require.GreaterOrEqual(t, k, 0, "%q in %v", b, c.Section)
			blobs = blobs[k+1:]
		}
		for _, e := range c.Entries {
			k := slices.IndexFunc(entries, func(w Entry) bool { return w.Seq == e.Seq })
			require.GreaterOrEqual(t, k, 0, "%v in %v", e, c.Section)
			require.Equal(t, entries[k], e)
			entries = entries[k+1:]
		}
		sections = sections[i+1:]
	}
}

// Garbage over any parts: what is returned was written, and where it is returned.
func TestNothingIsReturnedThatWasNotWritten(t *testing.T) {
	want, file, blocks := sample(t)
	start := blocks[0].from
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 8))
		b := slices.Clone(file)
		for range 1 + r.IntN(2) {
			from := start + r.IntN(len(b)-start)
			to := min(len(b), from+1+r.IntN(1<<r.IntN(9)))
			for i := range b[from:to] {
				b[from+i] ^= byte(1 + r.IntN(255))
			}
		}
		got, damage, err := salvaged(t, b, Caps{})
		require.NoError(t, err)
		if len(damage) == 0 {
			require.True(t, bytes.Equal(file, b))
		}
		isPart(t, want, got)
	}
}

// Behind garbage that may hide the start of a section nothing is taken for a part of the section before it.
func TestBlocksBehindAHoleAreOrphaned(t *testing.T) {
	want, file, blocks := sample(t)
	entries := slices.IndexFunc(blocks, func(x block) bool { return x.typ == typeEntries })
	b := slices.Clone(file)
	for i := range 20 { // the head and some of the payload
		b[blocks[entries].from+i] ^= 0x5a
	}
	got, damage, err := salvaged(t, b, Caps{})
	require.NoError(t, err)
	want.Sections[1].Entries = nil
	require.Equal(t, want, got)
	require.True(t, damage[0].Hides)
	require.Equal(t, want.Sections[1].Section, damage[0].Err.Section, "it begins there")
	require.Equal(t, []Fault{Checksum, Orphaned, Orphaned, Checksum}, faults(damage))
	require.ErrorContains(t, damage[3].Err, "the trailer counts {Sections:4 Entries:8} and there are {Sections:4 Entries:2}")
}

// The start of a section may look as if it were another block's, if its count or its crc are damaged as well.
func TestTheStartOfASectionIsNotTakenForAnotherBlock(t *testing.T) {
	want, file, blocks := sample(t)
	for _, x := range blocks {
		if x.typ != typeSection {
			continue
		}
		for typ := typeBlob; typ <= typeEntries; typ++ {
			for _, at := range []int{0, 8, 11} {
				b := slices.Clone(file)
				b[x.from+at] ^= 1
				b[x.from+12] = typ
				got, damage, err := salvaged(t, b, Caps{})
				require.NoError(t, err)
				require.True(t, damage[0].Hides, "as type %d, and with byte %d changed", typ, at)
				require.Equal(t, x.without, got)
				isPart(t, want, got)
			}
		}
	}
}

func faults(all []Damage) (f []Fault) {
	for _, x := range all {
		f = append(f, x.Err.Fault)
	}
	return f
}

func TestMissingAndDoubledBlocksAreReported(t *testing.T) {
	want, file, blocks := sample(t)
	x := blocks[1] // a blob
	for _, b := range [][]byte{slices.Delete(slices.Clone(file), x.from, x.to), slices.Insert(slices.Clone(file), x.to, file[x.from:x.to]...)} {
		_, damage, err := salvaged(t, b, Caps{})
		require.NoError(t, err)
		require.Equal(t, []Fault{Checksum}, faults(damage))
		require.ErrorContains(t, damage[0].Err, "missing, doubled or in another order")
	}
	got, damage, err := salvaged(t, append(slices.Clone(file), "more"...), Caps{})
	require.NoError(t, err)
	require.Equal(t, []Fault{Trailing}, faults(damage))
	require.Equal(t, want, got)

	// A blob behind entries: the start of its section was cut out.
	x = blocks[slices.IndexFunc(blocks, func(x block) bool {
		return x.to > x.from && readHead(file[x.from:]).typ == typeSection && x.from > blocks[8].from
	})]
	got, damage, err = salvaged(t, slices.Delete(slices.Clone(file), x.from, x.to), Caps{})
	require.NoError(t, err)
	isPart(t, want, got)
	require.NotEmpty(t, damage)
}

// A record may hold a snapshot. What is in it is not taken for blocks of the file, if its own block says where it ends.
func TestASnapshotInsideADamagedEntryIsNotRead(t *testing.T) {
	_, inner, _ := sample(t)
	s := snapshot{Sections: []content{{Section: Section{Operator: "sink", Kind: KindBuffer}, Entries: []Entry{{Seq: 1, Data: inner}, {Seq: 2, Data: []byte("x")}}}}}
	b := s.bytes(t)
	b[bytes.Index(b, inner)+3]++
	got, damage, err := salvaged(t, b, Caps{})
	require.NoError(t, err)
	s.Sections[0].Entries = nil
	require.Equal(t, s, got)
	require.Equal(t, []Fault{Checksum, Checksum}, faults(damage))
}

// With the outer block's head gone as well nobody can tell. The reading does not end where the inner one does.
func TestATrailerThatDoesNotFitIsNotTheEnd(t *testing.T) {
	_, inner, _ := sample(t)
	last := content{Section: Section{Operator: "last", Kind: KindBuffer}, Entries: []Entry{{Seq: 3, Data: []byte("y")}}}
	s := snapshot{Sections: []content{{Section: Section{Operator: "sink", Kind: KindBuffer}, Entries: []Entry{{Seq: 1, Data: inner}}}, last}}
	b := s.bytes(t)
	_, blocks := cutBlocks(b)
	clear(b[bytes.Index(b, blocks[1])+4:][:8])
	got, damage, err := salvaged(t, b, Caps{})
	require.NoError(t, err)
	require.Equal(t, last, got.Sections[len(got.Sections)-1])
	require.NotEmpty(t, damage)
}

// What a faulty writer sealed: its checksum is right and it makes no sense.
func TestBlocksThatMakeNoSenseAreReported(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t))
	section, blob, entries := blocks[2], blocks[1], blocks[3]
	for what, c := range map[string]struct {
		bad    []byte
		hides  bool
		detail string
		lost   int // entries of the block that stand before what is wrong
	}{
		"an unknown type":            {sealed(9, 0, []byte("payload")), true, "unknown type", 0},
		"a wrong count":              {sealed(typeEntries, 9, []byte{0, 0}), false, "unknown type, or of a wrong count", 0},
		"an entry of unknown flags":  {sealed(typeEntries, 2, []byte{0, 1, 'x', 0x80, 0}), false, "unknown flags", 1},
		"bytes behind the last":      {sealed(typeEntries, 2, []byte{0, 1, 'x', 0, 0, 0}), false, "left over", 1},
		"a section without operator": {sealed(typeSection, 0, []byte{1, 0, 0, 0, 0}), true, "without operator", 0},
		"a section that is too long": {sealed(typeSection, 0, []byte{1, 0, 0, 1, 'o', 0, 9}), true, "left over", 0},
		"a trailer of another size":  {sealed(typeTrailer, 0, []byte("short")), true, "another size", 0},
		"an entry above the cap":     {sealed(typeEntries, 1, []byte{0, 0xff, 0xff, 0xff, 0xff, 0x7f}), false, "above the limit", 0},
	} {
		t.Run(what, func(t *testing.T) {
			b := slices.Concat(start, section, blob, entries, c.bad, entries, section, entries)
			got, damage, err := salvaged(t, b, Caps{})
			require.NoError(t, err)
			require.Equal(t, int64(len(start)+len(section)+len(blob)+len(entries)), damage[0].Offset)
			require.Equal(t, int64(len(c.bad)), damage[0].Length)
			require.Equal(t, c.hides, damage[0].Hides)
			require.ErrorContains(t, damage[0].Err, c.detail)
			require.Equal(t, Truncated, damage[len(damage)-1].Err.Fault, "without a trailer")
			want := 4 + c.lost
			if c.hides {
				want = 2
			}
			require.Equal(t, c.hides, slices.Contains(faults(damage), Orphaned))
			require.Len(t, got.Sections, 2)
			require.Len(t, got.Sections[0].Entries, want)
			require.Len(t, got.Sections[1].Entries, 2)
		})
	}
}

func TestTotalsOfASalvageAreThoseThatWereReturned(t *testing.T) {
	start, blocks := cutBlocks(small().bytes(t))
	bad := sealed(typeEntries, 3, []byte{0, 1, 'x', 0x80, 0, 0, 0})
	d, err := NewDecoder(bytes.NewReader(slices.Concat(start, blocks[2], bad, blocks[3])), Caps{})
	require.NoError(t, err)
	d.Salvage(func(Damage) {})
	s, err := readAll(d)
	require.NoError(t, err)
	require.Len(t, s.Sections[0].Entries, 3)
	require.Equal(t, Totals{Sections: 1, Entries: 3}, d.Totals())
}
