// Command minimal-sink stores each line of its standard input as a file in a folder: a complete sink of one's own.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spillway-go/spillway/asyncsink"
)

type folder string

// Submit stores a batch. A line goes again under the name that it had, so that a retry makes no duplicate.
func (dir folder) Submit(_ context.Context, b *asyncsink.Batch[string]) error {
	if _, err := os.Stat(string(dir)); err != nil {
		return asyncsink.Outcome{Kind: asyncsink.Fatal, Err: err} // one outcome for the whole request
	}
	for i, line := range b.All() {
		name := fmt.Sprintf("%x-%d", b.ID(i).Writer, b.ID(i).Seq)
		if err := os.WriteFile(filepath.Join(string(dir), name), []byte(line), 0o600); err != nil {
			b.Set(i, asyncsink.Outcome{Kind: asyncsink.Retry, Err: err}) // or one for each entry
		}
	}
	return nil
}

func main() {
	ctx, lines := context.Background(), bufio.NewScanner(os.Stdin)
	traits := asyncsink.Traits[string]{Size: func(s string) int { return len(s) }}
	w, err := asyncsink.New(ctx, folder(os.Args[1]), traits, asyncsink.Config{})
	for err == nil && lines.Scan() {
		_, err = w.Write(ctx, lines.Text())
	}
	if err == nil {
		_, err = w.Close(ctx)
	}
	if err := errors.Join(err, lines.Err()); err != nil {
		log.Fatal(err)
	}
}
