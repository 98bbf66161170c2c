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

// earlier is the state of a life that ended with these entries held, none of them ever sent.
func (r *rig) earlier(entries ...string) []byte {
	r.t.Helper()
	_, state := r.life(Config{Batch: limits.Batch{Entries: 100_000, Age: time.Hour}, Held: limits.Held{Entries: 100_000}}, nil, entries...)
	return state
}

// life is a writer that writes entries to a destination and is then snapshotted and killed.
func (r *rig) life(c Config, answer func(context.Context, *Batch[string]) error, entries ...string) (id [16]byte, state []byte) {
	r.t.Helper()
	e := &rig{t: r.t, loop: r.loop, traits: r.traits, to: &destination{answer: answer}}
	e.open(c)
	e.write(entries...)
	e.settle()
	s := e.snap()
	state = encode(r.t, s)
	s.Close()
	e.end(e.Writer)
	return e.id, state
}

func TestWhatAnEarlierLifeLeftIsDeliveredBeforeNewEntries(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey, Total} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				old := entries(50, 5)
				c := single()
				c.Order = order
				_, state := r.life(c, hang, old...) // some are in flight, some are not
				c.Restore, c.Settlement = from(state), true
				c.InFlight.Requests = 1
				r.open(c)
				require.Equal(t, Seq(51), r.write("new"))
				r.drain()
				require.Equal(t, append(old, "new"), r.to.got())
				s := r.Stats()
				require.EqualValues(t, 50, s.Restored.Entries)
				require.EqualValues(t, 1, s.Accepted.Entries)
				require.EqualValues(t, 51, s.Delivered.Entries)
				require.Equal(t, []Range{{First: 1, Last: 51}}, r.AppendSettled(nil))
			})
		})
	}
}

func TestEntriesKeepTheirIdentityAgeAndAttemptsOverLives(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		failing := fail(Outcome{Kind: Retry, Err: errors.New("down"), After: time.Hour})
		start := time.Now()
		first, state := r.life(single(), failing, "a", "b")
		time.Sleep(time.Minute)
		c := single()
		c.Restore = from(state)
		second, state := r.life(c, failing, "c")
		require.NotEqual(t, first, second)
		time.Sleep(time.Minute)

		c.Restore, c.Retry.Attempts = from(state), 3
		r.to.answers(failing)
		dead := r.burying(c)
		r.pass(2 * time.Hour)
		want := map[string]ID{
			"a": {Writer: first, Seq: 1}, "b": {Writer: first, Seq: 2}, "c": {Writer: second, Seq: 3},
		}
		tried := map[string]int{"a": 3, "b": 3, "c": 2}
		for _, q := range r.to.requests()[:3] {
			e := q.entries[0]
			require.Equal(t, want[e], q.ids[0], e)
			require.Equal(t, tried[e], q.attempts[0], e)
		}
		born := map[string]time.Duration{"a": 0, "b": 0, "c": time.Minute}
		letters := dead.letters()
		require.Len(t, letters, 3)
		for _, l := range letters {
			e := string(l.Data)
			require.Equal(t, want[e], l.ID)
			require.Equal(t, born[e], l.FirstSeen.Sub(start), e)
		}
	})
}

func TestTheAgeLimitCountsFromTheFirstLife(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("old")
		time.Sleep(time.Hour)
		c := single()
		c.Retry.Age, c.Restore = time.Minute, from(state)
		dead := r.burying(c)
		r.pass(time.Second)
		require.Len(t, dead.letters(), 1)
		require.Equal(t, "age", dead.letters()[0].Class)
	})
}

func TestRestoredEntriesCountAsPossibleDuplicatesUnlessTheSnapshotIsExact(t *testing.T) {
	for name, c := range map[string]struct {
		exact bool
		want  int64
	}{"not exact": {false, 3}, "exact": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				_, state := r.life(single(), func(_ context.Context, b *Batch[string]) error {
					if b.At(0) == "unsure" {
						return Outcome{Kind: Ambiguous, After: time.Hour}
					}
					return Outcome{Kind: Retry, After: time.Hour}
				}, "a", "unsure", "b")
				c2 := single()
				c2.Restore = from(state)
				c2.Restore.Exact = c.exact
				r.open(c2)
				r.drain()
				require.Equal(t, c.want, r.Stats().PossibleDuplicates.Entries)
			})
		})
	}
}

