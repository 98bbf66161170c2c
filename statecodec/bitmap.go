package statecodec

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
)

// MaxBitmapSeq is the highest sequence that a [Bitmap] can hold: one less than there are, so that what comes behind it
// has a number as well.
const MaxBitmapSeq uint64 = math.MaxUint64 - 1

// Bitmap says which sequences are set. It is compressed: a run of any length of sequences that are all set, or all clear,
// takes a few bytes, and no set takes more than an eighth of a byte for each sequence of its span, and a few bytes. It
// stays compressed in memory, and so costs what its bytes do, however wide its span. It does not change: any number of
// goroutines may read it. The zero value is the empty one. [BitmapBuilder] makes them.
type Bitmap struct {
	bytes              []byte // as doc.go draws them
	first, last, count uint64
}

// Kinds of runs. What is not all clear or all set is mixed, and stands there word by word.
const (
	runClear uint64 = iota + 1
	runSet
	runMixed

	kindBits        = 2
	maxWords uint64 = 1 << 58 // of 64 sequences each: as many as there are
)

// DecodeBitmap reads what [Bitmap.AppendTo] wrote, and copies it. A bitmap in which more than most sequences are set
// is refused (0: none is), so that whoever knows how many entries there are can go through them without fear. Each set
// has one encoding, and only that is read; all else is a *[FormatError] with the place in b.
func DecodeBitmap(b []byte, most uint64) (Bitmap, error) {
	m := Bitmap{bytes: append([]byte(nil), b...)}
	for w := m.walk(); len(w.rest) > 0; {
		at := int64(len(b) - len(w.rest))
		if f, what := w.check(); f != 0 {
			return Bitmap{}, &FormatError{Offset: at, Fault: f, Detail: "bitmap: " + what}
		}
		w.next()
		m.tally(&w)
		if most != 0 && m.count > most {
			return Bitmap{}, &FormatError{Offset: at, Fault: Length,
				Detail: fmt.Sprintf("bitmap: %d sequences or more are set, above the limit of %d", m.count, most)}
		}
	}
	return m, nil
}

// check says what is wrong with the run that next would go to.
func (w *walk) check() (Fault, string) {
	token, n := binary.Uvarint(w.rest)
	if n <= 0 {
		return Length, "a run overflows, or does not end"
	}
	kind, words := token&(1<<kindBits-1), token>>kindBits
	left, rest := maxWords-(w.word+w.words), w.rest[n:]
	switch {
	case n > 1 && w.rest[n-1] == 0:
		return Malformed, "a number with zeros before it"
	case kind == 0 || words == 0 || kind == w.kind:
		return Malformed, "a run of unknown kind, of no words, or as the one before it"
	case words > left || words == left && kind == runSet:
		return Length, "a run goes beyond the highest sequence"
	case kind == runMixed && words > uint64(len(rest)/8):
		return Length, fmt.Sprintf("a run of %d words in %d bytes", words, len(rest))
	case kind == runClear && len(rest) == 0:
		return Malformed, "nothing is set in the last run"
	case kind != runMixed:
		return 0, ""
	}
	for i := range words {
		v := binary.LittleEndian.Uint64(rest[8*i:])
		if v+1 <= 1 {
			return Malformed, "a word that is all clear or all set in a mixed run"
		}
		if i+1 == left && v>>63 != 0 {
			return Length, "a sequence above the highest"
		}
	}
	return 0, ""
}

// tally counts what is set in a run behind those before.
func (m *Bitmap) tally(w *walk) {
	if w.kind == runClear {
		return
	}
	if m.count == 0 {
		m.first = 64*w.word + uint64(bits.TrailingZeros64(w.at(0)))
	}
	m.last = 64*(w.word+w.words) - 1 - uint64(bits.LeadingZeros64(w.at(w.words-1)))
	if w.kind == runSet {
		m.count += 64 * w.words
		return
	}
	for i := range w.words {
		m.count += uint64(bits.OnesCount64(w.at(i)))
	}
}

// AppendTo appends the bytes of m to dst and returns the extended slice, as append does. An empty bitmap has none.
func (m Bitmap) AppendTo(dst []byte) []byte { return append(dst, m.bytes...) }

// First is the lowest sequence that is set; 0 when none is.
func (m Bitmap) First() uint64 { return m.first }

// Last is the highest sequence that is set; 0 when none is.
func (m Bitmap) Last() uint64 { return m.last }

// Count is how many are set.
func (m Bitmap) Count() uint64 { return m.count }

