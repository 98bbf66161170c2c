package statecodec

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// memory is a writer into memory that is there already.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

const benchEntries = 10_000

func encodeFresh(b *testing.B, w io.Writer, data []byte) {
	e, err := NewEncoder(w, Header{Job: "orders", Instance: "0"})
	if err == nil {
		err = e.Begin(Section{Operator: "sink", Kind: KindBuffer, Codec: "bytes", CodecVersion: 1, KeyGroups: DefaultKeyGroups})
	}
	x := Entry{Writer: [16]byte{1}, Born: 1_700_000_000_000_000_000, Data: data}
	for i := 0; err == nil && i < benchEntries; i++ {
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

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{100, 1 << 10} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			m := &memory{}
			encodeFresh(b, m, make([]byte, n))
			b.ReportAllocs()
			b.SetBytes(int64(n * benchEntries))
			for b.Loop() {
				m.b = m.b[:0]
				encodeFresh(b, m, make([]byte, n))
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
			encodeFresh(b, m, make([]byte, n))
			b.ReportAllocs()
			b.SetBytes(int64(n * benchEntries))
			for b.Loop() {
				d, err := NewDecoder(bytes.NewReader(m.b), Caps{})
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
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchEntries), "ns/entry")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	m := &memory{}
	encodeFresh(b, m, make([]byte, 1<<10))
	b.ReportAllocs()
	b.SetBytes(int64(len(m.b)))
	for b.Loop() {
		if _, _, err := Verify(bytes.NewReader(m.b), Caps{}); err != nil {
			b.Fatal(err)
		}
	}
}
