package kinesistest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// general is what encoding/json makes of a PutRecords body.
func general(raw string) (in input, entries []entry, err error) {
	c := call{op: "PutRecords", body: &buffers{raw: []byte(raw)}}
	if err = json.Unmarshal(c.body.raw, &c.in); err != nil {
		return input{}, nil, err
	}
	for _, r := range c.in.Records {
		entries = append(entries, entryOf(r))
	}
	return c.in, entries, nil
}

func fast(raw string) (in input, entries []entry, ok bool) {
	c := call{op: "PutRecords", body: &buffers{raw: []byte(raw)}}
	ok = c.fast()
	return c.in, c.entries, ok
}

var bodies = []string{
	`{"Records":[{"Data":"YmxvYg==","PartitionKey":"k"}],"StreamName":"s"}`,
	`{"Records":[{"PartitionKey":"k","Data":"","ExplicitHashKey":"0"},{"Data":"YQ==","PartitionKey":"世界"}],"StreamARN":"arn"}`,
	" { \"StreamName\" : \"s\" ,\n\t\"Records\" : [ { \"Data\" : \"YWI=\" , \"PartitionKey\" : \"k\" } ] } ",
	`{"Records":[],"StreamName":"s"}`, `{"Records":[{}]}`, `{}`,
	`{"Records":[{"Data":"YWJj","PartitionKey":"\u0041\"\\"}],"StreamName":"s"}`,
	`{"Records":[{"Data":"YWJj","PartitionKey":null}],"DryRun":true}`,
	`{"Records":[{"Data":"YWJj"}],"Records":[{"PartitionKey":"x"}]}`,
	`{"records":[{"data":"YWJj"}]}`, `{"Records":null}`, `{"Records":[null]}`, `null`, ``, `[]`, `{`, `{"Records":[{"Data":"YWJj"}]`,
	`{"Records":[{"Data":"YWJj"},]}`, `{"Records":[{"Data":"!"}]}`, `{"Records":[{"Data":"YW"}]}`, `{"Records":[{"Data":"YW==YW=="}]}`,
	"{\"Records\":[{\"Data\":\"YW\nJj\"}]}", "{\"Records\":[{\"PartitionKey\":\"a\x01b\"}]}", "{\"Records\":[{\"PartitionKey\":\"a\xffb\"}]}",
	`{"Records":[{"Data":"YWJj","Other":"x"}]}`, `{"Records":[]} x`, `{"Records":[{"Data":"YQ=="},{"Data":"YQ==","Data":"Yg=="}]}`,
	`{"Records":[{"Data":"=="}]}`, `{"Records":[{"Data":"="}]}`, `{"Records":[{"Data":"YWJj=="}]}`,
}

// sameDecode holds the fast path to its promise: what it accepts, encoding/json reads alike.
func sameDecode(t *testing.T, raw string) (accepted bool) {
	in, entries, ok := fast(raw)
	if !ok {
		return false
	}
	wantIn, wantEntries, err := general(raw)
	require.NoError(t, err, "accepted by the fast path: %q", raw)
	wantIn.Records = nil
	require.Equal(t, wantIn, in)
	require.Len(t, entries, len(wantEntries))
	for i := range entries {
		require.Equal(t, wantEntries[i], entries[i], "%q, entry %d", raw, i)
	}
	return true
}

func TestTheFastPathReadsWhatClientsSendAndLeavesTheRest(t *testing.T) {
	for i, raw := range bodies {
		require.Equal(t, i <= 5 || strings.Contains(raw, `"Data":"Yg=="`), sameDecode(t, raw), "%q", raw)
	}
}

func FuzzTheFastPathAgreesWithEncodingJSON(f *testing.F) {
	for _, raw := range bodies {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) { sameDecode(t, raw) })
}

func TestLentMemoryIsReusedWithoutMixingRequests(t *testing.T) {
	var b buffers
	for i := range 20 {
		b.raw = fmt.Appendf(b.raw[:0], `{"Records":[{"Data":"%s","PartitionKey":"k"}],"StreamName":"s"}`, strings.Repeat("YWJj", 20-i))
		b.data, b.entries = b.data[:0], b.entries[:0]
		c := call{op: "PutRecords", body: &b}
		require.NoError(t, c.decode())
		require.Len(t, c.entries, 1)
		require.Equal(t, strings.Repeat("abc", 20-i), string(c.entries[0].data))
	}
}

func putRecordsBody(records, size int) []byte {
	var in struct {
		Records    []wireEntry
		StreamName string
	}
	in.StreamName = "s"
	for i := range records {
		key := fmt.Sprintf("key-%d", i)
		in.Records = append(in.Records, wireEntry{Data: bytes.Repeat([]byte{byte(i)}, size), PartitionKey: &key})
	}
	raw, _ := json.Marshal(in)
	return bytes.ReplaceAll(raw, []byte(`,"ExplicitHashKey":null`), nil)
}

func BenchmarkDecodeOf500RecordsOf1KiB(b *testing.B) {
	raw := putRecordsBody(500, 1024)
	for name, decode := range map[string]func(*call) error{
		"fast": (*call).decode,
		"json": func(c *call) error { return json.Unmarshal(c.body.raw, &c.in) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			body := buffers{raw: raw}
			for b.Loop() {
				body.data, body.entries = body.data[:0], body.entries[:0]
				c := call{op: "PutRecords", body: &body}
				if err := decode(&c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
