package statecodec

import (
	"math/rand/v2"
	"testing"
)

const benchChunks = 8192 // of 128 entries: a million

// settled are the words of chunks in which one entry in a hundred, at random, is settled.
func settled() [][2]uint64 {
	r := rand.New(rand.NewPCG(1, 1))
	chunks := make([][2]uint64, benchChunks)
	for range 128 * benchChunks / 100 {
		i := r.IntN(128 * benchChunks)
		chunks[i/128][i%128/64] |= 1 << (i % 64)
	}
	return chunks
}

func buildBitmap(b *BitmapBuilder, chunks [][2]uint64, first uint64) Bitmap {
	for i := range chunks {
		b.AddWords(first+128*uint64(i), 128, ^chunks[i][0], ^chunks[i][1])
	}
	m, err := b.Bitmap()
	if err != nil {
		panic(err)
	}
	return m
}

func BenchmarkBitmap(b *testing.B) {
	chunks := settled()
	var builder BitmapBuilder
	for name, first := range map[string]uint64{"aligned": 1 << 20, "shifted": 1<<20 + 13} {
		m := buildBitmap(&builder, chunks, first)
		b.Run("build/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buildBitmap(&builder, chunks, first)
			}
			b.ReportMetric(float64(len(m.bytes)), "bytes")
		})
	}
	m := buildBitmap(&builder, chunks, 1<<20+13)
	enc := m.AppendTo(nil)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := DecodeBitmap(enc, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for range m.Runs() {
				n++
			}
		}
	})
	b.Run("cursor", func(b *testing.B) {
		for b.Loop() {
			c, n := m.Cursor(), uint64(0)
			for seq := m.First(); seq <= m.Last(); seq++ {
				if c.Contains(seq) {
					n++
				}
			}
			if n != m.Count() {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*128*benchChunks), "ns/seq")
	})
}
