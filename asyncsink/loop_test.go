package asyncsink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/mailbox"
)

// looped proves a promise about a writer on a loop.
func looped(t *testing.T, prove func(t *testing.T, r *rig)) {
	t.Helper()
	bubble(t, new(mailbox.Loop), prove)
}

func TestAWriteThatWaitsRunsTheMailsOfTheLoop(t *testing.T) {
	looped(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Minute); return nil })
		c := single()
		c.Held.Entries, c.InFlight.Timeout = 1, time.Hour
		r.open(c)
		r.write("a")
		ticks := 0
		timers := mailbox.NewTimers(r.loop, nil)
		var tick func()
		tick = func() {
			ticks++
			_, _ = timers.After(time.Second, "tick", tick) // refused once the test is over
		}
		tick()
		r.write("b") // waits a minute
		require.GreaterOrEqual(t, ticks, 60)
		timers.Close()
		r.drain()
	})
}

func TestOnALoopAnswersWaitUntilTheOwnerLetsThemIn(t *testing.T) {
	looped(t, func(t *testing.T, r *rig) {
		r.open(single())
		r.write("a")
		synctest.Wait()
		require.Equal(t, []string{"a"}, r.to.got())
		require.EqualValues(t, 1, r.Stats().InFlight.Entries)
		require.Equal(t, []string{"request done"}, r.loop.Pending())
		require.NoError(t, r.loop.Yield(t.Context()))
		require.EqualValues(t, 1, r.Stats().Delivered.Entries)
	})
}

func TestTheOwnerMayWriteFromAMailWhileItsWriteWaits(t *testing.T) {
	looped(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Second); return nil })
		c := single()
		c.Held.Entries, c.InFlight.Requests = 1, 1
		r.open(c)
		r.write("a")
		nested := errors.New("did not run")
		require.NoError(t, r.loop.Execute("nested", func() { _, nested = r.Write(t.Context(), "nested") }))
		r.write("outer")
		require.NoError(t, nested)
		r.drain()
		require.Equal(t, []string{"a", "nested", "outer"}, r.to.got())
	})
}

func TestCloseFromAMailEndsAWriteThatWaits(t *testing.T) {
	looped(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 1
		r.open(c)
		r.write("a")
		require.NoError(t, r.loop.Execute("shutdown", func() {
			left, err := r.Close(r.within(time.Second))
			require.Error(t, err)
			left.Close()
		}))
		_, err := r.Write(t.Context(), "b")
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestWritersMayShareAnExecutor(t *testing.T) {
	for name, ex := range map[string]mailbox.Executor{"Loop": new(mailbox.Loop), "Locked": new(mailbox.Locked)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var all []*Writer[string]
				for range 3 {
					w, err := New(t.Context(), &destination{}, Traits[string]{Size: func(e string) int { return len(e) }}, Config{Executor: ex})
					require.NoError(t, err)
					all = append(all, w)
				}
				for _, e := range entries(30, 3) {
					for _, w := range all {
						_, err := w.Write(t.Context(), e)
						require.NoError(t, err)
					}
				}
				for i, w := range all { // the executor lives on
					_, err := w.Close(t.Context())
					require.NoError(t, err, i)
					require.EqualValues(t, 30, w.Stats().Delivered.Entries)
				}
				require.NoError(t, ex.Execute("later", func() {}))
				_, err := ex.TryYield()
				if name == "Loop" {
					require.NoError(t, err)
				}
			})
		})
	}
}

// Whoever closes an executor under a writer is told so, and nobody waits for ever.
func TestAnExecutorClosedUnderTheWriterStopsIt(t *testing.T) {
	t.Run("Loop", func(t *testing.T) {
		looped(t, func(t *testing.T, r *rig) {
			r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Second); return nil })
			c := single()
			c.Held.Entries = 1
			r.open(c)
			r.write("a")
			r.loop.Quiesce()
			_, err := r.Write(t.Context(), "b")
			require.ErrorIs(t, err, mailbox.ErrClosed)
			left, err := r.Close(t.Context())
			require.ErrorIs(t, err, mailbox.ErrClosed)
			require.Equal(t, []string{"a"}, names(t, left))
			left.Close()
			time.Sleep(time.Minute)
		})
	})
	for name, call := range map[string]func(r *rig) error{
		"Locked, write": func(r *rig) error { _, err := r.Write(r.t.Context(), "b"); return err },
		"Locked, flush": func(r *rig) error { _, err := r.Flush(r.t.Context()); return err },
		"Locked, close": func(r *rig) error { _, err := r.Close(r.t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ex := new(mailbox.Locked)
				r := &rig{t: t, to: &destination{}}
				r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Second); return nil })
				c := single()
				c.Held.Entries, c.Executor = 1, ex
				r.open(c)
				r.write("a")
				result := make(chan error, 1)
				go func() { result <- call(r) }()
				synctest.Wait()
				ex.Quiesce()
				start := time.Now()
				require.ErrorIs(t, <-result, mailbox.ErrClosed)
				require.LessOrEqual(t, time.Since(start), time.Minute)
			})
		})
	}
}

func TestAWakeUpThatCannotBePlannedStopsTheWriter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		ex := mailbox.Executor(r.loop)
		quiesce := func() { r.loop.Quiesce() }
		if r.loop == nil {
			locked := new(mailbox.Locked)
			ex, quiesce = locked, locked.Quiesce
		}
		w, err := New(t.Context(), r.to, Traits[string]{Size: func(string) int { return 1 }}, Config{Executor: ex})
		require.NoError(t, err)
		quiesce()
		_, err = w.Write(t.Context(), "a") // would wait for its batch's age, of which nobody would tell
		require.NoError(t, err)
		_, err = w.Write(t.Context(), "b")
		require.ErrorIs(t, err, mailbox.ErrClosed)
		left, err := w.Close(t.Context())
		require.ErrorIs(t, err, mailbox.ErrClosed)
		require.Equal(t, 1, left.Len())
		left.Close()
	})
}