func TestRestoredEntriesAreTakenBackAsThereIsRoom(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		old := entries(100, 100)
		state := r.earlier(old...)
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Restore, c.Held.Entries = from(state), 10
		r.open(c)
		for i := range 100 {
			s := r.Stats()
			require.LessOrEqual(t, s.Held().Entries, int64(10))
			if i < 90 {
				_, err := r.TryWrite("new")
				require.ErrorIs(t, err, ErrFull, "old entries go first")
			}
			left, err := r.Flush(r.within(time.Millisecond))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 100-i, left)
			open <- struct{}{}
			r.settle()
		}
		close(open)
		r.write("new")
		r.drain()
		require.ElementsMatch(t, append(old, "new"), r.to.got())
	})
}

func TestAWriteWaitsForWhatIsTakenBack(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(10, 10)...)
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(time.Second); return nil })
		c := single()
		c.Restore, c.Held.Entries = from(state), 2
		r.open(c)
		start := time.Now()
		require.Equal(t, Seq(11), r.write("new"))
		require.Equal(t, 5*time.Second, time.Since(start), "five pairs of old entries go before it")
		r.drain()
	})
}

func TestASmallNewEntryDoesNotOvertakeALargeOldOne(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("12345678", "87654321")
		open := make(gate)
		r.to.answers(open.answer)
		c := single()
		c.Restore, c.Batch.EntryBytes, c.Held.Bytes = from(state), 10, 10
		r.open(c)
		_, err := r.TryWrite("1") // there is room for it
		require.ErrorIs(t, err, ErrFull)
		close(open)
		r.write("1")
		r.drain()
		require.Equal(t, "12345678", r.to.got()[0])
	})
}

func TestEntriesAboveLoweredLimitsGoToTheDeadLetters(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("small", "far too large for anything", "mid-size entry", "tiny")
		c := single()
		c.Restore = from(state)
		c.Batch.EntryBytes, c.Held.Bytes = 10, 20
		dead := r.burying(c)
		r.drain()
		require.Equal(t, []string{"small", "tiny"}, r.to.got())
		require.ElementsMatch(t, []string{"far too large for anything", "mid-size entry"}, dead.got())
		for _, l := range dead.letters() {
			require.Equal(t, "too_large", l.Class)
			var large *EntryTooLargeError
			require.ErrorAs(t, l.Err, &large)
		}
	})
}

func TestASnapshotTakenWhileEntriesAreTakenBackHoldsTheRest(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		old := entries(40, 40)
		state := r.earlier(old...)
		delivered := 0
		c := single()
		c.Restore, c.Held.Entries, c.InFlight.Requests = from(state), 10, 1
		_, state = r.life(c, func(ctx context.Context, b *Batch[string]) error {
			if delivered++; delivered > 5 {
				return hang(ctx, b)
			}
			return nil
		})
		require.Equal(t, old[5:], sections(t, state)[0].entries)

		c.Restore = from(state)
		r.to.answers(hang)
		r.open(c)
		left, err := r.Close(r.within(time.Second))
		require.ErrorContains(t, err, "35 entries are left")
		require.Equal(t, old[5:], names(t, left))
		state = encode(t, left)
		left.Close()

		last := &rig{t: t, loop: r.loop, to: &destination{}}
		last.open(Config{Restore: from(state)})
		last.drain()
		require.Equal(t, old[5:], last.to.got())
	})
}

func TestUnwrittenDeadLettersAreTakenBackAsSuch(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		down := &deadLetters{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		c := single()
		c.DeadLetters = down
		_, state := r.life(c, rejectBad, "bad:1", "bad:2")
		c = single()
		c.Restore = from(state)

		dead := r.burying(c)
		r.drain()
		require.Equal(t, []string{"bad:1", "bad:2"}, dead.got())
		l := dead.letters()[0]
		require.Equal(t, "rejected", l.Class)
		require.EqualError(t, l.Err, errBad.Error())
		require.Equal(t, 1, l.Attempts)
		require.Empty(t, r.to.requests(), "they are not sent again")
	})
}

