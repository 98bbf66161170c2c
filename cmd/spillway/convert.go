package main

import (
	"bytes"
	"fmt"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/file"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/stream"
)

// converter makes entries of lines.
type converter struct {
	source source
	field  string // that has the key; "": keys are random
	random *kinesis.RandomKeys
}

func newConverter(key *config.Key, src source) *converter {
	c := &converter{source: src, random: kinesis.NewRandomKeys(0)}
	if key != nil {
		c.field = key.JSON
	}
	return c
}

// record makes an entry of a line, which it copies. An error names the line.
func (c *converter) record(r stream.Record) (kinesis.Record, error) {
	rec, err := c.make(r)
	if err != nil {
		return kinesis.Record{}, fmt.Errorf("line %d: %w", file.Line(r.Position), err)
	}
	return rec, nil
}

func (c *converter) make(r stream.Record) (kinesis.Record, error) {
	if err := c.source.TooLong(r); err != nil {
		return kinesis.Record{}, err
	}
	if c.field == "" {
		return c.random.Record(bytes.Clone(r.Value)), nil
	}
	key, err := jsonField(r.Value, c.field)
	if err != nil {
		return kinesis.Record{}, err
	}
	return kinesis.NewRecord(key, bytes.Clone(r.Value))
}
