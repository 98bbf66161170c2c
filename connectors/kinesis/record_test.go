package kinesis

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys have 1 to 256 Unicode characters of valid UTF-8, however many bytes those are.
func TestKeyRulesAreCheckedWhenARecordIsMade(t *testing.T) {
	for name, tc := range map[string]struct{ key, bound string }{
		"one character":          {"k", ""},
		"256 letters":            {strings.Repeat("k", 256), ""},
		"256 emoji, 1 KiB":       {strings.Repeat("😀", 256), ""},
		"a zero byte":            {"a\x00b", ""},
		"the replacement itself": {"\uFFFD", ""},
		"empty":                  {"", "1 to 256 Unicode characters"},
		"257 letters":            {strings.Repeat("k", 257), "1 to 256 Unicode characters"},
		"257 emoji":              {strings.Repeat("😀", 257), "1 to 256 Unicode characters"},
		"cut UTF-8":              {"schl\xc3", "valid UTF-8"},
		"a surrogate":            {"\xed\xa0\x80", "valid UTF-8"},
		"latin 1":                {strings.Repeat("\xe9", 300), "valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewRecord(tc.key, []byte("d"))
			require.Equal(t, Record{PartitionKey: tc.key, Data: []byte("d")}, r)
			if tc.bound == "" {
				require.NoError(t, err)
				return
			}
			var fault *RecordError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "partition_key", fault.Field)
			require.Contains(t, fault.Bound, tc.bound)
			require.Less(t, len(err.Error()), 400)
		})
	}
}

func TestAnExplicitHashKeyIsADecimalOf128Bits(t *testing.T) {
	top := new(big.Int).Lsh(big.NewInt(1), 128)
	require.Equal(t, new(big.Int).Sub(top, big.NewInt(1)).String(), maxHashKey)
	for _, ok := range []string{"0", "1", "9", "10", strings.Repeat("9", 38), maxHashKey, "340282366920938463463374607431768211454"} {
		_, err := NewRecordAt(ok, "k", nil)
		require.NoError(t, err, ok)
	}
	for _, bad := range []string{"", "-1", "+1", "01", "00", " 1", "1 ", "0x1", "1e3", "١", top.String(), strings.Repeat("9", 39), "1" + maxHashKey} {
		_, err := NewRecordAt(bad, "k", nil)
		var fault *RecordError
		require.ErrorAs(t, err, &fault, bad)
		require.Equal(t, "explicit_hash_key", fault.Field)
	}
}

func TestBothKeysFaultsAreReportedAtOnce(t *testing.T) {
	_, err := NewRecordAt("x", "", nil)
	require.EqualError(t, err, `kinesis record: partition_key: "": must be 1 to 256 Unicode characters`+"\n"+
		`kinesis record: explicit_hash_key: "x": must be a decimal number from 0 to 2^128-1, without leading zeros`)
	require.True(t, errors.As(err, new(*RecordError)))
}

func TestALongKeyIsShownByItsBeginning(t *testing.T) {
	_, err := NewRecord(strings.Repeat("é", 1000), nil)
	require.EqualError(t, err, `kinesis record: partition_key: "`+strings.Repeat("é", 32)+`"... (1000 characters): must be 1 to 256 Unicode characters`)
}

func TestSizeCountsTheBytesOfTheKey(t *testing.T) {
	require.Equal(t, 2+4, Record{PartitionKey: "é", Data: []byte("data")}.Size())
	require.Equal(t, 1, Record{PartitionKey: "k", ExplicitHashKey: "0"}.Size())
}
