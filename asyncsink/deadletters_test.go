package asyncsink

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// deadLetters is an output that a test scripts.
type deadLetters struct {
	mu     sync.Mutex
	answer func(ctx context.Context) error // nil: durable
	calls  []time.Time
	all    []DeadLetter
}

func (d *deadLetters) Write(ctx context.Context, letters []DeadLetter) error {
	d.mu.Lock()
	d.calls = append(d.calls, time.Now())
	answer := d.answer
	d.mu.Unlock()
	if answer != nil {
		if err := answer(ctx); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, letters...)
	return nil
}

func (d *deadLetters) answers(f func(ctx context.Context) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = f
}

func (d *deadLetters) letters() []DeadLetter {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

func (d *deadLetters) got() (entries []string) {
	for _, l := range d.letters() {
		entries = append(entries, string(l.Data))
	}
	return entries
}

func (d *deadLetters) times() []time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

var errBad = errors.New("bad entry")

// rejectBad refuses entries that begin with "bad".
func rejectBad(_ context.Context, b *Batch[string]) error {
	for i, e := range b.All() {
		if strings.HasPrefix(e, "bad") {
			b.Set(i, Outcome{Kind: Rejected, Err: errBad})
		}
	}
	return nil
}

// burying opens a writer with a dead-letter output, to a destination that refuses what is bad.
func (r *rig) burying(c Config) *deadLetters {
	dead := &deadLetters{}
	if r.to.answer == nil {
		r.to.answers(rejectBad)
	}
	c.DeadLetters = dead
	r.open(c)
	return dead
}

func TestADeadLetterSaysWhatWhenWhyAndHowOften(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.Settlement = true
		dead := r.burying(c)
		start := time.Now()
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			if b.At(0) != "good" && b.Attempt(0) == 1 {
				return Outcome{Kind: Retry, After: time.Second}
			}
			return rejectBad(ctx, b)
		})
		r.write("good", "bad:1")
		r.drain()
		letters := dead.letters()
		require.Len(t, letters, 1)
		l := letters[0]
		require.Equal(t, Seq(2), l.Seq)
		require.Equal(t, ID{Writer: r.id, Seq: 2}, l.ID)
		require.True(t, l.FirstSeen.Equal(start))
		require.True(t, l.Time.Equal(start.Add(time.Second)))
		require.Equal(t, "rejected", l.Class)
		require.ErrorIs(t, l.Err, errBad)
		require.Equal(t, 2, l.Attempts)
		require.Equal(t, "bad", l.Key)
		require.Equal(t, "bad:1", string(l.Data))

		s := r.Stats()
		require.Equal(t, Count{Entries: 1, Bytes: 5}, s.Dead)
		require.EqualValues(t, 1, s.Rejected)
		require.Equal(t, []Range{{First: 1, Last: 2}}, r.AppendSettled(nil))
	})
}

func TestDataOfTheTraitsIsWhatADeadLetterShows(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		made := 0
		r.traits.Data = func(e string) []byte { made++; return []byte("data of " + e) }
		dead := r.burying(single())
		dead.answers(func(context.Context) error {
			if len(dead.times()) < 3 {
				return errors.New("busy")
			}
			return nil
		})
		r.write("bad")
		r.drain()
		require.Equal(t, []string{"data of bad"}, dead.got())
		require.Equal(t, 1, made, "once for all tries")
	})
}

func TestAnEntryIsGivenUpAtItsLimits(t *testing.T) {
	for class, retry := range map[string]limits.Retry{
		"attempts": {Attempts: 3},
		"age":      {Age: time.Minute},
	} {
		t.Run(class, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				c := single()
				c.Retry = retry
				dead := r.burying(c)
				down := errors.New("down")
				r.to.answers(fail(Outcome{Kind: Retry, Err: down}))
				r.write("a")
				r.drain()
				letters := dead.letters()
				require.Len(t, letters, 1)
				require.Equal(t, class, letters[0].Class)
				require.Equal(t, len(r.to.requests()), letters[0].Attempts)
				if class == "attempts" {
					require.Equal(t, 3, letters[0].Attempts)
					require.ErrorIs(t, letters[0].Err, down)
				}
			})
		})
	}
}

func TestADeadLetterIsHeldUntilTheOutputHasIt(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.Settlement, c.Held.Entries = true, 2
		dead := r.burying(c)
		done := make(chan struct{})
		dead.answers(func(context.Context) error { <-done; return nil })
		r.write("bad:1", "bad:2")
		r.settle()
		s := r.Stats()
		require.EqualValues(t, 2, s.Unwritten.Entries)
		require.Zero(t, s.Dead)
		require.Empty(t, r.AppendSettled(nil))
		_, err := r.TryWrite("c")
		require.ErrorIs(t, err, ErrFull, "an output that hangs holds the writers back")
		_, err = r.Write(r.within(time.Minute), "c")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got := held(t, r.snap())
		require.Len(t, got, 2)
		require.Equal(t, "rejected", got[0].Class)
		require.ErrorIs(t, got[0].Err, errBad)

		close(done)
		r.settle()
		require.ElementsMatch(t, []string{"bad:1", "bad:2"}, dead.got())
		r.write("c")
		r.drain()
		require.EqualValues(t, 2, r.Stats().Dead.Entries)
	})
}

