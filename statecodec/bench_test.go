package statecodec

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// memory is a writer into memory that is there already.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

const benchEntries = 10_000

func encodeFresh(b *testing.B, w io.Writer, data []byte, entries int) {
	e, err := NewEncoder(w, Header{Job: "orders", Instance: "0"})
	if err == nil {
		err = e.Begin(Section{Operator: "sink", Kind: KindBuffer, Codec: "bytes", CodecVersion: 1, KeyGroups: DefaultKeyGroups})
	}
	x := Entry{Writer: [16]byte{1}, Born: 1_700_000_000_000_000_000, Data: data}
	for i := 0; err == nil && i < entries; i++ {
		x.Seq++
		x.KeyGroup = uint32(i*7) % DefaultKeyGroups
		if i%256 == 0 {
			x.Born += 1_000_000
		}
		err = e.Entry(&x)
	}
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func decodeAll(b *testing.B, r io.Reader) {
	d, err := NewDecoder(r, Caps{})
	if err == nil {
		_, err = d.Next()
	}
	var x Entry
	for err == nil {
		err = d.Entry(&x)
	}
	if err != io.EOF {
		b.Fatal(err)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{100, 1 << 10} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			m := &memory{}
			encodeFresh(b, m, make([]byte, n), benchEntries)
			b.ReportAllocs()
			b.SetBytes(int64(n * benchEntries))
			for b.Loop() {
				m.b = m.b[:0]
				encodeFresh(b, m, make([]byte, n), benchEntries)
			}
			b.ReportMetric(float64(len(m.b)-n*benchEntries)/benchEntries, "overhead-B/entry")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchEntries), "ns/entry")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{100, 1 << 10} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			m := &memory{}
			encodeFresh(b, m, make([]byte, n), benchEntries)
			b.ReportAllocs()
			b.SetBytes(int64(n * benchEntries))
			for b.Loop() {
				decodeAll(b, bytes.NewReader(m.b))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchEntries), "ns/entry")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	m := &memory{}
	encodeFresh(b, m, make([]byte, 1<<10), benchEntries)
	b.ReportAllocs()
	b.SetBytes(int64(len(m.b)))
	for b.Loop() {
		if _, _, err := Verify(bytes.NewReader(m.b), Caps{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestore decodes a file of 64 MiB that is in the page cache, and reads it twice more without looking at it:
// of-discard is how much longer restoring takes than io.Copy to io.Discard, of-read than reads of a block's size.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{100, 1 << 10} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "state")
			entries := 64 << 20 / n
			f, err := os.Create(path)
			require.NoError(b, err)
			encodeFresh(b, f, make([]byte, n), entries)
			require.NoError(b, f.Close())
			timed := func(read func(f *os.File)) time.Duration {
				f, err := os.Open(path)
				require.NoError(b, err)
				defer f.Close()
				start := time.Now()
				read(f)
				return time.Since(start)
			}
			block := make([]byte, fullBlock)
			var discard, reading, restore time.Duration
			for b.Loop() {
				discard += timed(func(f *os.File) {
					_, err := io.Copy(io.Discard, f)
					require.NoError(b, err)
				})
				reading += timed(func(f *os.File) {
					for err = nil; err == nil; {
						_, err = f.Read(block)
					}
					require.Equal(b, io.EOF, err)
				})
				restore += timed(func(f *os.File) { decodeAll(b, f) })
			}
			b.ReportMetric(float64(restore)/float64(discard), "of-discard")
			b.ReportMetric(float64(restore)/float64(reading), "of-read")
			b.ReportMetric(float64(restore)/float64(b.N*entries), "ns/entry")
			b.ReportMetric(float64(n*entries*b.N)/restore.Seconds()/1e6, "MB/s")
		})
	}
}

// BenchmarkSalvage searches a hole of 4 MiB: of random bytes, and of bytes in which a block might begin at each sixteenth.
func BenchmarkSalvage(b *testing.B) {
	const n = 4 << 20
	noise := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	_, file, blocks := sample(b)
	for name, hole := range map[string][]byte{"noise": noise, "heads": plausibleEverywhere(n, 1<<20+5)} {
		whole := slices.Insert(slices.Clone(file), blocks[3].from, hole...)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				d, err := NewDecoder(bytes.NewReader(whole), Caps{})
				if err != nil {
					b.Fatal(err)
				}
				d.Salvage(func(Damage) {})
				for err == nil {
					_, err = d.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
		})
	}
}
