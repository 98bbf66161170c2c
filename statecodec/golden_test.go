package statecodec

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenV0 is what small() is in format version 0, field by field as doc.go draws it. The version may still change: then
// this is rewritten, with the drawing. From the first released version on, a new version gets a golden file of its own
// and the old ones stay.
const goldenV0 = `
	89 53 50 57 0d 0a 1a 0a    # magic
	00 00 00 00                # version 0
	22 00 00 00                # 34 bytes of header
	38 55 32 c9                # crc of the 16 bytes before it
	2a 00 00 00 00 00 00 00    # checkpoint 42
	03 00 00 00 00 00 00 00    # epoch 3
	01 00 00 00 00 00 00 00    # time 1
	01                         # final
	06 6f 72 64 65 72 73       # job "orders"
	01 30                      # instance "0"
	89 99 a2 5a                # crc of all before it

	d2 2a 1c 6b                # crc
	09 00 00 00  00 00 00 00   # 9 bytes, no entries
	01 00 00 00                # section
	01 00 00                   # source, codec version 0, not keyed
	04 66 69 6c 65             # operator "file"
	00                         # no codec

	69 49 e7 b7                # crc
	08 00 00 00  00 00 00 00   # 8 bytes, no entries
	02 00 00 00                # blob
	70 6f 73 69 74 69 6f 6e    # "position"

	8b d3 da c0                # crc
	0f 00 00 00  00 00 00 00   # 15 bytes, no entries
	01 00 00 00                # section
	02 01 80 01                # buffer, codec version 1, 128 key groups
	04 73 69 6e 6b             # operator "sink"
	05 62 79 74 65 73          # codec "bytes"

	e6 22 a7 a2                # crc
	2c 00 00 00  02 00 00 00   # 44 bytes, 2 entries
	03 00 00 00                # entries
	17                         # writer, seq, key group, born follow
	09 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
	0a 4d 14                   # seq 0+5, key group 77, born 0+10
	01 61                      # "a"
	3d                         # writer, key group, attempts, born follow; unsure; seq 5+1
	00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
	00 02 13                   # key group 0, 2 attempts, born 10-10
	01 62                      # "b"

	bd 71 b4 de                # crc
	0e 00 00 00  00 00 00 00   # 14 bytes, no entries
	01 00 00 00                # section
	03 01 00                   # dead, codec version 1, not keyed
	04 73 69 6e 6b             # operator "sink"
	05 62 79 74 65 73          # codec "bytes"

	dc 48 21 4e                # crc
	11 00 00 00  01 00 00 00   # 17 bytes, 1 entry
	03 00 00 00                # entries
	42                         # seq and why it is dead follow
	08                         # seq 0+4
	28                         # dead 20 after it was born
	08 72 65 6a 65 63 74 65 64 # class "rejected"
	02 6e 6f                   # cause "no"
	01 63                      # "c"

	df 56 94 ac                # crc
	14 00 00 00  00 00 00 00   # 20 bytes, no entries
	04 00 00 00                # trailer
	03 00 00 00 00 00 00 00    # 3 sections
	03 00 00 00 00 00 00 00    # 3 entries
	48 44 9e 4b                # seal
`

func golden(t *testing.T, dump string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(dump) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}

func TestTheBytesOfVersion0AreThoseThatAreDrawn(t *testing.T) {
	want := golden(t, goldenV0)
	require.Equal(t, hex.Dump(want), hex.Dump(small().bytes(t)))
	got, err := read(bytes.NewReader(want), Caps{})
	require.NoError(t, err)
	require.Equal(t, small(), got)
}
