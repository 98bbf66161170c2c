package checkpoint_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
)

func Example() {
	root, err := os.MkdirTemp("", "state")
	check(err)
	defer os.RemoveAll(root)

	for range 2 { // two lives
		dir, err := checkpoint.OpenDir(root, checkpoint.Job{Name: "orders"})
		check(err)
		last, err := dir.Latest()
		check(err)
		next := uint64(1)
		if last != nil {
			fmt.Println("restored", filepath.Base(last.Path), "of epoch", last.Header.Epoch)
			next = last.ID + 1
		}
		check(dir.Write(next, func(w io.Writer) error {
			enc, err := statecodec.NewEncoder(w, statecodec.Header{
				Job: dir.Job().Name, Instance: dir.Job().Instance, Checkpoint: next, Epoch: dir.Epoch(),
			})
			if err != nil {
				return err
			}
			return enc.Close() // a job that holds nothing
		}))
		check(dir.Close())
	}
	// Output:
	// restored chk-00000000000000000001 of epoch 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
