package kinesistest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkPutRecords is the server's own cost of a request of 500 records, without HTTP. Divide by 500 for a record.
func BenchmarkPutRecords(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			body := putRecordsBody(500, size)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			srv := NewServer(b, Config{RecordsPerSecond: Unlimited, BytesPerSecond: Unlimited})
			for i := 0; b.Loop(); i++ {
				if i%200 == 0 { // so that the records of one run do not fill the memory
					st := newStream(StreamConfig{Name: "s", Shards: 4}, false, "r", "a", srv.clock())
					srv.streams["s"] = st
				}
				r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
				r.Header.Set("Content-Type", contentType)
				r.Header.Set("X-Amz-Target", targetPrefix+"PutRecords")
				srv.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
