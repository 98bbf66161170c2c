package asyncsink_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

// board is a service that puts up lines, many in a request.
type board struct {
	busy  int // that many requests are turned away
	lines []string
}

var errBusy = errors.New("busy")

// put answers with the indices of the lines that it did not take, and why.
func (s *board) put(_ context.Context, lines []string) (refused map[int]error, err error) {
	if s.busy > 0 {
		s.busy--
		return nil, errBusy
	}
	refused = map[int]error{}
	for i, line := range lines {
		if strings.Contains(line, "\n") {
			refused[i] = errors.New("more than one line")
			continue
		}
		s.lines = append(s.lines, line)
	}
	return refused, nil
}

// boardSink is the whole connector: one request, and what became of it.
type boardSink struct{ board *board }

func (s *boardSink) Submit(ctx context.Context, b *asyncsink.Batch[string]) error {
	request := make([]string, 0, b.Len())
	for _, line := range b.All() {
		request = append(request, line)
	}
	refused, err := s.board.put(ctx, request)
	switch {
	case errors.Is(err, errBusy):
		return asyncsink.Outcome{Kind: asyncsink.Throttled, Err: err}
	case err != nil:
		return err // all of it goes again
	}
	for i, err := range refused {
		b.Set(i, asyncsink.Outcome{Kind: asyncsink.Rejected, Err: err})
	}
	return nil // the others are delivered
}

// printed is a dead-letter output.
type printed struct{}

func (printed) Write(_ context.Context, letters []asyncsink.DeadLetter) error {
	for _, l := range letters {
		fmt.Printf("dead: %q after %d attempts: %v\n", l.Data, l.Attempts, l.Err)
	}
	return nil
}

// A sink of one's own, and what the writer does around it: the request that is
// turned away goes again, the line that is refused goes to the dead letters.
func Example() {
	ctx := context.Background()
	service := &board{busy: 1}
	w, err := asyncsink.New(ctx, &boardSink{service}, asyncsink.Traits[string]{
		Size: func(line string) int { return len(line) + 1 },
		Max:  limits.Batch{Entries: 100, Bytes: limits.MiB},
	}, asyncsink.Config{Name: "board", DeadLetters: printed{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"one", "two\nthree", "four"} {
		if _, err := w.Write(ctx, line); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := w.Close(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("up:", service.lines)
	s := w.Stats()
	fmt.Println("accepted", s.Accepted.Entries, "delivered", s.Delivered.Entries, "dead", s.Dead.Entries)
	// Output:
	// dead: "two\nthree" after 2 attempts: more than one line
	// up: [one four]
	// accepted 3 delivered 2 dead 1
}
