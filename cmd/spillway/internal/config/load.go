package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/checkpoint"
)

// Loaded is what was read.
type Loaded struct {
	Job      Job
	Settings Settings
	Help     bool     // was asked for; then nothing else was read
	Warnings []string // about what is no fault and may be a mistake

	file   string           // "": none
	places map[string]place // of what was written, by path
	faults Faults
	faulty map[string]bool // paths that have a fault, so that Validate adds none
	meant  map[string]bool // paths that an unknown name probably means: they are not missing as well
}

// Stdin is the name of a FILE that is read from standard input.
const Stdin = "-"

// Load reads the arguments of run, the environment (as NAME=VALUE) and the file that the arguments name, and validates the
// whole. All faults come at once, as [Faults]; what could be read is returned with them, so that an error can be reported as the
// settings ask for.
func Load(args, env []string, stdin io.Reader) (*Loaded, error) {
	l := &Loaded{places: map[string]place{}, faulty: map[string]bool{}, meant: map[string]bool{}}
	line := parseArgs(args, ofRun())
	if l.Help = line.help; l.Help {
		return l, nil
	}
	variables, warnings := environment(env)
	l.Warnings = warnings
	for _, path := range line.meant {
		l.meant[path] = true
	}
	ok := l.read(line, len(variables) > 0, stdin)
	for _, o := range variables {
		l.option(o, "$"+o.n.env())
	}
	l.faults = append(l.faults, line.faults...)
	for _, o := range line.options {
		l.option(o, o.n.flag())
	}
	if ok {
		l.validate()
	}
	if l.file == Stdin && l.Job.Source.Stdin != nil {
		l.faultAt(1, "source.stdin", "read already", "must be another source, or the document in a file: standard input can't be both")
	}
	l.faults.sort()
	if len(l.faults) > 0 {
		return l, l.faults
	}
	l.warn()
	return l, nil
}

// warn adds what is no fault of a configuration and may be a mistake.
func (l *Loaded) warn() {
	w := l.Job.Sink.Kinesis.Writer
	if w.Order == asyncsink.PerKey && l.Job.Source.Key == nil {
		l.Warnings = append(l.Warnings, "order per_key with random keys keeps no order: say in source.key where the key is")
	}
	if w.Spill.Sync != asyncsink.OnCheckpoint && w.Spill.Dir == "" && w.Spill.Bytes == 0 {
		l.Warnings = append(l.Warnings, "writer.spill.sync does nothing: nothing is spilled without writer.spill.dir or bytes")
	}
}

// read reads the file, if there is one, and reports whether it makes sense to look for more that is wrong.
func (l *Loaded) read(line commandLine, variables bool, stdin io.Reader) bool {
	wrong := func(value, bound string) bool {
		l.faults = append(l.faults, &Fault{Field: "FILE", Value: value, Bound: bound})
		return false
	}
	switch {
	case len(line.files) == 1:
	case len(line.faults) > 0: // what is missing, or one too many, may belong to a flag that nobody knows
		return false
	case len(line.files) > 1:
		return wrong(strings.Join(line.files, " "), "must be one: a job has a process of its own")
	case len(line.options) == 0 && !variables:
		return wrong("none", "must be set, as in spillway run FILE.yaml, or every value given by flags")
	default:
		return true
	}
	text, err := readFile(line.files[0], stdin)
	if err != nil {
		return wrong(shown(line.files[0]), err.Error())
	}
	l.file = line.files[0]
	return l.document(text)
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == Stdin {
		return io.ReadAll(io.LimitReader(stdin, mostBytes+1))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", errors.Unwrap(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", errors.Unwrap(err))
	}
	return text, nil
}

// option sets what a flag or a variable says.
func (l *Loaded) option(o option, name string) {
	if o.n.isValue() {
		l.set(o.n, place{name: name, text: o.text})
		return
	}
	l.places[o.n.path] = place{name: name}
	if o.text != "true" && o.text != "{}" {
		l.fault(o.n.path, shown(o.text), "must be true, or left out")
		return
	}
	o.n.in(l.root(o.n), true)
}

// set reads the text of a value.
func (l *Loaded) set(n *node, at place) {
	l.places[n.path] = at
	if bound := parse(n.in(l.root(n), true), at.text); bound != "" {
		l.fault(n.path, shown(at.text), bound)
	}
}

