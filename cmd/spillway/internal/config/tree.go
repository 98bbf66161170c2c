package config

import (
	"encoding"
	"reflect"
	"strings"
	"sync"
	"time"
)

// node is a name of the declaration: a value, or a part that has names below it.
type node struct {
	name   string // the last part of path
	goName string // of the field
	path   string
	typ    reflect.Type // without the pointer
	index  []int        // in the parent's struct
	choice bool         // a pointer: the part is there or not
	doc    string
	parent *node
	below  []*node // nil: a value
}

// tree is all names of a declaration.
type tree struct {
	root  *node
	nodes []*node // but the root; in the order of the declaration
	paths map[string]*node
}

// The declarations.
var (
	jobTree      = sync.OnceValue(func() *tree { return declare(reflect.TypeFor[Job]()) })
	settingsTree = sync.OnceValue(func() *tree { return declare(reflect.TypeFor[Settings]()) })
)

func declare(typ reflect.Type) *tree {
	t := &tree{root: &node{typ: typ}, paths: map[string]*node{}}
	t.add(t.root, typ, nil)
	return t
}

// add adds the fields of a struct, which are those of the parent's or of one embedded in it.
func (t *tree) add(parent *node, typ reflect.Type, index []int) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := append(append([]int(nil), index...), i)
		switch {
		case option == "inline":
			t.add(parent, f.Type, at)
			continue
		case name == "-" || name == "":
			continue
		}
		n := &node{
			name: name, goName: f.Name, path: strings.TrimPrefix(parent.path+"."+name, "."), typ: f.Type, index: at,
			parent: parent, doc: docs[typ.String()+"."+f.Name],
		}
		if f.Type.Kind() == reflect.Pointer {
			n.choice, n.typ = true, f.Type.Elem()
		}
		parent.below = append(parent.below, n)
		t.nodes = append(t.nodes, n)
		t.paths[n.path] = n
		if !isValue(n.typ) {
			t.add(n, n.typ, nil)
		}
	}
}

func isValue(typ reflect.Type) bool {
	return typ.Kind() != reflect.Struct || reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (n *node) isValue() bool { return n.below == nil && isValue(n.typ) }

// flag is the name on the command line.
func (n *node) flag() string { return "--" + n.path }

const envPrefix = "SPILLWAY_"

// env is the name in the environment.
func (n *node) env() string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(n.path))
}

// in finds the node's value in one of the root's type, and makes the parts above it. Without make, a part that is not there
// gives the zero Value.
func (n *node) in(root reflect.Value, create bool) reflect.Value {
	if n.parent == nil {
		return root
	}
	v := n.parent.in(root, create)
	if !v.IsValid() {
		return v
	}
	v = v.FieldByIndex(n.index)
	if n.choice {
		if v.IsNil() && create {
			v.Set(reflect.New(n.typ))
		}
		return v.Elem()
	}
	return v
}

// kind is what a value is called in the help.
func (n *node) kind() string {
	switch {
	case !n.isValue():
		return ""
	case enums[n.typ] != nil:
		return strings.Join(enums[n.typ], "|")
	case n.typ == reflect.TypeFor[time.Duration]():
		return "DURATION"
	case n.typ == reflect.TypeFor[time.Time]():
		return "TIME"
	case n.typ.Name() == "Bytes":
		return "SIZE"
	case n.typ.Kind() == reflect.Bool:
		return "true|false"
	case n.typ.Kind() == reflect.String:
		return "TEXT"
	}
	return "NUMBER"
}
