package main

import (
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/statecodec"
)

// record is what a codec makes of an entry's bytes, as far as tools need it.
type record struct {
	key  string
	data []byte
}

// decoders read entries, by the ID of their codec.
var decoders = map[string]func(version uint32, b []byte) (record, error){
	kinesis.Codec{}.ID(): func(version uint32, b []byte) (record, error) {
		r, err := kinesis.Codec{}.Decode(version, b)
		return record{r.PartitionKey, r.Data}, err
	},
}

// decode reads an entry. Not known: of its codec this program knows nothing, and its bytes are its data.
func decode(s statecodec.Section, b []byte) (r record, known bool, err error) {
	d, known := decoders[s.Codec]
	if !known {
		return record{data: b}, false, nil
	}
	r, err = d(s.CodecVersion, b)
	return r, true, err
}
