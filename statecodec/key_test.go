package statecodec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors of xxHash's own sanity check (tests/sanity_test.c), seed 0: the first n bytes of its generated buffer.
func TestKeyHashAgreesWithTheSanityCheckOfXXHash(t *testing.T) {
	buf := make([]byte, 222)
	gen := uint64(2654435761)
	for i := range buf {
		buf[i] = byte(gen >> 56)
		gen *= 11400714785074694797
	}
	for n, want := range map[int]uint64{
		0:   0xEF46DB3751D8E999,
		1:   0xE934A84ADB052768,
		4:   0x9136A0DCA57457EE,
		14:  0x8282DCC4994E35C8,
		222: 0xB641AE8CB691C174,
	} {
		require.Equal(t, want, KeyHash(string(buf[:n])), "%d bytes", n)
	}
}

// Vectors that other implementations publish (github.com/cespare/xxhash, python-xxhash).
func TestKeyHashAgreesWithPublishedVectors(t *testing.T) {
	for key, want := range map[string]uint64{
		"":     0xef46db3751d8e999,
		"a":    0xd24ec4f1a98c6e5b,
		"as":   0x1c330fb2d66be179,
		"asd":  0x631c37ce72a97393,
		"asdf": 0x415872f599cea71e,
		"abc":  0x44bc2cf5ad770999,
		"Nobody inspects the spammish repetition":                         0xfbcea83c8a378bf1,
		"Call me Ishmael. Some years ago--never mind how long precisely-": 0x02a2e85470d6fd96,
	} {
		require.Equal(t, want, KeyHash(key), "%q", key)
	}
}
func BenchmarkKeyHash(b *testing.B) {
	for _, n := range []int{13, 36, 256} {
		key := strings.Repeat("k", n)
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				KeyHash(key)
			}
		})
	}
}

func TestKeyHashAllocatesNothing(t *testing.T) {
	key := strings.Repeat("k", 100)
	require.Zero(t, testing.AllocsPerRun(100, func() { KeyHash(key) }))
}

func TestKeysSpreadOverAllGroups(t *testing.T) {
	const groups, keys = DefaultKeyGroups, 128_000
	count := make([]int, groups)
	for i := range keys {
		count[KeyGroup(KeyHash(fmt.Sprint(i)), groups)]++
	}
	for g, n := range count {
		require.InDelta(t, keys/groups, n, 200, "group %d", g) // 1000, 6 times its deviation of 32
	}
	require.Zero(t, KeyGroup(KeyHash("k"), 0), "not keyed")
	require.Zero(t, KeyGroup(KeyHash("k"), 1))
}