// Runs yields the first and the last of each run of set sequences, ascending; between two runs something is clear.
func (m Bitmap) Runs() iter.Seq2[uint64, uint64] {
	return func(yield func(first, last uint64) bool) {
		var from, end uint64 // the run so far, which may go on in the next word
		add := func(first, behind uint64) bool {
			if first == end && end != 0 {
				end = behind
				return true
			}
			if end != 0 && !yield(from, end-1) {
				return false
			}
			from, end = first, behind
			return true
		}
		for w := m.walk(); w.next(); {
			switch w.kind {
			case runSet:
				if !add(64*w.word, 64*(w.word+w.words)) {
					return
				}
			case runMixed:
				for i := range w.words {
					base := 64 * (w.word + i)
					for v := w.at(i); v != 0; {
						low := bits.TrailingZeros64(v)
						n := bits.TrailingZeros64(^(v >> low))
						if !add(base+uint64(low), base+uint64(low+n)) {
							return
						}
						v &^= (1<<n - 1) << low
					}
				}
			}
		}
		if end != 0 {
			yield(from, end-1)
		}
	}
}

// Words yields the words in which something is set, ascending: the first sequence of each, a multiple of 64, and its bits,
// the lowest first. A long run of set sequences yields many of them.
func (m Bitmap) Words() iter.Seq2[uint64, uint64] {
	return func(yield func(first, word uint64) bool) {
		for w := m.walk(); w.next(); {
			if w.kind == runClear {
				continue
			}
			for i := range w.words {
				if !yield(64*(w.word+i), w.at(i)) {
					return
				}
			}
		}
	}
}

// Cut is what of m lies from first to last, both included.
func (m Bitmap) Cut(first, last uint64) Bitmap {
	if first <= m.first && last >= m.last {
		return m
	}
	var b BitmapBuilder
	for w := m.walk(); w.next(); {
		low, high := max(w.word, first/64), min(w.word+w.words-1, last/64)
		if w.kind == runClear || low > high {
			continue
		}
		if w.kind == runSet {
			if low, high := max(64*w.word, first), min(64*(w.word+w.words)-1, last); low <= high {
				b.AddRange(low, high)
			}
			continue
		}
		for word := low; word <= high; word++ {
			v := w.at(word - w.word)
			if word == first/64 {
				v &= ^uint64(0) << (first % 64)
			}
			if word == last/64 {
				v &= ^uint64(0) >> (63 - last%64)
			}
			b.AddWords(64*word, 64, v)
		}
	}
	cut, _ := b.Bitmap() // ascending, as m is
	return cut
}

// Cursor returns one that stands at the start.
func (m Bitmap) Cursor() BitmapCursor { return BitmapCursor{m: m, walk: m.walk()} }

// BitmapCursor looks sequences up. Those that are asked for in ascending order cost what one pass over the bitmap does;
// one that is lower than the one before begins a new pass. It is not safe for concurrent use.
type BitmapCursor struct {
	m    Bitmap
	walk walk
}

// Contains says whether seq is set.
func (c *BitmapCursor) Contains(seq uint64) bool {
	if seq < c.m.first || seq > c.m.last || c.m.count == 0 {
		return false
	}
	word, w := seq/64, &c.walk
	if word < w.word {
		*w = c.m.walk()
	}
	for word >= w.word+w.words {
		w.next()
	}
	return w.kind != runClear && w.at(word-w.word)>>(seq%64)&1 != 0
}

// walk goes through the runs of a bitmap.
type walk struct {
	rest  []byte // behind the run
	kind  uint64
	word  uint64 // number of the run's first word
	words uint64 // in it
	mixed []byte // those of a mixed one
}

func (m Bitmap) walk() walk { return walk{rest: m.bytes} }

// next goes to the next run, if there is one.
func (w *walk) next() bool {
	if len(w.rest) == 0 {
		return false
	}
	token, n := binary.Uvarint(w.rest)
	w.rest = w.rest[n:]
	w.word += w.words
	w.kind, w.words = token&(1<<kindBits-1), token>>kindBits
	if w.kind == runMixed {
		w.mixed, w.rest = w.rest[:8*w.words], w.rest[8*w.words:]
	}
	return true
}

// at is the word number i of a run that is not clear.
func (w *walk) at(i uint64) uint64 {
	if w.kind == runSet {
		return ^uint64(0)
	}
	return binary.LittleEndian.Uint64(w.mixed[8*i:])
}
