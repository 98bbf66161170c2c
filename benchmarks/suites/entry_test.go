package suites

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

func TestKeysHaveSixteenBytes(t *testing.T) {
	for _, k := range keys(100) {
		require.Len(t, k, keyBytes)
	}
}

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	all := []entry{{"key-000000000001", []byte("abc")}, {"", []byte{}}, {"k", make([]byte, 3000)}}
	var b bytes.Buffer
	require.NoError(t, encodeTo(&b, func(e *statecodec.Encoder) error {
		return encodeEntries(e, len(all), func(i int) entry { return all[i] })
	}))
	back, err := decodeEntries(&b)
	require.NoError(t, err)
	require.Equal(t, all, back)
}

func TestACutOffStateIsAnError(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, encodeTo(&b, func(e *statecodec.Encoder) error {
		return encodeEntries(e, 10, func(int) entry { return entry{"k", make([]byte, 100)} })
	}))
	for _, n := range []int{0, b.Len() / 2, b.Len() - 1} {
		_, err := decodeEntries(bytes.NewReader(b.Bytes()[:n]))
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
	}
}

func TestAKeyThatIsCutOffIsRefused(t *testing.T) {
	for _, src := range [][]byte{{}, {5, 'a'}, {0x80}} {
		_, err := codec{}.Decode(1, src)
		require.ErrorContains(t, err, "cut off")
	}
	_, err := codec{}.Decode(2, []byte{0})
	var newer *statecodec.NewerError
	require.ErrorAs(t, err, &newer)
}

// The writer and the bare encoder write the same entries: their sizes differ by names and ids at most.
func TestAWritersSnapshotIsThatOfItsEntries(t *testing.T) {
	size := func(o *out) int {
		encode, done, err := o.source()
		require.NoError(t, err)
		defer done()
		n, err := o.times(1, encode)
		require.NoError(t, err)
		return n
	}
	a := size(&out{n: 5000, size: 100, from: "writer"})
	b := size(&out{n: 5000, size: 100, from: "entries"})
	require.InDelta(t, b, a, 300)
	require.InDelta(t, a, size(&out{n: 5000, size: 100, from: "writer", grow: true}), 50)
}
