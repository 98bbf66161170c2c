package storetest_test

import (
	"context"
	"fmt"

	"github.com/spillway-go/spillway/checkpoint/storetest"
)

// The second object is created, and the answer is lost.
func ExampleFaulty() {
	ctx := context.Background()
	store := storetest.NewFaulty(memory(), storetest.AtOp(storetest.Create, 2, storetest.FailAfter))
	fmt.Println(store.Create(ctx, "chk-1", []byte("one")))
	fmt.Println(store.Create(ctx, "chk-2", []byte("two")))
	infos, err := store.List(ctx, "")
	fmt.Println(len(infos), err)
	// Output:
	// <nil>
	// the store failed as it was told to
	// 2 <nil>
}
