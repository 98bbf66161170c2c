package statecodec

import "hash/crc32"

const sumStep = 4 << 10

// sums gives the checksum of any part of some bytes in a time that does not depend on the part's length: from those of
// their first n bytes, which it keeps for each multiple of sumStep. Whoever tries many parts that overlap needs it.
type sums struct{ first []uint32 }

// of is the checksum of b[from:to]. b is the same in each call, or has grown.
func (s *sums) of(b []byte, from, to int) uint32 {
	if to-from <= sumStep {
		return crc32.Checksum(b[from:to], castagnoli)
	}
	return s.upTo(b, to) ^ behind(s.upTo(b, from), to-from)
}

func (s *sums) upTo(b []byte, n int) uint32 {
	if s.first == nil {
		s.first = []uint32{0}
	}
	for i := len(s.first); i <= n/sumStep; i++ {
		s.first = append(s.first, crc32.Update(s.first[i-1], castagnoli, b[(i-1)*sumStep:i*sumStep]))
	}
	return crc32.Update(s.first[n/sumStep], castagnoli, b[n/sumStep*sumStep:n])
}

// behind is what a checksum contributes to that of its bytes and n more: it times x^8n, modulo the polynomial.
func behind(crc uint32, n int) uint32 {
	for _, p := range powers {
		if n&1 != 0 {
			crc = times(p, crc)
		}
		n >>= 1
	}
	return crc
}

// powers are x^8, x^16, x^32, and so on: one, two, four bytes.
var powers = func() (p [31]uint32) {
	p[0] = 1 << (31 - 8) // the highest bit is x^0
	for i := range p[1:] {
		p[i+1] = times(p[i], p[i])
	}
	return p
}()

// times is the product of two polynomials modulo Castagnoli's.
func times(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return product
}
