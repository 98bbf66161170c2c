package checkpoint

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// model is a file system that forgets what was not synced. It knows two trees: what a process sees, and what is on the
// disk for sure; what lies between is a list of changes to folders, of which a crash keeps any.
type model struct {
	visible, durable map[string]*node
	pending          []change

	op     int            // operations so far
	fail   func(int) bool // whether an operation fails; nil: none
	err    error          // with which
	failed bool           // one has
	what   []string       // the operations, for a person
}

type node struct {
	dir    bool
	data   []byte
	synced int // bytes of data that are on the disk for sure
}

// change is one of a folder's entries: a create, a rename, a remove.
type change struct {
	dir      string
	from, to string // from is gone, to is node
	node     *node
}

func (c change) on(tree map[string]*node) {
	delete(tree, c.from)
	if c.to != "" {
		tree[c.to] = c.node
	}
}

func newModel() *model {
	m := &model{visible: map[string]*node{"/": {dir: true}, "/var": {dir: true}}}
	m.durable = maps.Clone(m.visible)
	return m
}

// crashed is what the disk may hold after a crash: the changes that lucky chooses, and of each file what is synced and
// some of the rest, with zeros where blocks were allocated and not written.
func (m *model) crashed(lucky func() bool, r *rand.Rand) *model {
	tree := maps.Clone(m.durable)
	for _, c := range m.pending {
		if lucky() {
			c.on(tree)
		}
	}
	for path := range tree { // what lies in a folder that is lost
		for at := path; at != "/"; at = filepath.Dir(at) {
			if tree[filepath.Dir(at)] == nil {
				delete(tree, path)
			}
		}
	}
	next := &model{visible: map[string]*node{}}
	for path, n := range tree {
		data := slices.Clone(n.data[:n.synced])
		if rest := n.data[n.synced:]; lucky() {
			data = append(data, rest[:r.IntN(len(rest)+1)]...)
		} else if lucky() {
			data = append(data, make([]byte, len(rest))...)
		}
		next.visible[path] = &node{dir: n.dir, data: data, synced: len(data)}
	}
	next.durable = maps.Clone(next.visible)
	return next
}

// step counts an operation and says whether it fails.
func (m *model) step(op, path string) error {
	m.op++
	m.what = append(m.what, op+" "+path)
	if m.fail != nil && m.fail(m.op) {
		m.failed = true
		return &fs.PathError{Op: op, Path: path, Err: m.err}
	}
	return nil
}

func (m *model) change(c change) {
	c.on(m.visible)
	m.pending = append(m.pending, c)
}

// add makes a new entry of a folder.
func (m *model) add(op, path string, n *node) error {
	if err := m.step(op, path); err != nil {
		return err
	}
	if m.visible[path] != nil {
		return &fs.PathError{Op: op, Path: path, Err: syscall.EEXIST}
	}
	if err := m.folder(op, filepath.Dir(path)); err != nil {
		return err
	}
	m.change(change{dir: filepath.Dir(path), to: path, node: n})
	return nil
}

func (m *model) folder(op, path string) error {
	switch n := m.visible[path]; {
	case n == nil:
		return &fs.PathError{Op: op, Path: path, Err: syscall.ENOENT}
	case !n.dir:
		return &fs.PathError{Op: op, Path: path, Err: syscall.ENOTDIR}
	}
	return nil
}

func (m *model) mkdir(path string) error { return m.add("mkdir", path, &node{dir: true}) }

func (m *model) create(path string) (file, error) {
	n := &node{}
	if err := m.add("create", path, n); err != nil {
		return nil, err
	}
	return &modelFile{m: m, path: path, node: n}, nil
}

func (m *model) list(path string) ([]string, error) {
	if err := m.step("list", path); err != nil {
		return nil, err
	}
	var names []string
	for p := range m.visible {
		if filepath.Dir(p) == path && p != path {
			names = append(names, filepath.Base(p))
		}
	}
	return names, m.folder("list", path)
}

func (m *model) open(path string) (io.ReadCloser, error) {
	if err := m.step("open", path); err != nil {
		return nil, err
	}
	n := m.visible[path]
	if n == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return io.NopCloser(bytes.NewReader(n.data)), nil
}

func (m *model) rename(from, to string) error {
	if err := m.step("rename", from); err != nil {
		return err
	}
	m.change(change{dir: filepath.Dir(to), from: from, to: to, node: m.visible[from]})
	return nil
}

func (m *model) remove(path string) error {
	if err := m.step("remove", path); err != nil {
		return err
	}
	if m.visible[path] == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: syscall.ENOENT}
	}
	m.change(change{dir: filepath.Dir(path), from: path})
	return nil
}

func (m *model) syncDir(path string) error {
	if err := m.step("syncdir", path); err != nil {
		return err
	}
	if err := m.folder("syncdir", path); err != nil {
		return err
	}
	m.pending = slices.DeleteFunc(m.pending, func(c change) bool {
		if c.dir == path {
			c.on(m.durable)
		}
		return c.dir == path
	})
	return nil
}

func (m *model) lock(path string) (io.Closer, error) {
	if err := m.step("lock", path); err != nil {
		return nil, err
	}
	if err := m.folder("lock", filepath.Dir(path)); err != nil {
		return nil, err
	}
	if m.visible[path] == nil {
		m.change(change{dir: filepath.Dir(path), to: path, node: &node{}})
	}
	return io.NopCloser(nil), nil // the real one is tested with two processes
}

// files below a folder whose names contain part.
func (m *model) names(part string) (found []string) {
	for path := range m.visible {
		if strings.Contains(filepath.Base(path), part) {
			found = append(found, path)
		}
	}
	return found
}

type modelFile struct {
	m    *model
	path string
	node *node
}

func (f *modelFile) Write(p []byte) (int, error) {
	err := f.m.step("write", f.path)
	if err != nil {
		p = p[:len(p)/2]
	}
	f.node.data = append(f.node.data, p...)
	return len(p), err
}

func (f *modelFile) Sync() error {
	if err := f.m.step("sync", f.path); err != nil {
		return err
	}
	f.node.synced = len(f.node.data)
	return nil
}

func (f *modelFile) Close() error { return f.m.step("close", f.path) }
