package statecodec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/statecodec"
)

type order struct {
	ID    uint64
	Title string
}

// orderCodec had no titles in its version 1.
type orderCodec struct{}

func (orderCodec) ID() string      { return "order" }
func (orderCodec) Version() uint32 { return 2 }

func (orderCodec) AppendEncode(dst []byte, o order) ([]byte, error) {
	return append(binary.LittleEndian.AppendUint64(dst, o.ID), o.Title...), nil
}

func (c orderCodec) Decode(version uint32, src []byte) (order, error) {
	if err := statecodec.CheckVersion(c.ID(), version, c.Version()); err != nil {
		return order{}, err
	}
	if len(src) < 8 || version == 1 && len(src) > 8 {
		return order{}, errors.New("order: wrong length")
	}
	return order{ID: binary.LittleEndian.Uint64(src), Title: string(src[8:])}, nil
}

func Example() {
	var codec orderCodec
	var file bytes.Buffer

	enc, err := statecodec.NewEncoder(&file, statecodec.Header{Job: "orders", Instance: "0", Checkpoint: 42})
	check(err)
	check(enc.Begin(statecodec.Section{
		Operator: "kinesis", Kind: statecodec.KindBuffer,
		Codec: codec.ID(), CodecVersion: codec.Version(), KeyGroups: statecodec.DefaultKeyGroups,
	}))
	var data []byte
	for i, o := range []order{{7, "ink"}, {8, "paper"}} {
		data, err = codec.AppendEncode(data[:0], o)
		check(err)
		hash := statecodec.KeyHash(fmt.Sprint(o.ID))
		check(enc.Entry(&statecodec.Entry{
			Seq: uint64(i + 1), KeyGroup: statecodec.KeyGroup(hash, statecodec.DefaultKeyGroups), Data: data,
		}))
	}
	check(enc.Close())

	dec, err := statecodec.NewDecoder(&file, statecodec.Caps{})
	check(err)
	for {
		s, err := dec.Next()
		if err == io.EOF {
			break // the trailer was right: the snapshot is whole
		}
		check(err)
		fmt.Println(s)
		for e := (statecodec.Entry{}); ; {
			if err := dec.Entry(&e); err == io.EOF {
				break
			} else {
				check(err)
			}
			o, err := codec.Decode(s.CodecVersion, e.Data)
			check(err)
			fmt.Printf("%d: %+v\n", e.Seq, o)
		}
	}
	// Output:
	// "kinesis" (buffer)
	// 1: {ID:7 Title:ink}
	// 2: {ID:8 Title:paper}
}

func ExampleNewerError() {
	_, err := orderCodec{}.Decode(3, nil)
	var newer *statecodec.NewerError
	fmt.Println(errors.As(err, &newer), err)
	// Output:
	// true statecodec: codec "order" has version 3, this program reads up to 2: start the program that wrote it, or a newer one
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
