package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// fate is how a call of the store ends.
type fate int

const (
	works      fate = iota
	fails           // with no effect
	failsLate       // its effect is there all the same
	stalls          // until ctx ends, with no effect
	stallsLate      // until ctx ends; its effect is there
	hangs           // also when ctx ends, until the test is over; with no effect
	hangsLate       // likewise; it takes effect at the end
	keepsHalf       // it says that it worked
	keepsNone       // it says that it worked
)

var fates = [...]string{"works", "fails", "fails late", "stalls", "stalls late", "hangs", "hangs late", "keeps half", "keeps none"}

func (f fate) String() string { return fates[f] }

var errStore = errors.New("the store fails")

// memory is a store in memory, without a lock. Before each call hook is asked how it ends, after it done is told.
type memory struct {
	hook     func(op, name string) fate
	done     func(op, name string)
	released chan struct{} // what hangs goes on

	mu      sync.Mutex
	objects map[string]object
	calls   []string
	asked   int // calls of hook
}

type object struct {
	data     []byte
	modified time.Time
}

func newMemory() *memory {
	return &memory{objects: map[string]object{}, released: make(chan struct{})}
}

// run is a call. effect is called if it has one.
func (m *memory) run(ctx context.Context, op, name string, effect func(f fate) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	m.calls = append(m.calls, op+" "+name)
	hook := m.hook
	m.mu.Unlock()
	f := works
	if hook != nil {
		f = hook(op, name)
		m.mu.Lock() // what hook did comes before what it does at the next call, on whatever goroutine
		m.asked++
		m.mu.Unlock()
	}
	if m.done != nil {
		defer m.done(op, name)
	}
	switch f {
	case fails:
		return errStore
	case failsLate:
		return errors.Join(effect(f), errStore)
	case stalls:
		<-ctx.Done()
		return ctx.Err()
	case stallsLate:
		err := effect(f)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	case hangs:
		<-m.released
		return errStore
	case hangsLate:
		if op != "put" {
			<-m.released
		}
	}
	return effect(f)
}

func (m *memory) set(name string, data []byte, f fate) {
	switch f {
	case keepsNone:
		return
	case keepsHalf:
		data = data[:len(data)/2]
	}
	m.objects[name] = object{slices.Clone(data), time.Now()}
}

func (m *memory) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	return m.run(ctx, "put", name, func(f fate) error {
		var b bytes.Buffer
		if err := fill(&b); err != nil {
			return err
		}
		if f == hangsLate { // with all bytes, which are not durable yet
			<-m.released
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.set(name, b.Bytes(), f)
		return nil
	})
}

func (m *memory) Create(ctx context.Context, name string, data []byte) error {
	return m.run(ctx, "create", name, func(f fate) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if _, ok := m.objects[name]; ok {
			return fmt.Errorf("create %s: %w", name, ErrExists)
		}
		m.set(name, data, f)
		return nil
	})
}

func (m *memory) Open(ctx context.Context, name string) (r io.ReadCloser, err error) {
	err = m.run(ctx, "open", name, func(fate) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		o, ok := m.objects[name]
		if !ok {
			return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		r = io.NopCloser(bytes.NewReader(o.data))
		return nil
	})
	return r, err
}

func (m *memory) List(ctx context.Context, prefix string) (list []Info, err error) {
	err = m.run(ctx, "list", prefix, func(fate) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(m.objects)) {
			if strings.HasPrefix(name, prefix) {
				o := m.objects[name]
				list = append(list, Info{Name: name, Size: int64(len(o.data)), Modified: o.modified})
			}
		}
		return nil
	})
	return list, err
}

func (m *memory) Copy(ctx context.Context, from, to string) error {
	return m.run(ctx, "copy", to, func(f fate) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		o, ok := m.objects[from]
		if !ok {
			return &fs.PathError{Op: "copy", Path: from, Err: fs.ErrNotExist}
		}
		m.set(to, o.data, f)
		return nil
	})
}

func (m *memory) Delete(ctx context.Context, name string) error {
	return m.run(ctx, "delete", name, func(f fate) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if f != keepsHalf && f != keepsNone {
			delete(m.objects, name)
		}
		return nil
	})
}

// names are those of all objects.
func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// rename is what a person does.
func (m *memory) rename(from, to string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[to] = m.objects[from]
	delete(m.objects, from)
}

func (m *memory) delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
}

// change changes the bytes of an object.
func (m *memory) change(name string, with func(b []byte) []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.objects[name]
	m.objects[name] = object{with(slices.Clone(o.data)), o.modified}
}

// clone is a copy of the whole store.
func (m *memory) clone() *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := newMemory()
	maps.Copy(c.objects, m.objects)
	return c
}

func (m *memory) setHook(hook func(op, name string) fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

// since returns the calls after the first n, without the job's folder.
func (m *memory) since(n int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := slices.Clone(m.calls[n:])
	for i, c := range calls {
		calls[i] = strings.Replace(c, "orders/0/", "", 1)
	}
	return calls
}

// locked is a store with a lock.
type locked struct {
	*memory
	held *sync.Map
}

func newLocked() locked { return locked{newMemory(), &sync.Map{}} }

func (l locked) Lock(_ context.Context, name string) (io.Closer, error) {
	if _, taken := l.held.LoadOrStore(name, true); taken {
		return nil, &LockedError{Path: strings.TrimSuffix(name, "/LOCK")}
	}
	return closer(func() error { l.held.Delete(name); return nil }), nil
}

type closer func() error

func (c closer) Close() error { return c() }
