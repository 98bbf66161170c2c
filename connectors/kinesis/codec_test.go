package kinesis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// Non-ASCII, empty and maximal keys survive a round trip: Flink's Kinesis serializer writes the
// key's length in UTF-16 units and its bytes in UTF-8.
func TestRecordsSurviveTheCodec(t *testing.T) {
	for name, r := range map[string]Record{
		"plain":           {PartitionKey: "key", Data: []byte("data")},
		"empty":           {},
		"no data":         {PartitionKey: "key"},
		"no key":          {Data: []byte("data")},
		"non-ASCII":       {PartitionKey: "schlüssel鍵😀", ExplicitHashKey: "12", Data: []byte("ü")},
		"maximal keys":    {PartitionKey: strings.Repeat("😀", 256), ExplicitHashKey: maxHashKey, Data: []byte{0}},
		"maximal data":    {PartitionKey: "k", Data: make([]byte, MaxRecordBytes-1)},
		"against a rule":  {PartitionKey: strings.Repeat("k", 1000), ExplicitHashKey: "-"},
		"not UTF-8":       {PartitionKey: "\xff", Data: []byte("\xff")},
		"lengths in data": {PartitionKey: "\x03abc", ExplicitHashKey: "\x80", Data: []byte("\x00\x01")},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := []byte("before")
			enc, err := Codec{}.AppendEncode(prefix, r)
			require.NoError(t, err)
			require.Equal(t, "before", string(enc[:6]))
			got, err := Codec{}.Decode(1, enc[6:])
			require.NoError(t, err)
			clear(enc) // it is used again
			require.True(t, r.PartitionKey == got.PartitionKey && r.ExplicitHashKey == got.ExplicitHashKey && string(r.Data) == string(got.Data))
		})
	}
}

// The bytes of version 1 stay what they are.
func TestTheBytesOfVersion1(t *testing.T) {
	enc, err := Codec{}.AppendEncode(nil, Record{PartitionKey: "é", ExplicitHashKey: "7", Data: []byte("data")})
	require.NoError(t, err)
	require.Equal(t, "\x02\xc3\xa9\x017data", string(enc))
	require.Equal(t, "kinesis.record", Codec{}.ID())
	require.EqualValues(t, 1, Codec{}.Version())
}

func TestANewerVersionIsNamed(t *testing.T) {
	_, err := Codec{}.Decode(2, []byte("\x01k\x00"))
	var newer *statecodec.NewerError
	require.ErrorAs(t, err, &newer)
	require.EqualValues(t, 2, newer.Found)
	require.EqualValues(t, 1, newer.Supported)
	_, err = Codec{}.Decode(0, nil)
	require.Error(t, err)
}

func TestDamagedBytesAreAnErrorThatSaysWhere(t *testing.T) {
	for src, says := range map[string]string{
		"":             "partition key",
		"\x05abc":      "partition key",
		"\x80":         "partition key",
		"\x03abc":      "explicit hash key",
		"\x03abc\x02a": "explicit hash key",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": "partition key",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01":     "partition key",
	} {
		_, err := Codec{}.Decode(1, []byte(src))
		require.ErrorContains(t, err, says, "%q", src)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "\x00\x00", "\x03key\x00data", "\x03key\x017data", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := Codec{}.Decode(1, src)
		if err != nil {
			return
		}
		enc, err := Codec{}.AppendEncode(nil, r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(enc), len(src))
		again, err := Codec{}.Decode(1, enc)
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