func (l *Loaded) root(n *node) reflect.Value {
	if settingsTree().paths[n.path] == n {
		return reflect.ValueOf(&l.Settings).Elem()
	}
	return reflect.ValueOf(&l.Job).Elem()
}

// validate asks every part that is there what is wrong with it.
func (l *Loaded) validate() {
	l.ask(jobTree(), reflect.ValueOf(&l.Job).Elem())
	l.ask(settingsTree(), reflect.ValueOf(&l.Settings).Elem())
	if l.Settings.Restore != "" && l.Job.State.URL == "" {
		l.fault("state.url", "none", "must be set, to restore a checkpoint")
	}
}

func (l *Loaded) ask(t *tree, root reflect.Value) {
	for _, n := range append([]*node{t.root}, t.nodes...) {
		v := n.in(root, false)
		if !v.IsValid() || n.isValue() {
			continue
		}
		if c, ok := v.Addr().Interface().(interface{ Validate() error }); ok {
			faults, others := l.explain(n.path, c.Validate())
			l.faults = append(l.faults, faults...)
			for _, err := range others {
				l.fault(n.path, "not valid", err.Error())
			}
		}
	}
}

// Explain turns an error that consists of faults of the part at a path, which only showed when it was used, into Faults that
// say where they were written. Any other error is returned as it is.
func (l *Loaded) Explain(path string, err error) error {
	if faults, others := l.explain(path, err); len(faults) > 0 && len(others) == 0 {
		return faults
	}
	return err
}

// explain takes an error apart.
func (l *Loaded) explain(path string, err error) (faults Faults, others []error) {
	add := func(path string, err error) {
		f, o := l.explain(path, err)
		faults, others = append(faults, f...), append(others, o...)
	}
	switch e := err.(type) {
	case nil:
	case *limits.Fault:
		return l.bounded(path, e.Field, e.Value, e.Bound), nil
	case *checkpoint.NameError:
		return l.bounded(path, e.Field, e.Value, e.Bound), nil
	case *asyncsink.ConfigError: // that of a writer, perhaps from whoever made it
		path = strings.TrimSuffix(path, ".writer") + ".writer"
		for _, one := range e.Errs {
			add(path, one)
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			add(path, one)
		}
	default:
		if inner := errors.Unwrap(err); inner != nil {
			if f, o := l.explain(path, inner); len(o) == 0 {
				return f, nil
			}
		}
		return nil, []error{err}
	}
	return faults, others
}

// bounded is the fault of a field below a path, unless it has one.
func (l *Loaded) bounded(path, field, value, bound string) Faults {
	full := strings.Trim(path+"."+field, ".")
	text := l.places[full].text
	if l.faulty[full] || text == "" && l.meant[full] {
		return nil
	}
	if text != "" {
		value = shown(text)
	}
	return Faults{l.at(full, value, "must be "+bound)}
}

// fault adds one at the place where a path was written.
func (l *Loaded) fault(path, value, bound string) {
	l.faulty[path] = true
	l.faults = append(l.faults, l.at(path, value, bound))
}

// faultAt adds one on a line of the file.
func (l *Loaded) faultAt(line int, path, value, bound string) {
	l.faulty[path] = true
	l.faults = append(l.faults, &Fault{File: l.name(), Line: line, Field: path, Value: value, Bound: bound})
}

// at makes a fault at the place where the path, or the nearest part above it, was written.
func (l *Loaded) at(path, value, bound string) *Fault {
	if p := l.places[path]; p.name != "" {
		return &Fault{Field: p.name, Value: value, Bound: bound}
	}
	if l.file == "" {
		return &Fault{Field: "--" + path, Value: value, Bound: bound}
	}
	line := 1
	for above := path; above != ""; above = above[:max(0, strings.LastIndexByte(above, '.'))] {
		if p := l.places[above]; p.line > 0 {
			line = p.line
			break
		}
	}
	return &Fault{File: l.name(), Line: line, Field: path, Value: value, Bound: bound}
}

func (l *Loaded) name() string {
	if l.file == Stdin {
		return "stdin"
	}
	return l.file
}
