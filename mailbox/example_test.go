package mailbox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spillway-go/spillway/mailbox"
)

// One goroutine owns the loop and the state; others hand in mails, which run where the owner yields.
func ExampleLoop() {
	var loop mailbox.Loop
	room := 0 // touched by the owner and by mails: no lock

	go func() { // the destination answers
		_ = loop.Execute("request done", func() { room++ })
	}()

	ctx := context.Background()
	for room == 0 { // the owner waits for room
		if err := loop.Yield(ctx); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("room:", room)

	left, err := loop.Close(ctx)
	fmt.Println("left:", left.Mails, err)
	fmt.Println(loop.Execute("too late", func() {}))
	// Output:
	// room: 1
	// left: [] <nil>
	// mailbox: mail "too late" will never run: closed
}

// Any goroutine writes; a writer that finds no room lets go of the lock until a mail has made some.
func ExampleLocked() {
	var ex mailbox.Locked
	room := 1

	write := func(ctx context.Context, entry string) error {
		if err := ex.Enter("write"); err != nil {
			return err
		}
		defer ex.Leave()
		for room == 0 {
			if err := ex.Yield(ctx); err != nil {
				return err
			}
		}
		room--
		fmt.Println("wrote", entry)
		return nil
	}

	ctx := context.Background()
	_ = write(ctx, "a")
	go func() { _ = ex.Execute("request done", func() { room++ }) }()
	_ = write(ctx, "b")
	// Output:
	// wrote a
	// wrote b
}

// From inside, a result is awaited by yielding, since otherwise the mail could never run.
func ExampleSubmit() {
	var loop mailbox.Loop
	buffered := 3

	count := mailbox.Submit(&loop, "count", func() (int, error) { return buffered, nil })
	n, err := count.Yield(context.Background())
	fmt.Println(n, err)
	// Output: 3 <nil>
}

// From outside, a result is only waited for.
func ExampleFuture_Wait() {
	var loop mailbox.Loop
	go func() { _ = loop.Run(context.Background()) }() // the owner
	defer loop.Quiesce()

	greeting := mailbox.Submit(&loop, "greet", func() (string, error) { return "hello", nil })
	fmt.Println(greeting.Wait(context.Background()))
	// Output: hello <nil>
}

// A test moves the clock by hand, and the timers that come due run before Advance returns.
func ExampleTimers() {
	clock := mailbox.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	var ex mailbox.Locked
	timers := mailbox.NewTimers(&ex, clock)

	_, _ = timers.After(time.Second, "flush", func() { fmt.Println("flush at", clock.Now().Format(time.TimeOnly)) })
	retry, _ := timers.After(2*time.Second, "retry", func() { fmt.Println("retry") })
	_, _ = timers.After(time.Hour, "report", func() { fmt.Println("report") })

	clock.Advance(1500 * time.Millisecond)
	fmt.Println("never runs:", retry.Cancel())
	clock.Advance(time.Minute)

	left, _ := ex.Close(context.Background())
	fmt.Println("stopped:", left.Timers)
	// Output:
	// flush at 12:00:01
	// never runs: true
	// stopped: [report]
}

// A client library wants a func(func()) to run its callbacks.
func ExampleBind() {
	var ex mailbox.Locked
	var onAnswer func(func()) = mailbox.Bind(&ex, "answer", func(err error) { fmt.Println(err) })

	onAnswer(func() { fmt.Println("running:", ex.Running()) })
	ex.Quiesce()
	onAnswer(func() { fmt.Println("not printed") })
	// Output:
	// running: answer
	// mailbox: mail "answer" will never run: closed
}

// A panic does not take the loop down, and does not vanish.
func ExamplePanicError() {
	var loop mailbox.Loop
	_ = loop.Execute("request done", func() { panic("no such entry") })
	fmt.Println(loop.Yield(context.Background()))
	// Output: mailbox: mail "request done" panicked: no such entry
}
