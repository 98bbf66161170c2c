package statecodec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// BitmapBuilder makes a [Bitmap] of sequences that are added in ascending order, in the memory that the bitmap takes. The
// zero value is ready. It is not safe for concurrent use.
type BitmapBuilder struct {
	mem    []byte // all of its capacity
	n      int    // bytes of it that are in use: runs, and of the open one a byte for its token, and its words if it is mixed
	at     int    // where that byte is
	kind   uint64 // of the open run
	words  uint64 // in it; 0 only before the first one
	before uint64 // kind of the run before it
	word   uint64 // number of the word behind it, which is being filled
	bits   uint64 // of that word
	next   uint64 // lowest sequence that may be added
	count  uint64
	err    error
}

// AddWords adds n sequences from first on: those whose bits are set in words, the lowest first. Bits from n on count for
// nothing, so that whoever keeps the opposite can hand in complements. It takes some 10 ns for two words, 20 if no processor
// could foresee them, and allocates only when the bitmap outgrows the memory of those before it.
func (b *BitmapBuilder) AddWords(first uint64, n int, words ...uint64) {
	last := first + uint64(n) - 1
	if n <= 0 || n > 64*len(words) || first < b.next || last < first || last > MaxBitmapSeq {
		if n != 0 {
			b.refuse(first, last)
		}
		return
	}
	b.next = last + 1
	b.grow(len(words))
	if word := first / 64; word != b.word {
		b.goTo(word)
	}
	shift, word, count := first%64, b.bits, 0
	for i, v := range words {
		left := n - 64*i
		if left < 64 {
			v &= 1<<max(left, 0) - 1
		}
		count += bits.OnesCount64(v)
		word |= v << shift
		if left+int(shift) < 64 { // the last one, and not full
			break
		}
		switch word { // as push does, which as a call would take as long again
		case ^uint64(0):
			if b.kind != runSet {
				b.begin(runSet)
			}
		case 0:
			if b.kind != runClear {
				b.begin(runClear)
			}
		default:
			if b.kind != runMixed {
				b.begin(runMixed)
			}
			binary.LittleEndian.PutUint64(b.mem[b.n:], word)
			b.n += 8
		}
		b.words++
		word = v >> 1 >> (63 - shift)
	}
	b.word, b.bits = b.next/64, word
	b.count += uint64(count)
}

// AddRange adds the sequences from first to last, both included.
func (b *BitmapBuilder) AddRange(first, last uint64) {
	if first < b.next || last < first || last > MaxBitmapSeq {
		b.refuse(first, last)
		return
	}
	b.next = last + 1
	b.grow(2)
	if word := first / 64; word != b.word {
		b.goTo(word)
	}
	b.count += last - first + 1
	b.bits |= ^uint64(0) << (first % 64)
	if more := last/64 - b.word; more > 0 {
		b.push()
		b.run(runSet, more-1)
		b.word, b.bits = last/64, ^uint64(0)
	}
	b.bits &= ^uint64(0) >> (63 - last%64)
}

// Bitmap returns what has been added, and begins anew in the same memory. It fails if something was added that was not
// above all before it, or above [MaxBitmapSeq].
func (b *BitmapBuilder) Bitmap() (Bitmap, error) {
	m, err := Bitmap{count: b.count}, b.err
	if err == nil && m.count > 0 {
		end := b.word // number of the word behind the last in which something is set
		if b.bits != 0 {
			b.push()
			end++
		}
		if b.kind == runClear {
			end -= b.words
			b.n-- // its token
			b.kind = b.before
		} else {
			b.long(b.words<<kindBits | b.kind)
		}
		m.bytes = bytes.Clone(b.mem[:b.n])
		m.last = 64*end - 1
		if b.kind == runMixed {
			m.last -= uint64(bits.LeadingZeros64(binary.LittleEndian.Uint64(m.bytes[b.n-8:])))
		}
		w := m.walk()
		for w.next() && w.kind == runClear {
		}
		m.first = 64*w.word + uint64(bits.TrailingZeros64(w.at(0)))
	}
	*b = BitmapBuilder{mem: b.mem}
	if err != nil {
		return Bitmap{}, err
	}
	return m, nil
}

func (b *BitmapBuilder) refuse(first, last uint64) {
	if b.err == nil {
		b.err = fmt.Errorf("statecodec: bitmap: sequences %d to %d after all below %d: add them in ascending order, none twice, none above %d, and as many words as they take",
			first, last, b.next, MaxBitmapSeq)
	}
}

// grow makes room, if there is none, for n words, the two that are being filled now and in the end, and what is clear
// between them, each in a run of its own, and for the rest of the open run's token.
func (b *BitmapBuilder) grow(n int) {
	const wordRoom = 8 + binary.MaxVarintLen64
	if need := b.n + (n+4)*wordRoom; need > len(b.mem) {
		b.mem = append(b.mem, make([]byte, max(need-len(b.mem), len(b.mem)))...)
	}
}

// goTo ends the word that is being filled, and goes on to a later one.
func (b *BitmapBuilder) goTo(word uint64) {
	b.push()
	b.run(runClear, word-b.word-1)
	b.word, b.bits = word, 0
}

// push ends the word that is being filled.
func (b *BitmapBuilder) push() {
	switch b.bits {
	case 0:
		b.run(runClear, 1)
	case ^uint64(0):
		b.run(runSet, 1)
	default:
		b.run(runMixed, 1)
		binary.LittleEndian.PutUint64(b.mem[b.n:], b.bits)
		b.n += 8
	}
}

// run adds n words to the open run, if it is of that kind, or else to a new one.
func (b *BitmapBuilder) run(kind, n uint64) {
	if n > 0 && kind != b.kind {
		b.begin(kind)
	}
	b.words += n
}

// begin ends the open run and begins one of another kind.
func (b *BitmapBuilder) begin(kind uint64) {
	if token := b.words<<kindBits | b.kind; token < 0x80 && b.words > 0 {
		b.mem[b.at] = byte(token)
	} else {
		b.long(token)
	}
	b.at = b.n
	b.n++
	b.before, b.kind, b.words = b.kind, kind, 0
}

// long writes a token of several bytes to where one is free. The words behind it move: seldom, as those that do are many.
func (b *BitmapBuilder) long(token uint64) {
	if b.words == 0 {
		return
	}
	var bytes [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(bytes[:], token)
	copy(b.mem[b.at+n:], b.mem[b.at+1:b.n])
	copy(b.mem[b.at:], bytes[:n])
	b.n += n - 1
}
