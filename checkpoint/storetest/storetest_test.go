package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
	"github.com/spillway-go/spillway/checkpoint/storetest"
)

func memory() checkpoint.Store { return blobstore.New(memblob.OpenBucket(nil)) }

// broken is a store of which one method does not do what it must.
type broken struct {
	checkpoint.Store
	put    func(ctx context.Context, name string, fill func(io.Writer) error) error
	create func(ctx context.Context, name string, data []byte) error
	open   func(ctx context.Context, name string) (io.ReadCloser, error)
	list   func(ctx context.Context, prefix string) ([]checkpoint.Info, error)
	copy   func(ctx context.Context, from, to string) error
	delete func(ctx context.Context, name string) error
}

func (b *broken) Put(ctx context.Context, name string, fill func(io.Writer) error) error {
	if b.put != nil {
		return b.put(ctx, name, fill)
	}
	return b.Store.Put(ctx, name, fill)
}

func (b *broken) Create(ctx context.Context, name string, data []byte) error {
	if b.create != nil {
		return b.create(ctx, name, data)
	}
	return b.Store.Create(ctx, name, data)
}

func (b *broken) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if b.open != nil {
		return b.open(ctx, name)
	}
	return b.Store.Open(ctx, name)
}

func (b *broken) List(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
	if b.list != nil {
		return b.list(ctx, prefix)
	}
	return b.Store.List(ctx, prefix)
}

func (b *broken) Copy(ctx context.Context, from, to string) error {
	if b.copy != nil {
		return b.copy(ctx, from, to)
	}
	return b.Store.Copy(ctx, from, to)
}

func (b *broken) Delete(ctx context.Context, name string) error {
	if b.delete != nil {
		return b.delete(ctx, name)
	}
	return b.Store.Delete(ctx, name)
}

