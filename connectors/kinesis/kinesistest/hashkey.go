package kinesistest

import (
	"crypto/md5"
	"encoding/binary"
	"math/big"
	"math/bits"
	"sort"
)

// hashKey is a point of the 128-bit space that the shards of a stream share out.
type hashKey struct{ hi, lo uint64 }

var (
	maxHashKey = hashKey{^uint64(0), ^uint64(0)}
	hashSpace  = new(big.Int).Lsh(big.NewInt(1), 128)
)

// hashOf is the service's rule: the MD5 of the key's UTF-8 bytes, read as a big-endian number.
func hashOf(partitionKey []byte) hashKey {
	sum := md5.Sum(partitionKey)
	return hashKey{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])}
}

// parseHashKey reads a decimal number below 2^128; ok is false for anything else, signs and leading zeros included.
func parseHashKey(s string) (k hashKey, ok bool) {
	if len(s) == 0 || len(s) > 39 || (s[0] == '0' && len(s) > 1) {
		return hashKey{}, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return hashKey{}, false
		}
	}
	n, _ := new(big.Int).SetString(s, 10)
	if n.Cmp(hashSpace) >= 0 {
		return hashKey{}, false
	}
	return fromBig(n), true
}

func fromBig(n *big.Int) hashKey {
	var b [16]byte
	n.FillBytes(b[:])
	return hashKey{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func (k hashKey) big() *big.Int {
	n := new(big.Int).SetUint64(k.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(k.lo))
}

// String is the decimal form of the wire.
func (k hashKey) String() string { return k.big().String() }

func (k hashKey) less(o hashKey) bool { return k.hi < o.hi || (k.hi == o.hi && k.lo < o.lo) }

// prev and next are the neighbours; below zero and above the largest key they wrap round.
func (k hashKey) prev() hashKey {
	lo, borrow := bits.Sub64(k.lo, 1, 0)
	return hashKey{k.hi - borrow, lo}
}

func (k hashKey) next() hashKey {
	lo, carry := bits.Add64(k.lo, 1, 0)
	return hashKey{k.hi + carry, lo}
}

// near reports whether k lies at most n keys above o. CreateStream rounds its borders otherwise than
// uniformStarts, and a shard of a few keys would be nonsense.
func (k hashKey) near(o hashKey, n int) bool {
	lo, borrow := bits.Sub64(k.lo, o.lo, 0)
	hi, borrow := bits.Sub64(k.hi, o.hi, borrow)
	return borrow == 0 && hi == 0 && lo <= uint64(n)
}

// createStarts are the first keys of n shards as CreateStream lays them out: multiples of floor(2^128/n), the
// last shard takes the remainder.
func createStarts(n int) []hashKey {
	step := new(big.Int).Div(hashSpace, big.NewInt(int64(n)))
	starts := make([]hashKey, n)
	for i := range starts {
		starts[i] = fromBig(new(big.Int).Mul(step, big.NewInt(int64(i))))
	}
	return starts
}

// uniformStarts are the first keys of n equal shards, rounded one by one, so that the starts for n are among
// those for 2n: a doubling then only splits.
func uniformStarts(n int) []hashKey {
	starts := make([]hashKey, n)
	for i := range starts {
		s := new(big.Int).Mul(hashSpace, big.NewInt(int64(i)))
		starts[i] = fromBig(s.Div(s, big.NewInt(int64(n))))
	}
	return starts
}

// route finds the shard that holds k among open shards ordered by their first key.
func route(open []*shard, k hashKey) *shard {
	i := sort.Search(len(open), func(i int) bool { return k.less(open[i].start) })
	return open[i-1]
}
