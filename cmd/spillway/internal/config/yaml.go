package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// mostBytes is how large a document may be: ten times any sensible one, so that a wrong file is refused before it is parsed.
const mostBytes = 64 << 10

// document reads a document into the job. False: it is none.
func (l *Loaded) document(text []byte) bool {
	body, ok := l.parseYAML(text)
	if !ok {
		return false
	}
	m, ok := plain(body).(*ast.MappingNode)
	if !ok {
		l.faultAt(lineOf(body), "document", "not a mapping", "must be a mapping with the fields "+strings.Join(fieldNames(jobTree().root), ", "))
		return false
	}
	l.mapping(jobTree().root, m)
	return true
}

func (l *Loaded) parseYAML(text []byte) (body ast.Node, ok bool) {
	defer func() { // the parser is not ours, and what it reads is anybody's
		if v := recover(); v != nil {
			l.faultAt(1, "yaml", "not valid", fmt.Sprintf("it can't be read (%v)", v))
			body, ok = nil, false
		}
	}()
	if len(text) > mostBytes {
		l.faultAt(1, "document", fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("must be at most %d", mostBytes))
		return nil, false
	}
	f, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		line, message := 1, err.Error()
		var y yaml.Error
		if errors.As(err, &y) {
			message = y.GetMessage()
			if tk := y.GetToken(); tk != nil && tk.Position != nil {
				line = tk.Position.Line
			}
		}
		l.faultAt(line, "yaml", "not valid", cut(message))
		return nil, false
	}
	var bodies []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	if len(bodies) != 1 {
		line, value := 1, "none"
		if len(bodies) > 1 {
			line, value = lineOf(bodies[1]), fmt.Sprint(len(bodies))
		}
		l.faultAt(line, "document", value, "must be one: a job has a document, and a file, of its own")
		return nil, false
	}
	return bodies[0], true
}

// mapping reads the fields of a part.
func (l *Loaded) mapping(part *node, m *ast.MappingNode) {
	seen := map[string]int{}
	for _, entry := range m.Values {
		key, line := keyOf(entry), lineOf(entry.Key)
		path := key
		if part.path != "" {
			path = part.path + "." + key
		}
		n := find(part.below, key)
		switch {
		case n == nil:
			l.unknown(part, key, path, line)
		case seen[key] != 0:
			l.faultAt(line, path, "twice", fmt.Sprintf("must be there once; the first is on line %d", seen[key]))
		default:
			l.field(n, entry.Value, line)
		}
		seen[key] = line
	}
}

func (l *Loaded) unknown(part *node, key, path string, line int) {
	if key == "<<" {
		l.faultAt(line, path, "a merge", "must be written out: merges are not read")
		return
	}
	hint := "must be " + list(fieldNames(part))
	if name := Closest(key, fieldNames(part)); name != "" {
		hint = "did you mean " + name + "?"
		l.meant[strings.TrimPrefix(part.path+"."+name, ".")] = true
		l.meant[part.path] = true // nor is it empty
	} else if other := jobTree().elsewhere(key); other != "" {
		hint = "did you mean " + other + "?"
	}
	l.faultAt(line, path, "unknown field", hint)
}

// field reads a value or a part. The line is that of its name: a value that is missing is looked for there.
func (l *Loaded) field(n *node, value ast.Node, line int) {
	value = plain(value)
	l.places[n.path] = place{line: line}
	root := reflect.ValueOf(&l.Job).Elem()
	switch v := value.(type) {
	case *ast.AliasNode:
		l.faultAt(lineOf(v), n.path, "an alias", "must be written out: aliases are not read")
	case *ast.NullNode:
		if n.choice {
			n.in(root, true)
		}
	case *ast.MappingNode:
		if n.isValue() {
			l.faultAt(lineOf(v), n.path, "a mapping", "must be a single value")
			return
		}
		n.in(root, true)
		l.mapping(n, v)
	default:
		text, ok := scalar(v)
		switch {
		case !n.isValue():
			l.faultAt(lineOf(v), n.path, "not a mapping", "must be a mapping with the fields "+strings.Join(fieldNames(n), ", "))
		case !ok:
			l.faultAt(lineOf(v), n.path, "a list", "must be a single value")
		default:
			l.set(n, place{line: lineOf(v), text: text})
		}
	}
}

// plain takes off what says nothing about a value: an anchor, a tag.
func plain(v ast.Node) ast.Node {
	for {
		switch n := v.(type) {
		case *ast.AnchorNode:
			v = n.Value
		case *ast.TagNode:
			v = n.Value
		default:
			return v
		}
	}
}

// scalar is the text of a single value, as it was written but for quotes.
func scalar(v ast.Node) (string, bool) {
	switch n := v.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case ast.ScalarNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func keyOf(entry *ast.MappingValueNode) string {
	var key ast.Node = entry.Key
	if k, ok := key.(*ast.MappingKeyNode); ok { // "? key"
		key = k.Value
	}
	if text, ok := scalar(plain(key)); ok {
		return text
	}
	return "?"
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

func find(nodes []*node, name string) *node {
	for _, n := range nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func fieldNames(n *node) (all []string) {
	for _, b := range n.below {
		all = append(all, b.name)
	}
	return all
}
