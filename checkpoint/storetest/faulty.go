package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/spillway-go/spillway/checkpoint"
)

// Op is a method of a store.
type Op string

const (
	Put    Op = "put"
	Create Op = "create"
	Open   Op = "open"
	List   Op = "list"
	Copy   Op = "copy"
	Delete Op = "delete"
)

// Call is one call of a store.
type Call struct {
	N    int // of all calls, from 1
	Nth  int // of those of its Op, from 1
	Op   Op
	Name string // of the object; of List, the prefix; of Copy, what is copied
	To   string // of Copy
}

// Fault is what becomes of a call.
type Fault int

const (
	None        Fault = iota
	FailBefore        // ErrFault, and nothing happened: Put does not call fill
	FailAfter         // ErrFault, and it took effect
	StallBefore       // nothing happens until ctx ends, then its error
	StallAfter        // it takes effect, and then nothing happens until ctx ends, then its error
	LieNothing        // nil, and nothing happened; Put calls fill, Open reads nothing, List is empty
	LieHalf           // nil, and only the first half of the bytes, or of the list, is there; Delete deletes nothing
)

// ErrFault is matched by what a call returns that fails as it was told to.
var ErrFault = errors.New("the store failed as it was told to")

// Faulty is a store whose calls fail, stall or lie when they are told to. It is nothing but a [checkpoint.Store]: what else
// the one below can do is hidden. Any goroutine may call it.
type Faulty struct {
	store checkpoint.Store

	mu     sync.Mutex
	decide func(Call) Fault
	calls  []Call
	nth    map[Op]int
}

var _ checkpoint.Store = (*Faulty)(nil)

// NewFaulty puts faults before a store. The function is asked for each call, one at a time; nil is none. See [At] and
// [AtOp].
func NewFaulty(s checkpoint.Store, decide func(Call) Fault) *Faulty {
	f := &Faulty{store: s, nth: map[Op]int{}}
	f.Decide(decide)
	return f
}

// At has the n-th call fail, from 1.
func At(n int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.N == n {
			return fault
		}
		return None
	}
}

// AtOp has the nth call of an Op fail, from 1.
func AtOp(op Op, nth int, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if c.Op == op && c.Nth == nth {
			return fault
		}
		return None
	}
}

// Decide replaces the function. The numbers of the calls go on.
func (f *Faulty) Decide(decide func(Call) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if decide == nil {
		decide = func(Call) Fault { return None }
	}
	f.decide = decide
}

// Calls are those that were made so far, in order.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

func (f *Faulty) called(op Op, name, to string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nth[op]++
	c := Call{N: len(f.calls) + 1, Nth: f.nth[op], Op: op, Name: name, To: to}
	f.calls = append(f.calls, c)
	return f.decide(c)
}

// call does what a fault says; lie is for those that say nil.
func call(ctx context.Context, fault Fault, do func() error, lie func(Fault) error) error {
	switch fault {
	case FailBefore:
		return ErrFault
	case StallBefore:
		<-ctx.Done()
		return ctx.Err()
	case LieNothing, LieHalf:
		return lie(fault)
	}
	err := do()
	if err != nil {
		return err
	}
	switch fault {
	case FailAfter:
		return ErrFault
	case StallAfter:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// Put implements [checkpoint.Store].
func (f *Faulty) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	return call(ctx, f.called(Put, name, ""), func() error { return f.store.Put(ctx, name, fill) }, func(lie Fault) error {
		var b bytes.Buffer
		if err := fill(&b); err != nil || lie == LieNothing {
			return err
		}
		return f.put(ctx, name, b.Bytes()[:b.Len()/2])
	})
}

func (f *Faulty) put(ctx context.Context, name string, b []byte) error {
	return f.store.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// Create implements [checkpoint.Store].
func (f *Faulty) Create(ctx context.Context, name string, data []byte) error {
	return call(ctx, f.called(Create, name, ""), func() error { return f.store.Create(ctx, name, data) }, func(lie Fault) error {
		if lie == LieNothing {
			return nil
		}
		return f.store.Create(ctx, name, data[:len(data)/2])
	})
}

// Open implements [checkpoint.Store].
func (f *Faulty) Open(ctx context.Context, name string) (r io.ReadCloser, err error) {
	err = call(ctx, f.called(Open, name, ""), func() error {
		r, err = f.store.Open(ctx, name)
		return err
	}, func(lie Fault) error {
		b, err := f.half(ctx, name)
		if lie == LieNothing {
			b = nil
		}
		r = io.NopCloser(bytes.NewReader(b))
		return err
	})
	if err != nil && r != nil {
		_ = r.Close()
		r = nil
	}
	return r, err
}

// half is the first half of an object.
func (f *Faulty) half(ctx context.Context, name string) ([]byte, error) {
	r, err := f.store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return b[:len(b)/2], err
}

// List implements [checkpoint.Store].
func (f *Faulty) List(ctx context.Context, prefix string) (infos []checkpoint.Info, err error) {
	err = call(ctx, f.called(List, prefix, ""), func() error {
		infos, err = f.store.List(ctx, prefix)
		return err
	}, func(lie Fault) error {
		infos, err = f.store.List(ctx, prefix)
		if lie == LieNothing {
			infos = nil
		}
		infos = infos[:len(infos)/2]
		return err
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// Copy implements [checkpoint.Store].
func (f *Faulty) Copy(ctx context.Context, from, to string) error {
	return call(ctx, f.called(Copy, from, to), func() error { return f.store.Copy(ctx, from, to) }, func(lie Fault) error {
		if lie == LieNothing {
			return nil
		}
		b, err := f.half(ctx, from)
		if err != nil {
			return err
		}
		return f.put(ctx, to, b)
	})
}

// Delete implements [checkpoint.Store].
func (f *Faulty) Delete(ctx context.Context, name string) error {
	return call(ctx, f.called(Delete, name, ""), func() error { return f.store.Delete(ctx, name) },
		func(Fault) error { return nil })
}
