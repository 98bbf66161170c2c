package limits

import (
	"encoding"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseBytesReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "4096": 4096, "1B": 1, "500kB": 500_000, "500KB": 500_000, "1 MB": 1_000_000, "2GB": 2_000_000_000,
		"64MiB": 64 * MiB, "64 MiB": 64 * MiB, " 1KiB ": KiB, "1.5 GiB": 3 * GiB / 2, "0.5KiB": 512, "1TiB": 1024 * GiB,
		"3TB": 3e12, "1e3": 1000, "9223372036854775807": math.MaxInt64, "8191GiB": 8191 * GiB,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestParseBytesRefusesTheRest(t *testing.T) {
	for _, text := range []string{
		"", " ", "B", "MiB", "many", "-1", "-1.5MiB", "1 XB", "1MiBs", "NaN", "Inf", "+Inf MiB", "1e40", "9223372036854775808",
		"8589934592GiB", "1,5MiB", "0x",
	} {
		_, err := ParseBytes(text)
		require.ErrorContains(t, err, "such as 64MiB", text)
	}
}

func TestBytesSurviveARoundTrip(t *testing.T) {
	for _, b := range []Bytes{0, 1, 1023, KiB, KiB + 1, 1000, 64 * MiB, GiB - 1, GiB, 1 << 40, 1 << 62, math.MaxInt64} {
		text, err := b.MarshalText()
		require.NoError(t, err)
		var back Bytes
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, b, back, "%s", text)
	}
}

func TestBytesAreWrittenWithTheLargestUnitThatDividesThem(t *testing.T) {
	for b, want := range map[Bytes]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 3 * MiB: "3MiB", 5 * GiB: "5GiB", 2048 * GiB: "2048GiB",
	} {
		require.Equal(t, want, b.String())
	}
}

func TestAFailedUnmarshalChangesNothing(t *testing.T) {
	b := 7 * MiB
	var u encoding.TextUnmarshaler = &b
	require.Error(t, u.UnmarshalText([]byte("seven")))
	require.Equal(t, 7*MiB, b)
}

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"64MiB", "1.5 GiB", "500kB", "-1", "1e9", "9223372036854775807", "NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, b, Bytes(0))
		back, err := ParseBytes(b.String())
		require.NoError(t, err)
		require.Equal(t, b, back)
	})
}