func TestTheDeadLetterOutputIsTriedFiveTimesWithBackOffs(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"errors": func(context.Context) error { return errors.New("disk full") },
		"panics": func(context.Context) error { panic("disk full") },
		"goexit": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				dead := r.burying(single())
				dead.answers(answer)
				r.write("bad", "good")
				r.pass(time.Minute)

				var gaps []time.Duration
				calls := dead.times()
				for i := 1; i < len(calls); i++ {
					gaps = append(gaps, calls[i].Sub(calls[i-1]))
				}
				ms := time.Millisecond
				require.Equal(t, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms}, gaps)
				_, err := r.Write(t.Context(), "later")
				var failed *DeadLetterError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, 1, failed.Letters)
				if name != "goexit" {
					require.ErrorContains(t, err, "disk full")
				}

				left, err := r.Close(t.Context())
				require.ErrorAs(t, err, &failed)
				require.Equal(t, []string{"bad"}, names(t, left), "never dropped")
				left.Close()
				require.Equal(t, []string{"good"}, r.to.got())
			})
		})
	}
}

func TestTheDeadLetterOutputRecovers(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		dead := r.burying(single())
		n := 0
		dead.answers(func(context.Context) error {
			if n++; n < 5 {
				return errors.New("busy")
			}
			return nil
		})
		r.write("bad:1")
		r.drain()
		require.Equal(t, []string{"bad:1"}, dead.got())
	})
}

func TestOneLotOfDeadLettersIsOutAtATime(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		dead := r.burying(single())
		out := make(chan struct{}, 1)
		dead.answers(func(context.Context) error {
			select {
			case out <- struct{}{}:
			default:
				return errors.New("two at a time")
			}
			time.Sleep(time.Second)
			<-out
			return nil
		})
		for range 5 {
			r.write("bad:1", "good", "bad:2")
			r.pass(300 * time.Millisecond)
		}
		r.drain()
		require.Len(t, dead.got(), 10)
		require.Less(t, len(dead.times()), 10, "what died meanwhile goes together")
	})
}

func TestWithoutAnOutputGivingUpStopsTheWriterAndKeepsTheEntry(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(rejectBad)
		r.open(single())
		r.write("bad")
		r.settle()
		_, err := r.Write(t.Context(), "later")
		var given *GivenUpError
		require.ErrorAs(t, err, &given)
		require.Equal(t, "rejected", given.Class)
		require.ErrorIs(t, err, errBad)
		left, err := r.Close(t.Context())
		require.ErrorAs(t, err, &given)
		defer left.Close()
		require.Equal(t, []string{"bad"}, names(t, left))
	})
}

// A panic of the traits' functions for a dead letter is the output's failure,
// not that of whoever happens to be in the writer.
func TestAPanicOfDataStopsTheWriterWithADeadLetterError(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Data = func(string) []byte { panic("data") }
		r.burying(single())
		require.NotPanics(t, func() {
			r.write("bad")
			r.pass(time.Minute)
			_, err := r.Write(t.Context(), "later")
			var failed *DeadLetterError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, "data")
		})
	})
}

// Its traits' functions may take their time: nobody waits for them meanwhile.
func TestDeadLettersAreMadeBesideTheWriter(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		r.traits.Data = func(e string) []byte { time.Sleep(time.Second); return []byte(e) }
		dead := r.burying(single())
		r.write("bad")
		start := time.Now()
		r.write("good")
		require.Zero(t, time.Since(start))
		r.drain()
		require.Equal(t, []string{"bad"}, dead.got())
	})
}

// An entry that no snapshot can be written of can still be a dead letter.
func TestAnEntryThatCannotBeEncodedIsALetterThatSaysSo(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Codec = &codec{fail: errors.New("no encoding")}
		dead := r.burying(single())
		r.write("bad")
		r.drain()
		letters := dead.letters()
		require.Len(t, letters, 1)
		require.Empty(t, letters[0].Data)
		require.ErrorContains(t, letters[0].Err, "no encoding")
		require.ErrorIs(t, letters[0].Err, errBad)
	})
}

func TestWriteLettersEndsWithItsContext(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		why := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(150*time.Millisecond, func() { cancel(why) })
		calls := 0
		start := time.Now()
		err := WriteLetters(ctx, slog.New(slog.DiscardHandler), 3, func(context.Context) error {
			calls++
			return errors.New("disk full")
		})
		require.Equal(t, why, err)
		require.Equal(t, 150*time.Millisecond, time.Since(start))
		require.Equal(t, 2, calls, "not again with a context that has ended")
	})
}

func TestWriteLettersGivesUpAfterFiveTries(t *testing.T) {
	locked(t, func(t *testing.T, r *rig) {
		full := errors.New("disk full")
		calls := 0
		err := WriteLetters(t.Context(), slog.New(slog.DiscardHandler), 3, func(context.Context) error {
			calls++
			return full
		})
		var failed *DeadLetterError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, DeadLetterError{3, full}, *failed)
		require.Equal(t, 5, calls)
	})
}
