package spill

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

// BenchmarkSpill spills 256 MiB of entries of 1 KiB and syncs them at the end, and writes a plain file of as many bytes in
// the same way, in turn. "ratio" is the median of what the spill reaches of the plain write's throughput.
func BenchmarkSpill(b *testing.B) {
	const total, size = 256 << 20, 1 << 10
	for _, policy := range []struct {
		name string
		Policy
	}{{"OnCheckpoint", OnCheckpoint}, {"Steady", Steady}} {
		b.Run(policy.name, func(b *testing.B) {
			dir := b.TempDir()
			x := statecodec.Entry{Writer: [16]byte{1}, Born: 1, Data: bytes.Repeat([]byte("0123456789abcdef"), size/16)}
			block := bytes.Repeat(x.Data, 256<<10/size)
			var ratios, speeds []float64
			b.SetBytes(total)
			for i := range b.N {
				log, err := Open(Config{Dir: filepath.Join(dir, "spill"), Header: testHeader, Section: testSection, Sync: policy.Policy})
				require.NoError(b, err)
				spill := func() time.Duration {
					began := time.Now()
					for range total / size {
						x.Seq++
						if err := log.Append(&x, false); err != nil {
							b.Fatal(err)
						}
					}
					log.Cut()
					for _, s := range log.Segments() {
						require.NoError(b, s.Seal())
						require.NoError(b, log.in.fs.Sync(s.Path()))
					}
					return time.Since(began)
				}
				plain := func() time.Duration {
					path := filepath.Join(dir, "plain")
					defer os.Remove(path)
					began := time.Now()
					f, err := os.Create(path)
					require.NoError(b, err)
					for left := int64(total); left > 0; left -= int64(len(block)) {
						if _, err := f.Write(block); err != nil {
							b.Fatal(err)
						}
					}
					require.NoError(b, f.Sync())
					require.NoError(b, f.Close())
					return time.Since(began)
				}
				var s, p time.Duration
				if i%2 == 0 {
					s, p = spill(), plain()
				} else {
					p, s = plain(), spill()
				}
				require.NoError(b, log.Close())
				ratios = append(ratios, float64(p)/float64(s))
				speeds = append(speeds, total/s.Seconds()/1e6)
			}
			slices.Sort(ratios)
			slices.Sort(speeds)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(speeds[len(speeds)/2], "spillMB/s")
		})
	}
}

// BenchmarkFeed reads 256 MiB of entries of 1 KiB back, decoded, and the same files as they are, in turn; all of it lies in
// the system's cache. "ratio" is the median of what feeding reaches of the plain read's throughput.
func BenchmarkFeed(b *testing.B) {
	const total, size = 256 << 20, 1 << 10
	dir := b.TempDir()
	var ratios []float64
	b.SetBytes(total)
	buf := make([]byte, 256<<10)
	for range b.N {
		log, err := Open(Config{Dir: filepath.Join(dir, "spill"), Header: testHeader, Section: testSection})
		require.NoError(b, err)
		x := statecodec.Entry{Data: make([]byte, size)}
		for range total / size {
			x.Seq++
			require.NoError(b, log.Append(&x, false))
		}
		began := time.Now()
		for _, s := range log.Segments() {
			f, err := os.Open(s.Path())
			require.NoError(b, err)
			for n := 1; n > 0; {
				n, _ = f.Read(buf)
			}
			require.NoError(b, f.Close())
		}
		plain := time.Since(began)
		began = time.Now()
		var r statecodec.BlockReader
		entries := 0
		for block, ok := log.Next(); ok; block, ok = log.Next() {
			require.NoError(b, block.Read(&r))
			for r.Entry(&x) == nil {
				entries++
			}
		}
		fed := time.Since(began)
		require.Equal(b, total/size, entries)
		require.NoError(b, log.Close())
		ratios = append(ratios, float64(plain)/float64(fed))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}
