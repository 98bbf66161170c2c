package statecodec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func roundTrip[E any](t *testing.T, c Codec[E], e E) E {
	t.Helper()
	b, err := c.AppendEncode([]byte("before"), e)
	require.NoError(t, err)
	require.Equal(t, "before", string(b[:6]))
	got, err := c.Decode(c.Version(), b[6:])
	require.NoError(t, err)
	clear(b) // the decoder reuses it
	return got
}

func TestCodecsKeepEachByteAndCopyIt(t *testing.T) {
	for _, s := range []string{"", "ink", "\x00\xff", "Tinte für 3 €"} {
		require.Equal(t, s, roundTrip(t, String{}, s))
		require.Equal(t, []byte(s), roundTrip(t, Bytes{}, []byte(s)))
	}
	require.Equal(t, []byte{}, roundTrip(t, Bytes{}, nil))
}

func TestCodecsRefuseVersionsThatTheyDoNotKnow(t *testing.T) {
	for _, version := range []uint32{0, 2} {
		_, err := Bytes{}.Decode(version, nil)
		_, serr := String{}.Decode(version, nil)
		if version == 0 {
			require.ErrorContains(t, err, `codec "bytes": version 0 was never written`)
			require.ErrorContains(t, serr, `codec "string": version 0 was never written`)
			continue
		}
		var newer *NewerError
		require.ErrorAs(t, err, &newer)
		require.Equal(t, NewerError{What: `codec "bytes"`, Found: 2, Supported: 1}, *newer)
		require.ErrorAs(t, serr, &newer)
	}
}

func TestNamesOfKindsAndFaults(t *testing.T) {
	for k, want := range map[Kind]string{KindSource: "source", KindBuffer: "buffer", KindDead: "dead", KindCommittable: "committable", KindHeld: "held", 0: "kind(0)", 9: "kind(9)"} {
		require.Equal(t, want, k.String())
	}
	for f, want := range map[Fault]string{Truncated: "truncated", Checksum: "checksum", Length: "length", Trailing: "trailing data", Malformed: "malformed", Orphaned: "orphaned", 0: "fault(0)", 9: "fault(9)"} {
		require.Equal(t, want, f.String())
	}
}
