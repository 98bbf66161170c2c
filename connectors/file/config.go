package file

import (
	"cmp"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

const (
	defaultLineBytes = 4 * limits.MiB
	mostLineBytes    = limits.GiB
)

// Config is a file source's configuration, what YAML calls file:.
type Config struct {
	// Path is the file to read, a regular one. Required.
	Path string `yaml:"path"`
	// LineBytes is the longest line, its end not counted. A longer one is a broken record. Default 4 MiB; 1 B to 1 GiB.
	LineBytes limits.Bytes `yaml:"line_bytes"`
}

// Validate reports all faults, each a [*limits.Fault], joined. It does not look at the file.
func (c Config) Validate() error {
	return join(required("path", c.Path), lineBytes(c.LineBytes))
}

// StdinConfig is the configuration of a source over a stream, what YAML calls stdin:.
type StdinConfig struct {
	// LineBytes is the longest line, its end not counted. A longer one is a broken record. Default 4 MiB; 1 B to 1 GiB.
	LineBytes limits.Bytes `yaml:"line_bytes"`
}

// Validate reports all faults, each a [*limits.Fault], joined.
func (c StdinConfig) Validate() error { return join(lineBytes(c.LineBytes)) }

// DeadLetterConfig is the configuration of a [DeadLetters], what YAML calls file: under dead_letter:.
type DeadLetterConfig struct {
	// Path is the file that letters are appended to; it is made if it is not there. Required.
	Path string `yaml:"path"`
}

// Validate reports all faults, each a [*limits.Fault], joined. It does not look at the file.
func (c DeadLetterConfig) Validate() error { return join(required("path", c.Path)) }

func required(field, v string) *limits.Fault {
	if v != "" {
		return nil
	}
	return &limits.Fault{Field: field, Value: "none", Bound: "set"}
}

func lineBytes(v limits.Bytes) *limits.Fault {
	if v == 0 || v >= 1 && v <= mostLineBytes {
		return nil
	}
	return &limits.Fault{Field: "line_bytes", Value: v.String(), Bound: "1B to " + mostLineBytes.String()}
}

func lineLimit(v limits.Bytes) int { return int(cmp.Or(v, defaultLineBytes)) }
