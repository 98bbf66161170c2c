package statecodec

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// DefaultKeyGroups is the number of key groups of a state for which none was asked. It is also the largest number of
// writers over which such a state can be spread. It is fixed when the first state is written.
const DefaultKeyGroups = 128

// The five primes of XXH64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). They are variables'
// material: sums of them overflow a constant.
const (
	prime1 uint64 = 0x9E3779B185EBCA87
	prime2 uint64 = 0xC2B2AE3D27D4EB4F
	prime3 uint64 = 0x165667B19E3779F9
	prime4 uint64 = 0x85EBCA77C2B2AE63
	prime5 uint64 = 0x27D4EB2F165667C5
)

// KeyHash is XXH64 of the key's bytes with seed 0. It decides which key group, and so which writer, a key belongs to; it is
// part of the format and stays the same for ever. It is no defence against keys that were chosen to collide.
func KeyHash(key string) uint64 {
	b := unsafe.Slice(unsafe.StringData(key), len(key)) // read only, and not kept
	n := uint64(len(b))
	h := prime5
	if len(b) >= 32 {
		b, h = stripes(b)
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h ^= round(0, binary.LittleEndian.Uint64(b))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h ^= uint64(c) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}
	h ^= h >> 33
	h *= prime2
	h ^= h >> 29
	h *= prime3
	return h ^ h>>32
}

// stripes takes all whole stripes of 32 bytes off b, and returns the rest and the accumulators merged.
func stripes(b []byte) ([]byte, uint64) {
	p1 := prime1
	v1, v2, v3, v4 := p1+prime2, prime2, uint64(0), -p1
	for ; len(b) >= 32; b = b[32:] {
		v1 = round(v1, binary.LittleEndian.Uint64(b))
		v2 = round(v2, binary.LittleEndian.Uint64(b[8:]))
		v3 = round(v3, binary.LittleEndian.Uint64(b[16:]))
		v4 = round(v4, binary.LittleEndian.Uint64(b[24:]))
	}
	h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
	for _, v := range [...]uint64{v1, v2, v3, v4} {
		h = (h^round(0, v))*prime1 + prime4
	}
	return b, h
}

func round(acc, lane uint64) uint64 {
	return bits.RotateLeft64(acc+lane*prime2, 31) * prime1
}

// KeyGroup is the group, from 0 to groups-1, of a key with that hash; 0 when groups is 0.
func KeyGroup(hash uint64, groups uint32) uint32 {
	if groups == 0 {
		return 0
	}
	return uint32(hash % uint64(groups))
}