// faults are ways to be broken, each with a promise that must fail of it.
var faults = []struct {
	name, fails string
	is          func(*broken)
}{
	{"a byte is lost", "put makes an object of every byte", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			if err := fill(&all); err != nil {
				return err
			}
			return put(ctx, b.Store, name, all.Bytes()[:max(0, all.Len()-1)])
		}
	}},
	{"put keeps what is there", "put replaces an object", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			if err := fill(&all); err != nil {
				return err
			}
			if err := b.Store.Create(ctx, name, all.Bytes()); !errors.Is(err, checkpoint.ErrExists) {
				return err
			}
			return nil
		}
	}},
	{"a replacement is seen in part", "an object that is replaced is read whole", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			if err := fill(&all); err != nil {
				return err
			}
			for n := range 10 {
				if err := put(ctx, b.Store, name, all.Bytes()[:all.Len()*n/10]); err != nil {
					return err
				}
			}
			return put(ctx, b.Store, name, all.Bytes())
		}
	}},
	{"what a failed fill wrote is kept", "a fill that fails", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			err := fill(&all)
			return errors.Join(put(ctx, b.Store, name, all.Bytes()), err)
		}
	}},
	{"what a panicking fill wrote is kept", "a fill that panics", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			defer func() { _ = put(ctx, b.Store, name, all.Bytes()) }()
			return fill(&all)
		}
	}},
	{"what an ended fill wrote is kept", "a fill that ends its goroutine", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			var all bytes.Buffer
			ended := true
			defer func() {
				if ended && recover() == nil {
					_ = put(ctx, b.Store, name, all.Bytes())
				}
			}()
			err := fill(&all)
			ended = false
			if err != nil {
				return err
			}
			return put(ctx, b.Store, name, all.Bytes())
		}
	}},
	{"a put goes on without its ctx", "a put whose ctx ends", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			return b.Store.Put(context.WithoutCancel(ctx), name, fill)
		}
	}},
	{"create makes half an object", "create makes an object", func(b *broken) {
		b.create = func(ctx context.Context, name string, data []byte) error {
			return b.Store.Create(ctx, name, data[:len(data)/2])
		}
	}},
	{"create replaces", "create of what is there", func(b *broken) {
		b.create = func(ctx context.Context, name string, data []byte) error { return put(ctx, b.Store, name, data) }
	}},
	{"create looks first and writes later", "of many that create a name", func(b *broken) {
		var looked atomic.Int64
		var both sync.WaitGroup
		both.Add(2)
		b.create = func(ctx context.Context, name string, data []byte) error {
			there, err := b.Store.List(ctx, name)
			if err != nil || len(there) > 0 {
				return errors.Join(err, checkpoint.ErrExists)
			}
			if looked.Add(1) <= 2 {
				both.Done()
				both.Wait()
			}
			return put(ctx, b.Store, name, data)
		}
	}},
	{"a name is taken for ever", "a name can be created again", func(b *broken) {
		b.delete = func(ctx context.Context, name string) error { return put(ctx, b.Store, name, nil) }
	}},
	{"open of nothing is empty", "open of nothing", func(b *broken) {
		b.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			r, err := b.Store.Open(ctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				return io.NopCloser(strings.NewReader("")), nil
			}
			return r, err
		}
	}},
	{"one reader for all", "an object can be read twice", func(b *broken) {
		var shared io.ReadCloser
		b.open = func(ctx context.Context, name string) (r io.ReadCloser, err error) {
			if shared == nil {
				shared, err = b.Store.Open(ctx, name)
			}
			return shared, err
		}
	}},
	{"a list is the other way round", "list is by name", func(b *broken) {
		b.list = func(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
			infos, err := b.Store.List(ctx, prefix)
			slices.Reverse(infos)
			return infos, err
		}
	}},
	{"a prefix is a folder", "list has the objects that begin", func(b *broken) {
		b.list = func(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
			return b.Store.List(ctx, prefix[:strings.LastIndex(prefix, "/")+1])
		}
	}},
	{"a list has no sizes", "list says size and time", func(b *broken) {
		b.list = func(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
			infos, err := b.Store.List(ctx, prefix)
			for n := range infos {
				infos[n].Size = 0
			}
			return infos, err
		}
	}},
	{"what is being written is listed", "list does not show what is being written", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			if err := b.Store.Create(ctx, name, nil); err != nil && !errors.Is(err, checkpoint.ErrExists) {
				return err
			}
			return b.Store.Put(ctx, name, fill)
		}
	}},
	{"a list has one page", "a list may be long", func(b *broken) {
		b.list = func(ctx context.Context, prefix string) ([]checkpoint.Info, error) {
			infos, err := b.Store.List(ctx, prefix)
			return infos[:min(1000, len(infos))], err
		}
	}},
	{"a copy is another name", "a copy outlives the other", func(b *broken) {
		names := map[string]string{}
		b.copy = func(ctx context.Context, from, to string) error { names[to] = from; return nil }
		b.open = func(ctx context.Context, name string) (io.ReadCloser, error) {
			if of, copied := names[name]; copied {
				name = of
			}
			return b.Store.Open(ctx, name)
		}
	}},
	{"a copy of nothing is empty", "copy of nothing", func(b *broken) {
		b.copy = func(ctx context.Context, from, to string) error { return put(ctx, b.Store, to, nil) }
	}},
	{"a copy is empty", "a copy has the bytes of the other", func(b *broken) {
		b.copy = func(ctx context.Context, from, to string) error { return put(ctx, b.Store, to, nil) }
	}},
	{"delete removes all below a name", "delete removes an object, and only it", func(b *broken) {
		b.delete = func(ctx context.Context, name string) error {
			infos, err := b.Store.List(ctx, name)
			for _, i := range infos {
				err = errors.Join(err, b.Store.Delete(ctx, i.Name))
			}
			return err
		}
	}},
	{"delete of nothing fails", "delete of nothing is no error", func(b *broken) {
		b.delete = func(ctx context.Context, name string) error {
			if there, err := b.Store.List(ctx, name); err != nil || len(there) == 0 {
				return fs.ErrNotExist
			}
			return b.Store.Delete(ctx, name)
		}
	}},
	{"levels of names are lost", "names may have many levels", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			return b.Store.Put(ctx, strings.ReplaceAll(name, "/", "_"), fill)
		}
	}},
	{"names are cleaned", "names that are no paths are refused", func(b *broken) {
		b.put = func(ctx context.Context, name string, fill func(io.Writer) error) error {
			return b.Store.Put(ctx, strings.TrimPrefix(name, "/"), fill)
		}
	}},
	{"delete goes on without its ctx", "a ctx that has ended", func(b *broken) {
		b.delete = func(ctx context.Context, name string) error { return b.Store.Delete(context.WithoutCancel(ctx), name) }
	}},
}

func put(ctx context.Context, s checkpoint.Store, name string, data []byte) error {
	return s.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

const breaks = "STORETEST_BREAKS"

// TestABrokenStore is run by the test below, in a process of its own: there it must fail.
func TestABrokenStore(t *testing.T) {
	for _, fault := range faults {
		if os.Getenv(breaks) == fault.name {
			storetest.Run(t, func(t *testing.T) checkpoint.Store {
				b := &broken{Store: memory()}
				fault.is(b)
				return b
			})
		}
	}
}

func TestEachPromiseFailsOfAStoreThatBreaksIt(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			promise := strings.ReplaceAll(fault.fails, " ", "_")
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestABrokenStore$/"+promise, "-test.v")
			run.Env = append(os.Environ(), breaks+"="+fault.name)
			out, err := run.CombinedOutput()
			require.Error(t, err, "%s", out)
			require.Contains(t, string(out), "--- FAIL: TestABrokenStore/"+promise, "%s", out)
		})
	}
}

func TestAListMayBeMadeShorter(t *testing.T) {
	var stores []*storetest.Faulty
	storetest.Run(t, func(*testing.T) checkpoint.Store {
		stores = append(stores, storetest.NewFaulty(memory(), nil))
		return stores[len(stores)-1]
	}, storetest.Objects(5))
	puts := 0
	for _, f := range stores {
		for _, c := range f.Calls() {
			if c.Op == storetest.Put && strings.HasPrefix(c.Name, "data/0") {
				puts++
			}
		}
	}
	require.Equal(t, 5, puts)
}
