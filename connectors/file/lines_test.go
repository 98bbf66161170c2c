package file

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/stream"
)

// cutAll cuts a stream with a block of its own, so that lines meet the edges of the buffer.
func cutAll(t testing.TB, r io.Reader, limit, block, few int) (all []got) {
	t.Helper()
	l := newLines("x", limit)
	l.block = block
	dst := make([]stream.Record, few)
	for {
		n := l.cut(dst)
		for _, r := range dst[:n] {
			all = append(all, got{string(r.Value), string(r.Position)})
		}
		if n > 0 {
			continue
		}
		if l.err != nil {
			require.Equal(t, io.EOF, l.err)
			return all
		}
		l.took(r.Read(l.space()))
		require.LessOrEqual(t, len(l.buf), max(block, limit+1+block), "the buffer never exceeds its bound")
	}
}

var texts = []string{
	"", "\n", "\r\n", "\r", "a", "a\n", "a\r\n", "a\r", "a\rb\n", "a\n\nb", "\n\na\n", "a\r\r\n", "ab\ncd\nef\n", "abc\r\nabcd\r\nabcde\r\nf",
	"abc\nabcd\nabcde\nabcdef\nabcdefghijklmnopqrstuvwxyz\ng\n", "abcdefgh", "abcdefgh\n", "abc\r", "abcd\r", "abcd\r\n", "\xff\x00\n\xfe",
	strings.Repeat("0123456789\n", 500), strings.Repeat("x", 5000) + "\nlast", strings.Repeat("\n", 300) + "a",
}

func TestLinesAreThoseOfTheModelWhateverTheBlocks(t *testing.T) {
	for _, text := range texts {
		for _, limit := range []int{1, 3, 4, 5, 1 << 20} {
			want := model(text, limit)
			for _, block := range []int{1, 2, 7, block} {
				require.Equal(t, want, cutAll(t, strings.NewReader(text), limit, block, 3), "%.40q limit %d block %d", text, limit, block)
			}
			require.Equal(t, want, cutAll(t, iotest.OneByteReader(strings.NewReader(text)), limit, 16, 1), "%.40q limit %d, byte by byte", text, limit)
			require.Equal(t, want, cutAll(t, iotest.DataErrReader(strings.NewReader(text)), limit, 5, 100), "%.40q limit %d, EOF with data", text, limit)
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, text := range texts[:len(texts)-3] {
		f.Add(text, uint8(3), uint8(2), uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, limit, block, few uint8) {
		l, b, n := 1+int(limit), 1+int(block), 1+int(few)
		require.Equal(t, model(text, l), cutAll(t, iotest.HalfReader(strings.NewReader(text)), l, b, n))
	})
}

func TestALongLineIsDroppedInBoundedMemory(t *testing.T) {
	const limit, size = 1000, 64 << 20 // of which no more than a block may stay
	text := io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless('x'), size), strings.NewReader("\nb\n"))
	all := cutAll(t, text, limit, block, 10)
	require.Len(t, all, 3)
	require.Equal(t, "a", all[0].Value)
	require.Equal(t, strings.Repeat("x", limit+1), all[1].Value)
	require.Equal(t, "b", all[2].Value)
	require.True(t, strings.HasPrefix(all[2].Position, "67108869:3:"), all[2].Position)
}

func TestALongLineIsNotSearchedAgainForEachByteOfIt(t *testing.T) {
	l := newLines("x", 1<<20)
	dst := make([]stream.Record, 1)
	searched := 0
	for range 1000 {
		l.took(copy(l.space(), "xxxx"), nil)
		searched += l.w - l.scan
		require.Zero(t, l.cut(dst))
	}
	require.Equal(t, 4000, searched)
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
