package kinesis

import (
	"encoding/binary"
	"errors"

	"github.com/spillway-go/spillway/statecodec"
)

// Codec writes records to snapshots, in version 1:
//
//	+--------------+-----+--------------+-----+------+
//	| key length   | key | hash length  | hash| data |
//	| uvarint      |     | uvarint      |     | rest |
//	+--------------+-----+--------------+-----+------+
//
// Lengths are in bytes of UTF-8. (Flink's Kinesis serializer writes the length in
// UTF-16 units and the bytes in UTF-8, and can't read back a key beyond ASCII.) The
// data need no length, since the snapshot frames the entry. A record that breaks a
// rule of the service is written and read back as it is: a snapshot must not fail for it.
type Codec struct{}

var _ statecodec.Codec[Record] = Codec{}

// codecID is in every snapshot; it never changes.
const codecID = "kinesis.record"

// ID returns "kinesis.record".
func (Codec) ID() string { return codecID }

// Version returns 1.
func (Codec) Version() uint32 { return 1 }

// AppendEncode appends the bytes of a record. It never fails.
func (Codec) AppendEncode(dst []byte, r Record) ([]byte, error) {
	dst = appendText(dst, r.PartitionKey)
	dst = appendText(dst, r.ExplicitHashKey)
	return append(dst, r.Data...), nil
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Decode reads a record, which shares nothing with src. Empty data come back as nil.
func (Codec) Decode(version uint32, src []byte) (r Record, err error) {
	if err := statecodec.CheckVersion(codecID, version, 1); err != nil {
		return Record{}, err
	}
	if r.PartitionKey, src, err = cutText(src, "partition key"); err != nil {
		return Record{}, err
	}
	if r.ExplicitHashKey, src, err = cutText(src, "explicit hash key"); err != nil {
		return Record{}, err
	}
	r.Data = append([]byte(nil), src...)
	return r, nil
}

func cutText(src []byte, what string) (string, []byte, error) {
	n, used := binary.Uvarint(src)
	if used <= 0 || n > uint64(len(src)-used) {
		return "", nil, errors.New("kinesis record: the length of its " + what + " is beyond its end")
	}
	end := used + int(n)
	return string(src[used:end]), src[end:], nil
}
