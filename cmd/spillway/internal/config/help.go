package config

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
)

// notes are what a value means where it is, besides its comment.
var notes = map[string]string{
	"sink.kinesis.writer.batch.bytes":       "Here the default is the most that the service takes, 10 MiB.",
	"sink.kinesis.writer.batch.entry_bytes": "Here the default is what the stream takes, and at most held.bytes.",
	"sink.kinesis.writer.spill.dir":         "Here, with bytes set, the default is spill, beside the checkpoints, if state.url is a local folder.",
	"sink.kinesis.writer.spill.bytes":       "Here it also turns spilling on where dir has a default.",
}

const (
	helpWidth  = 110
	helpIndent = 6
)

// Help writes what every value means, its default and its bound.
func Help(w io.Writer) {
	for _, t := range []*tree{jobTree(), settingsTree()} {
		if t == settingsTree() {
			fmt.Fprint(w, "\nOf the process, hence as flags and variables only:\n")
		}
		t.help(w, "")
	}
}

func (t *tree) help(w io.Writer, prefix string) {
	for _, n := range t.nodes {
		if !n.isValue() && !n.choice {
			continue
		}
		kind := n.kind()
		if prefix != "" && n.typ.Kind() == reflect.Bool { // it needs none
			kind = ""
		}
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(prefix+n.path+" "+kind))
		wrap(w, strings.TrimSpace(n.help()+" "+notes[n.path]))
	}
}

var (
	link   = regexp.MustCompile(`\[\*?([\w.]+)\]`)
	goName = regexp.MustCompile(`\b[A-Z]\w*(\.[A-Z]\w*)?`)
)

// help is the comment as a person at a shell reads it: not beginning with the field's name in Go, without links, and with the names
// of the file for those of Go.
func (n *node) help() string {
	name, text, _ := strings.Cut(n.doc, " ")
	if strings.HasSuffix(name, ",") { // of several fields
		text = n.doc
	}
	text = strings.TrimPrefix(text, "is ")
	text = link.ReplaceAllString(text, "$1")
	text = goName.ReplaceAllStringFunc(text, n.fileName)
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// fileName is a Go name as the file has it: of a field beside n or beside its parent, or of a value. Any other word stays.
func (n *node) fileName(word string) string {
	for _, v := range enums[n.typ] {
		if strings.EqualFold(strings.ReplaceAll(v, "_", ""), word) {
			return v
		}
	}
	part, field, nested := strings.Cut(word, ".")
	for _, beside := range n.parent.below {
		if !nested && beside != n && beside.goName == part { // its own name stands for the thing, such as Kinesis
			return beside.name
		}
	}
	if nested && n.parent.parent != nil {
		for _, p := range n.parent.parent.below {
			for _, f := range p.below {
				if p.goName == part && f.goName == field {
					return p.name + "." + f.name
				}
			}
		}
	}
	return word
}

func wrap(w io.Writer, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && helpIndent+len(line)+1+len(word) > helpWidth {
			fmt.Fprintf(w, "%*s%s\n", helpIndent, "", line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	fmt.Fprintf(w, "%*s%s\n", helpIndent, "", line)
}
