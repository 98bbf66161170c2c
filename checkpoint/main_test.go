package checkpoint

import (
	"fmt"
	"io"
	"os"
	"testing"
)

// TestMain lets the test binary be the other process: it opens the state folder that it is told, says so, and holds it
// until its input ends.
func TestMain(m *testing.M) {
	if root := os.Getenv("CHECKPOINT_TEST_HOLD"); root != "" {
		d, err := OpenDir(root, orders)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("epoch", d.Epoch())
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // no Close: the lock ends with the process
	}
	os.Exit(m.Run())
}
