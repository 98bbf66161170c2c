// Command minimal-sink stores each line of its standard input as a file in the current folder: a complete sink.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/spillway-go/spillway/asyncsink"
)

// store has its lines stored under names that stay the same, so that a retry makes no duplicate.
func store(_ context.Context, b *asyncsink.Batch[string]) error {
	for i, line := range b.All() {
		name := fmt.Sprintf("%x-%d", b.ID(i).Writer, b.ID(i).Seq)
		if err := os.WriteFile(name, []byte(line), 0o600); err != nil {
			b.Set(i, asyncsink.Outcome{Kind: asyncsink.Retry, Err: err}) // this line goes again, the others do not
		}
	}
	return nil
}

func main() {
	ctx, lines := context.Background(), bufio.NewScanner(os.Stdin)
	traits := asyncsink.Traits[string]{Size: func(line string) int { return len(line) }}
	w, err := asyncsink.New(ctx, asyncsink.SubmitFunc[string](store), traits, asyncsink.Config{})
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
