package config

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// Validate checks the names.
func (j *Job) Validate() error {
	if j.Name == "" {
		return fault("name", "none", "set")
	}
	return checkpoint.Job{Name: j.Name, Instance: j.Instance}.Validate()
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

// Validate checks the folder and the interval.
func (s *State) Validate() error {
	_, err := s.dir()
	return errors.Join(err, duration("interval", s.Interval))
}

// Validate checks the deadline.
func (s *Shutdown) Validate() error { return duration("deadline", s.Deadline) }

// Dir is the folder of a state that validates; "": there is none.
func (s *State) Dir() string {
	dir, _ := s.dir()
	return dir
}

func (s *State) dir() (string, error) {
	if s.URL == "" {
		return "", nil
	}
	const bound = "file: and a local folder, such as file:state; other stores can't be used yet"
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "file" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fault("url", s.URL, bound)
	}
	dir := u.Path
	if u.Opaque != "" {
		dir, err = url.PathUnescape(u.Opaque)
	}
	if err != nil || dir == "" || strings.ContainsRune(dir, 0) {
		return "", fault("url", s.URL, bound)
	}
	return dir, nil
}

func duration(field string, d time.Duration) error {
	if d == 0 || d >= time.Millisecond && d <= 24*time.Hour {
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
