package asyncsink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

func TestEverythingWrittenIsDeliveredUnderItsSequence(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey, Total} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				c := Config{Order: order, Held: limits.Held{Entries: 300}, Batch: limits.Batch{Entries: 50}}
				if order == Total { // one entry a request
					c.Batch.Age = time.Millisecond
				}
				r.open(c)
				all := entries(1000, 7)
				for i, e := range all {
					seq, err := r.Write(t.Context(), e)
					require.NoError(t, err)
					require.Equal(t, Seq(i+1), seq)
				}
				r.drain()

				require.ElementsMatch(t, all, r.to.got())
				s := r.Stats()
				require.EqualValues(t, 1000, s.Accepted.Entries)
				require.Equal(t, s.Accepted, s.Delivered)
				require.Zero(t, s.Held())
				require.Zero(t, s.Retried)
			})
		})
	}
}

func TestTryWriteSaysFullAtACap(t *testing.T) {
	for name, cap := range map[string]limits.Held{
		"entries": {Entries: 3},
		"bytes":   {Bytes: 12},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				open := make(gate)
				r.to.answers(open.answer)
				c := single()
				c.Batch.EntryBytes, c.Held = 4, cap
				r.open(c)
				for range 3 {
					_, err := r.TryWrite("four")
					require.NoError(t, err)
				}
				_, err := r.TryWrite("four")
				require.ErrorIs(t, err, ErrFull)

				open <- struct{}{}
				synctest.Wait() // in a loop the answer waits now, and TryWrite lets it be booked
				seq, err := r.TryWrite("four")
				require.NoError(t, err)
				require.Equal(t, Seq(4), seq)
				close(open)
				r.drain()
			})
		})
	}
}

func TestAWriteThatWaitsHonoursItsContext(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 2
		r.open(c)
		r.write("a", "b")

		why := errors.New("no patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		start := time.Now()
		_, err := r.Write(ctx, "c")
		require.ErrorIs(t, err, why)
		require.Equal(t, time.Second, time.Since(start))

		r.pass(0)
		r.to.answers(nil)
		r.pass(time.Minute)
		s := r.Stats()
		require.EqualValues(t, 2, s.Accepted.Entries, "what Write returned an error for was not accepted")
		require.Equal(t, time.Second, s.Blocked)
		require.ElementsMatch(t, []string{"a", "b"}, r.to.got())
	})
}

func TestAWriteWaitsForRoomAndThenIsTaken(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Held.Entries = 1
		r.open(c)
		r.write("a")
		time.AfterFunc(3*time.Second, func() { close(open) })

		start := time.Now()
		require.Equal(t, Seq(2), r.write("b"))
		require.Equal(t, 3*time.Second, time.Since(start))
		r.drain()
		require.Equal(t, []string{"a", "b"}, r.to.got())
		require.Equal(t, 3*time.Second, r.Stats().Blocked)
	})
}

func TestAnEntryAboveTheLimitIsRefusedAndNotAccepted(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Batch: limits.Batch{EntryBytes: 3}})
		r.write("abc")
		for _, write := range []func(string) (Seq, error){
			r.TryWrite, func(e string) (Seq, error) { return r.Write(t.Context(), e) },
		} {
			_, err := write("abcd")
			var large *EntryTooLargeError
			require.ErrorAs(t, err, &large)
			require.Equal(t, EntryTooLargeError{Size: 4, Limit: 3}, *large)
		}
		r.drain()
		require.Equal(t, []string{"abc"}, r.to.got())
	})
}

func TestWriteAfterTheEndOfInputIsRefusedAndWhatIsHeldGoesAtOnce(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Batch: limits.Batch{Age: time.Hour}})
		r.write("a")
		require.NoError(t, r.EndOfInput())
		r.settle()
		require.Equal(t, []string{"a"}, r.to.got(), "without waiting for a full batch")

		_, err := r.Write(t.Context(), "b")
		require.ErrorIs(t, err, ErrClosed)
		_, err = r.TryWrite("b")
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, r.EndOfInput(), "twice is harmless")
	})
}

func TestAnEntryWaitsNoLongerThanTheAgeForItsBatch(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Batch: limits.Batch{Entries: 100, Age: 200 * time.Millisecond}})
		for i := range 3 { // also after it was idle
			start := time.Now()
			r.write("a")
			r.pass(150 * time.Millisecond)
			r.write("b")
			r.pass(10 * time.Second)

			sent := r.to.requests()
			require.Len(t, sent, i+1)
			require.Equal(t, []string{"a", "b"}, sent[i].entries)
			require.Equal(t, 200*time.Millisecond, sent[i].at.Sub(start))
		}
	})
}

func TestAPanicOfSizeIsTheCallersAndTheWriterGoesOn(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Size = func(e string) int {
			if e == "bad" {
				panic("size")
			}
			return len(e)
		}
		r.open(Config{})
		r.write("a")
		require.PanicsWithValue(t, "size", func() { _, _ = r.Write(t.Context(), "bad") })
		require.PanicsWithValue(t, "size", func() { _, _ = r.TryWrite("bad") })
		r.write("b")
		r.drain()
		require.Equal(t, []string{"a", "b"}, r.to.got())
	})
}

func TestAPanicOfKeyIsTheCallersAndTheWriterGoesOn(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Key = func(e string) string {
			if e == "bad" {
				panic("key")
			}
			return e
		}
		r.open(Config{Order: PerKey})
		r.write("a")
		require.PanicsWithValue(t, "key", func() { _, _ = r.Write(t.Context(), "bad") })
		r.write("b")
		r.drain()
		require.Equal(t, []string{"a", "b"}, r.to.got())
	})
}

func TestWriteLooksAtItsContextOnlyWhenItWaits(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 1
		r.open(c)
		_, err := r.Write(ended, "a")
		require.NoError(t, err)
		_, err = r.Write(ended, "b")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, r.Held())
	})
}
