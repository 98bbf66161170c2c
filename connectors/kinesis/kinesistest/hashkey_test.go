package kinesistest

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The sums are those of RFC 1321, A.5, and of md5sum for the last.
func TestKeysHashToTheirMD5(t *testing.T) {
	for key, hexSum := range map[string]string{
		"":               "d41d8cd98f00b204e9800998ecf8427e",
		"a":              "0cc175b9c0f1b6a831c399e269772661",
		"abc":            "900150983cd24fb0d6963f7d28e17f72",
		"message digest": "f96b697d7cb7938d525a2f31aaf161d0",
		"世界":             "c086b3008aca0efa8f2ded065d6afb50",
	} {
		want, ok := new(big.Int).SetString(hexSum, 16)
		require.True(t, ok)
		require.Equal(t, want.String(), hashOf([]byte(key)).String(), key)
	}
}

func TestOnlyPlainNumbersBelowTheEndOfTheSpaceAreHashKeys(t *testing.T) {
	for s, want := range map[string]hashKey{
		"0":                    {},
		"18446744073709551615": {0, ^uint64(0)},
		"18446744073709551616": {1, 0},
		"340282366920938463463374607431768211455": maxHashKey,
	} {
		k, ok := parseHashKey(s)
		require.True(t, ok, s)
		require.Equal(t, want, k)
		require.Equal(t, s, k.String())
	}
	for _, s := range []string{
		"", "-1", "+1", "00", "01", "1.5", "1e3", " 1", "0x10", "٣",
		"340282366920938463463374607431768211456", "1000000000000000000000000000000000000000",
	} {
		_, ok := parseHashKey(s)
		require.False(t, ok, "%q", s)
	}
}

func TestNeighboursCarryOverTheHalves(t *testing.T) {
	low, high := hashKey{4, ^uint64(0)}, hashKey{5, 0}
	require.Equal(t, high, low.next())
	require.Equal(t, low, high.prev())
	require.True(t, low.less(high))
	require.False(t, high.less(low))
	require.False(t, low.less(low))
	require.True(t, high.near(low, 1))
	require.False(t, high.near(low, 0))
	require.False(t, low.near(high, 1), "near looks upwards only")
}

// The rounding of CreateStream and of a rescale differ by a few keys at most; a doubling keeps every border.
func TestEqualSharesAgreeWithTheBordersOfANewStream(t *testing.T) {
	for n := 1; n <= 100; n++ {
		created, uniform := createStarts(n), uniformStarts(n)
		doubled := uniformStarts(2 * n)
		for i := range n {
			require.True(t, uniform[i].near(created[i], n), "%d of %d", i, n)
			require.Equal(t, uniform[i], doubled[2*i])
		}
	}
}

func TestEveryKeyHasOneShard(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 100} {
		st := newStream(StreamConfig{Name: "s", Shards: n}, false, "r", "a", millisTime(0))
		for i, sh := range st.open {
			require.Same(t, sh, route(st.open, sh.start), "%d of %d", i, n)
			require.Same(t, sh, route(st.open, sh.end), "%d of %d", i, n)
		}
		require.Equal(t, maxHashKey, st.open[n-1].end)
		require.True(t, slices.IsSortedFunc(st.open, func(a, b *shard) int { return a.start.big().Cmp(b.start.big()) }))
	}
}

func TestNumbersOfRecordsGrowAndReadBack(t *testing.T) {
	head := sequenceHeadOf(1700000000000, 3)
	last := ""
	for _, n := range []uint64{0, 1, 9, 10, 99, 100, 1 << 40, lastPosition} {
		s := string(appendSequence(nil, head, n))
		require.Len(t, s, 56)
		require.Greater(t, s, last)
		last = s
		got, ok := parseSequence(s, head)
		require.True(t, ok)
		require.Equal(t, n, got)
	}
	require.Equal(t, sequenceHeadOf(0, 3), sequenceHeadOf(time.Time{}.UnixMilli(), 3))
	for _, s := range []string{"", "49", last[:55], last + "0", last[:55] + "x", string(appendSequence(nil, sequenceHeadOf(1700000000000, 4), 1))} {
		_, ok := parseSequence(s, head)
		require.False(t, ok, "%q", s)
	}
}

func TestAChildsNumbersStartAboveItsParents(t *testing.T) {
	now := millisTime(1700000000000)
	st := newStream(StreamConfig{Name: "s", Shards: 1}, false, "r", "a", now)
	for i := range 5 { // the clock stands still, or goes back
		sh := st.open[0]
		st.split(sh, hashKey{uint64(100 - i), 0}, now.Add(-time.Duration(i/2)*time.Second))
		require.False(t, sh.isOpen())
		end := string(appendSequence(nil, sh.head, lastPosition))
		for _, c := range sh.children {
			require.Greater(t, c.sequence(0), end, fmt.Sprint(i))
		}
	}
}
