package main

import (
	"encoding/binary"
	"fmt"

	"github.com/spillway-go/spillway/statecodec"
)

// split is a part of the source, and where it goes on.
type split struct {
	Split    string `json:"split"`
	Position string `json:"position"` // as the log has it
}

const positionsCodec = "spillway.positions" // as package pipeline writes them

// positions reads those of the source, which stand first in the state file. What can't be read is told by whoever reads all of it.
func (i *inspection) positions() (all []split) {
	file, err := i.c.Open(i.ctx, i.c.State())
	if err != nil {
		return nil
	}
	defer file.Close()
	dec, err := statecodec.NewDecoder(file, statecodec.Caps{})
	if err != nil {
		return nil
	}
	for {
		s, err := dec.Next()
		if err != nil || s.Kind != statecodec.KindSource {
			return all
		}
		for {
			blob, err := dec.Blob()
			if err != nil {
				break
			}
			if s.Codec == positionsCodec {
				all = append(all, splitOf(blob))
			}
		}
	}
}

// splitOf reads a uvarint of the length of the split's name, the name, and the position.
func splitOf(blob []byte) split {
	n, k := binary.Uvarint(blob)
	if k <= 0 || n > uint64(len(blob)-k) {
		return split{Position: fmt.Sprintf("%q, which makes no sense", blob)}
	}
	return split{string(blob[k : k+int(n)]), string(blob[k+int(n):])}
}
