package checkpoint_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spillway-go/spillway/checkpoint"
)

// Two lives of a job. The second begins with what the first left, and writes only what is new.
func Example() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "state")
	check(err)
	defer os.RemoveAll(root)
	store, err := checkpoint.OpenLocal(root)
	check(err)

	for range 2 {
		h, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
		check(err)
		last, err := h.Newest(ctx)
		check(err)
		if last != nil {
			fmt.Println("restored checkpoint", last.ID, "of epoch", last.Epoch)
			check(h.RestoredFrom(last, checkpoint.Continue))
		}
		c, err := h.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) error {
			if last != nil {
				if err := d.Share(last.State()); err != nil {
					return err
				}
			}
			_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, "what is new in checkpoint", d.ID())
				return err
			})
			return err
		})
		check(err)
		for _, f := range c.Files {
			fmt.Println(c.ID, f.Role, f.Name, f.Size)
		}
		check(h.Close())
	}
	// Output:
	// 2 state data/1-1 28
	// restored checkpoint 2 of epoch 1
	// 4 log data/1-1 28
	// 4 state data/2-1 28
}

// A job that has failed for good hands its state over to another, which deletes it once it has a checkpoint of its own.
func ExampleHistory_RestoredFrom() {
	ctx := context.Background()
	root, err := os.MkdirTemp("", "state")
	check(err)
	defer os.RemoveAll(root)
	store, err := checkpoint.OpenLocal(root)
	check(err)
	old, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "failed"}, checkpoint.Options{})
	check(err)
	_, err = old.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) error {
		_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error { return nil })
		return err
	})
	check(err)
	check(old.Close())

	h, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
	check(err)
	defer h.Close()
	from, err := checkpoint.At(ctx, store, "failed/0/chk-00000000000000000002")
	check(err)
	check(h.RestoredFrom(from, checkpoint.Claim))
	_, err = h.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) error {
		if _, err := d.CopyFrom(ctx, from, from.State()); err != nil { // within a store no bytes are moved
			return err
		}
		_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error { return nil })
		return err
	})
	check(err)
	for _, name := range []string{"failed", "orders"} {
		list, err := checkpoint.List(ctx, store, checkpoint.Job{Name: name})
		check(err)
		fmt.Println(name, len(list))
	}
	// Output:
	// failed 0
	// orders 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
