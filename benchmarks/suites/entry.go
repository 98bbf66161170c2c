package suites

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/statecodec"
)

// entry is what a destination takes: a key and its data, as Kinesis has it. The peers' is the same.
type entry struct {
	key  string
	data []byte
}

const (
	keyBytes  = 16
	plainKeys = 1024 // where order does not matter, entries have so many, in turn
)

// keys makes n keys of 16 bytes.
func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("key-%012d", i)
	}
	return all
}

var traits = asyncsink.Traits[entry]{
	Size:  func(e entry) int { return len(e.key) + len(e.data) },
	Key:   func(e entry) string { return e.key },
	Codec: codec{},
}

// codec writes the length of the key, the key and the data.
type codec struct{}

func (codec) ID() string      { return "benchmarks.entry" }
func (codec) Version() uint32 { return 1 }

func (codec) AppendEncode(dst []byte, e entry) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(e.key)))
	dst = append(dst, e.key...)
	return append(dst, e.data...), nil
}

func (c codec) Decode(version uint32, src []byte) (entry, error) {
	if err := statecodec.CheckVersion(c.ID(), version, c.Version()); err != nil {
		return entry{}, err
	}
	n, at := binary.Uvarint(src)
	if at <= 0 || n > uint64(len(src)-at) {
		return entry{}, errors.New("the key is cut off")
	}
	src = src[at:]
	return entry{key: string(src[:n]), data: append(make([]byte, 0, len(src)-int(n)), src[n:]...)}, nil
}
