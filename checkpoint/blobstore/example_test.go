package blobstore_test

import (
	"context"
	"fmt"
	"io"

	_ "gocloud.dev/blob/memblob" // or gocloud.dev/blob/s3blob, gcsblob, azureblob

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
)

func Example() {
	ctx := context.Background()
	store, err := blobstore.Open(ctx, "mem://bucket/spillway")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	history, err := checkpoint.Open(ctx, store, checkpoint.Job{Name: "orders"}, checkpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer history.Close()
	c, err := history.Write(ctx, func(ctx context.Context, d *checkpoint.Draft) error {
		_, err := d.Put(ctx, checkpoint.RoleState, func(w io.Writer) error {
			_, err := io.WriteString(w, "a snapshot")
			return err
		})
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Path())
	// Output: mem://bucket/spillway/orders/0/chk-00000000000000000002
}

func ExampleOpen_fault() {
	_, err := blobstore.Open(context.Background(), "s3://user:password@bucket/spillway")
	fmt.Println(err)
	// Output: url: "s3://bucket/spillway": must be without user and password: give the credentials as the service's SDK takes them, such as in the environment
}
