package suites

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/spillway-go/spillway/checkpoint"
)

// memory is a checkpoint.Store in memory.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	written int64
}

func newMemory() *memory { return &memory{objects: map[string][]byte{}} }

// Put implements checkpoint.Store.
func (m *memory) Put(_ context.Context, name string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = b.Bytes()
	m.written += int64(b.Len())
	return nil
}

// Create implements checkpoint.Store.
func (m *memory) Create(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.objects[name]; there {
		return checkpoint.ErrExists
	}
	m.objects[name] = bytes.Clone(data)
	m.written += int64(len(data))
	return nil
}

// Open implements checkpoint.Store.
func (m *memory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, there := m.objects[name]
	if !there {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// List implements checkpoint.Store.
func (m *memory) List(_ context.Context, prefix string) ([]checkpoint.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []checkpoint.Info
	for name, data := range m.objects {
		if strings.HasPrefix(name, prefix) {
			all = append(all, checkpoint.Info{Name: name, Size: int64(len(data))})
		}
	}
	slices.SortFunc(all, func(a, b checkpoint.Info) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Copy implements checkpoint.Store.
func (m *memory) Copy(_ context.Context, from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, there := m.objects[from]
	if !there {
		return &fs.PathError{Op: "copy", Path: from, Err: fs.ErrNotExist}
	}
	m.objects[to] = data
	return nil
}

// Delete implements checkpoint.Store.
func (m *memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}
