package kinesistest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write is a PutRecords of entries whose keys and data have these sizes. It goes in behind the wire, which is
// dear for megabytes.
func write(maxRecordKiB int, sizes ...[2]int) (code, message string) {
	s := &Server{streams: map[string]*stream{
		"s": newStream(StreamConfig{Name: "s", MaxRecordKiB: maxRecordKiB}, false, "r", "a", time.Now()),
	}}
	name := "s"
	c := &call{op: "PutRecords", now: time.Now(), in: input{StreamName: &name}}
	for _, z := range sizes {
		c.entries = append(c.entries, entry{key: bytes.Repeat([]byte("k"), z[0]), data: make([]byte, z[1])})
	}
	_, err := s.writable(c)
	var ae *apiError
	if errors.As(err, &ae) {
		return ae.code, ae.message
	}
	return "", ""
}

func TestTheLimitsOfSizeAreExact(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		what         string
		maxRecordKiB int
		sizes        [][2]int
		code         string
	}{
		{"a record of the default limit, less one", 0, [][2]int{{4, mib - 5}}, ""},
		{"a record of the default limit", 0, [][2]int{{4, mib - 4}}, ""},
		{"one more", 0, [][2]int{{4, mib - 3}}, "InvalidArgumentException"},
		{"one more, in the key", 0, [][2]int{{5, mib - 4}}, "InvalidArgumentException"},
		{"a record of the stream's limit", 1500, [][2]int{{256, 1500*kib - 256}}, ""},
		{"one more", 1500, [][2]int{{256, 1500*kib - 255}}, "InvalidArgumentException"},
		{"a record of the largest limit", 10240, [][2]int{{1, 10*mib - 1}}, ""},
		{"one more", 10240, [][2]int{{1, 10 * mib}}, "InvalidArgumentException"},
		{"more than any stream allows", 10240, [][2]int{{1, 10*mib + 1}}, "ValidationException"},
		{"a request of the limit, less one", 10240, [][2]int{{4, 4*mib - 4}, {4, 6*mib - 5}}, ""},
		{"a request of the limit", 10240, [][2]int{{4, 4*mib - 4}, {4, 6*mib - 4}}, ""},
		{"one more", 10240, [][2]int{{4, 4*mib - 4}, {4, 6*mib - 3}}, "InvalidArgumentException"},
	} {
		code, message := write(c.maxRecordKiB, c.sizes...)
		require.Equal(t, c.code, code, "%s: %s", c.what, message)
	}
}

func TestATooLargeWriteIsRefusedInTheServicesWords(t *testing.T) {
	_, message := write(10240, [2]int{1, 5 << 20}, [2]int{1, 5 << 20})
	require.Equal(t, "Records size exceeds 10 MB limit", message)
	_, message = write(10240, [2]int{1, 1}, [2]int{1, 10<<20 + 1})
	require.Equal(t, "1 validation error detected: Value 'java.nio.HeapByteBuffer[pos=0 lim=10485761 cap=10485761]' "+
		"at 'records.2.member.data' failed to satisfy constraint: Member must have length less than or equal to 10485760", message)
	_, message = write(0, [2]int{1, 1}, [2]int{1, 1 << 20})
	require.True(t, strings.HasPrefix(message, "Record 2 of the request has 1048577 bytes, partition key included"), message)
}