// What an entry died of may be gone: a limit that was lifted, a destination that
// was mended. Where it can't be buried, it is tried.
func TestWhatWasGivenUpIsTriedAgainWhereNothingTakesDeadLetters(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		down := &deadLetters{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		c := single()
		c.DeadLetters = down
		_, state := r.life(c, rejectBad, "bad:1", "bad:2")
		c = single()
		c.Restore = from(state)

		second := &rig{t: t, loop: r.loop, to: &destination{}}
		second.to.answers(rejectBad)
		second.open(c) // without an output
		_, err := second.Flush(t.Context())
		require.ErrorAs(t, err, new(*GivenUpError))
		left, _ := second.Close(t.Context())
		state = encode(t, left)
		left.Close()

		third := &rig{t: t, loop: r.loop, to: &destination{}}
		c.Restore = from(state)
		third.open(c)
		third.drain()
		require.ElementsMatch(t, []string{"bad:1", "bad:2"}, third.to.got())
	})
}

// A snapshot of entries that were given up in an earlier life and not looked at yet in this one.
func TestDeadLettersSurviveASnapshotTakenRightAfterTheRestore(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.InFlight.Requests = 1
		c.DeadLetters = &deadLetters{answer: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		_, state := r.life(c, func(ctx context.Context, b *Batch[string]) error {
			if b.At(0) == "slow" {
				return hang(ctx, b)
			}
			return rejectBad(ctx, b)
		}, "bad", "slow", "more")
		c.Restore, c.InFlight.Requests = from(state), 1
		c.Rate = limits.Rate{Requests: 1e-3}
		for range 3 { // lives that get nowhere
			_, state = r.life(c, hang)
			all := sections(t, state)
			require.Equal(t, []string{"bad", "slow", "more"}, all[0].entries)
			c.Restore = from(state)
		}
	})
}

func TestDivertedKeysStayDivertedInTheNextLife(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.Order, c.OnRejected, c.DeadLetters = PerKey, Divert, &deadLetters{}
		_, state := r.life(c, rejectBad, "bad:1", "good:1")
		c.Restore = from(state)
		dead := r.burying(c)
		r.write("bad:2", "good:2")
		r.drain()
		require.Equal(t, []string{"good:2"}, r.to.got())
		require.Len(t, dead.letters(), 1)
		require.Equal(t, "diverted", dead.letters()[0].Class)
		require.Equal(t, "bad:2", string(dead.letters()[0].Data))
	})
}

func TestAWriterTakesBackItsOwnSectionsOnly(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("a", "b") // of a writer named writer
		r.open(Config{Name: "another", Restore: from(state)})
		r.write("c")
		r.drain()
		require.Equal(t, []string{"c"}, r.to.got())
		require.Zero(t, r.Stats().Restored)
	})
}

func TestRestoredRequestsHaveTheirWholeTimeHoweverLongOpenTook(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("a")
		r.to.answers(func(context.Context, *Batch[string]) error { time.Sleep(20 * time.Second); return nil })
		s := &lifecycle{destination: r.to, open: func(context.Context, Env) error { time.Sleep(time.Minute); return nil }}
		c := single()
		c.Restore = from(state)
		r.openTo(s, c)
		r.drain()
		require.Len(t, r.to.requests(), 1)
		require.Zero(t, r.Stats().TimedOut)
	})
}

// A connector may find limits while the writer takes its state back.
func TestTuneMayComeWhileStateIsTakenBack(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(5000, 10)...)
		begin := make(chan struct{})
		s := &lifecycle{destination: r.to, open: func(_ context.Context, env Env) error {
			go func() {
				<-begin
				for range 100 {
					env.Tune(limits.Batch{Entries: 10})
				}
			}()
			close(begin)
			return nil
		}}
		r.openTo(s, Config{Restore: from(state)})
		synctest.Wait()
		r.drain()
		require.Len(t, r.to.got(), 5000)
	})
}
