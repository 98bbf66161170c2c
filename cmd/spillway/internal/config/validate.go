package config

import (
	"errors"
	"strings"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/pipeline"
)

// Validate checks the names, and what parts mean for one another.
func (j *Job) Validate() error {
	return errors.Join(j.names(), j.replayable(), j.spills())
}

func (j *Job) names() error {
	if j.Name == "" {
		return fault("name", "none", "set")
	}
	return checkpoint.Job{Name: j.Name, Instance: j.Instance}.Validate()
}

func (j *Job) replayable() error {
	if j.State.Recover == pipeline.Replay && j.Source.Stdin != nil {
		return fault("state.recover", string(j.State.Recover), "state: standard input can't be read again")
	}
	return nil
}

// spills checks that a spill log has a folder: its own, or one that is made beside the checkpoints.
func (j *Job) spills() error {
	k := j.Sink.Kinesis
	if k == nil || k.Writer.Spill.Bytes == 0 || k.Writer.Spill.Dir != "" || j.State.Dir() != "" {
		return nil
	}
	return fault("sink.kinesis.writer.spill.dir", "none", "set to a folder: only beside state in a local folder it has a default")
}

// Validate checks that there is one source.
func (s *Source) Validate() error { return one(names{"file": s.File != nil, "stdin": s.Stdin != nil}) }

// Validate checks that there is one sink.
func (s *Sink) Validate() error { return one(names{"kinesis": s.Kinesis != nil}) }

// Validate checks that the field has a name.
func (k *Key) Validate() error {
	if k.JSON == "" {
		return fault("json", "none", "set to the name of a field")
	}
	return nil
}

// Validate checks the deadline.
func (s *Shutdown) Validate() error { return duration("deadline", s.Deadline) }

const longest = 24 * time.Hour

func duration(field string, d time.Duration) error {
	if d == 0 || d >= time.Millisecond && d <= longest {
		return nil
	}
	return fault(field, d.String(), "1ms to 24h")
}

// names says which of some parts are there.
type names map[string]bool

func one(parts names) error {
	var all, there []string
	for _, name := range sorted(parts) {
		all = append(all, name)
		if parts[name] {
			there = append(there, name)
		}
	}
	if len(there) == 1 {
		return nil
	}
	value := "none"
	if len(there) > 0 {
		value = strings.Join(there, " and ")
	}
	if len(all) == 1 {
		return fault("", value, "set to "+all[0])
	}
	return fault("", value, "one of "+list(all))
}

func fault(field, value, bound string) error {
	return &limits.Fault{Field: field, Value: value, Bound: bound}
}
