package asyncsink

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipelined is a writer to a destination that stores requests in the order in
// which they are issued.
func (r *rig) pipelined(order Order, requests int) {
	r.traits.Relation, r.traits.OwnsRetries = Pipelined, order != Unordered
	c := single()
	c.Order, c.InFlight.Requests, c.InFlight.Timeout = order, 4, time.Minute
	r.open(c)
	r.write(entries(requests, 1)...)
}

// started is when each request was submitted, after the first.
func (r *rig) started() (after []time.Duration) {
	sent := r.to.requests()
	for i, q := range sent {
		if q.number != uint64(i+1) {
			r.t.Errorf("request %d was submitted in place %d", q.number, i+1)
		}
		after = append(after, q.at.Sub(sent[0].at))
	}
	return after
}

func TestAPipelinedRequestIsSubmittedOnceTheOneBeforeItIsIssued(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey, Total} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(func(_ context.Context, b *Batch[string]) error {
					time.Sleep(time.Second)
					b.Issued()
					b.Issued() // twice is harmless
					time.Sleep(10 * time.Second)
					return nil
				})
				r.pipelined(order, 4)
				r.drain()
				require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, r.started())
				require.Equal(t, entries(4, 1), r.to.got())
			})
		})
	}
}

func TestAPipelinedRequestIsSubmittedOnceTheOneBeforeItReturns(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error {
			time.Sleep(time.Second)
			return nil
		})
		r.pipelined(Total, 3)
		r.drain()
		require.Equal(t, []time.Duration{0, time.Second, 2 * time.Second}, r.started())
	})
}

func TestUnderAnOrderNothingIsIssuedBehindARequestThatFailedBeforeItWas(t *testing.T) {
	for name, o := range map[string]Outcome{
		"retry":     {Kind: Retry, Err: errors.New("not sent")},
		"fatal":     {Kind: Fatal, Err: errors.New("gone")},
		"ambiguous": {Kind: Ambiguous, Err: errors.New("cut")},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.to.answers(func(context.Context, *Batch[string]) error {
					time.Sleep(time.Second)
					return o
				})
				r.pipelined(PerKey, 4)
				r.pass(2 * time.Second)
				start := time.Now()
				left, err := r.Close(t.Context())
				require.Zero(t, time.Since(start), "those behind it do not wait for their time-outs")
				var stopped *StoppedError
				require.ErrorAs(t, err, &stopped)
				defer left.Close()
				require.Len(t, r.started(), 1)
				got := held(t, left)
				require.Len(t, got, 4)
				for _, h := range got[1:] {
					require.False(t, h.Unsure, "it was never issued")
				}
			})
		})
	}
}

func TestUnderAnOrderNothingIsIssuedBehindARequestThatPassedItsTimeOut(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(context.Context, *Batch[string]) error {
			time.Sleep(2 * time.Minute) // whatever its context says
			return nil
		})
		r.pipelined(PerKey, 4)
		r.pass(time.Second)
		r.pass(time.Minute)
		require.Len(t, r.started(), 1)
		left, err := r.Close(r.within(time.Second))
		require.ErrorIs(t, err, ErrUnanswered)
		require.Equal(t, entries(4, 1), names(t, left))
		left.Close()
		r.pass(time.Minute)
		require.Len(t, r.started(), 1)
	})
}

func TestUnderAnOrderARejectedEntryLetsThoseBehindItGo(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		dead := &deadLetters{}
		r.traits.Relation, r.traits.OwnsRetries = Pipelined, true
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.At(0) == "a" {
				b.Set(0, Outcome{Kind: Rejected, Err: errors.New("bad")})
			}
			return nil
		})
		c := single()
		c.Order, c.DeadLetters = Total, dead
		r.open(c)
		r.write("a", "b", "c")
		r.drain()
		require.Equal(t, []string{"b", "c"}, r.to.got())
		require.Equal(t, []string{"a"}, dead.got())
	})
}

func TestWithoutAnOrderAFailedRequestLetsThoseBehindItGo(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(func(_ context.Context, b *Batch[string]) error {
			if b.Number() == 1 {
				return errors.New("again")
			}
			return nil
		})
		r.pipelined(Unordered, 3)
		r.drain()
		require.ElementsMatch(t, entries(3, 1), r.to.got())
	})
}
