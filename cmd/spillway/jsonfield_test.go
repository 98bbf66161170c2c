package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheKeyIsATopLevelStringOrNumber(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"a"}`: "a",
		` { "x" : [1, {"id":"no"}], "id" : 12.50 } `:           "12.50",
		"\t{\"id\":-1e5}\r":                                    "-1e5",
		`{"a":{"id":1},"b":"}\"","id":2}`:                      "2",
		`{"id":1,"id":"last"}`:                                 "last",
		`{"\u0069d":"escaped \u00e4\n\""}`:                     "escaped ä\n\"",
		`{"a":true,"b":null,"c":false,"id":"x","d":[],"e":{}}`: "x",
		"{\"id\":\"\xff\"}":                                    "\xff",
		`{"id":0}`:                                             "0",
	} {
		key, err := jsonField([]byte(line), "id")
		require.NoError(t, err, line)
		require.Equal(t, want, key, line)
	}
}

func TestALineWithoutAKeySaysWhatIsWrongWithIt(t *testing.T) {
	for line, want := range map[string]string{
		``:                    "the line is not JSON: unexpected end of JSON input",
		`{"id":"a"`:           "the line is not JSON: unexpected end of JSON input",
		`{"id":"a"} x`:        "the line is not JSON: invalid character 'x' after top-level value",
		`"id"`:                "the line is JSON, but not an object",
		`[{"id":1}]`:          "the line is JSON, but not an object",
		`{}`:                  `key: the field "id" is missing`,
		` { } `:               `key: the field "id" is missing`,
		`{"ID":1,"x":"id"}`:   `key: the field "id" is missing`,
		`{"id":""}`:           `key: the field "id" is empty`,
		`{"id":null}`:         `key: the field "id" is null: it must be a string or a number`,
		`{"id":true}`:         `key: the field "id" is true: it must be a string or a number`,
		`{"id":{"id":1}}`:     `key: the field "id" is an object: it must be a string or a number`,
		`{"id":1,"id":[1]}`:   `key: the field "id" is an array: it must be a string or a number`,
		`{"id":1,"id":false}`: `key: the field "id" is false: it must be a string or a number`,
	} {
		_, err := jsonField([]byte(line), "id")
		require.EqualError(t, err, want, line)
	}
}

func FuzzJSONField(f *testing.F) {
	for _, line := range []string{`{"id":"a"}`, ` {"a":[{"id":1}],"id":"\u0000\"","b":"\\"} `, `{"id":-0.5e+3,"id":null}`, `{}`, `[`, `{"":{"":""}}`, "{\"i\\u0064\":\"\xff\"}"} {
		f.Add([]byte(line), "id")
	}
	f.Add([]byte(`{"":1}`), "")
	f.Fuzz(func(t *testing.T, line []byte, field string) {
		before := bytes.Clone(line)
		key, err := jsonField(line, field)
		require.Equal(t, before, line)
		var all map[string]json.RawMessage
		if json.Unmarshal(line, &all) != nil || all == nil {
			require.Error(t, err)
			return
		}
		value := bytes.TrimSpace(all[field])
		if !bytes.Contains(line, []byte(`\`)) && bytes.Equal(line, bytes.ToValidUTF8(line, []byte("?"))) { // else names may be equal in one way only
			var text string
			var number json.Number
			switch {
			case json.Unmarshal(value, &text) == nil && text != "":
				require.Equal(t, text, key)
			case len(value) > 0 && value[0] != '"' && json.Unmarshal(value, &number) == nil && number != "":
				require.Equal(t, string(number), key)
			default:
				require.Error(t, err)
			}
		}
	})
}

func BenchmarkJSONField(b *testing.B) {
	line := []byte(`{"time":"2026-01-02T15:04:05Z","customer":{"id":7,"name":"x"},"id":"order-123456","items":[1,2,3],"note":"0123456789 0123456789"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonField(line, "id"); err != nil {
			b.Fatal(err)
		}
	}
}
