package asyncsink

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// faults is the fields that a configuration error complains of.
func faults(t *testing.T, err error) (fields []string) {
	t.Helper()
	var c *ConfigError
	require.ErrorAs(t, err, &c)
	for _, e := range c.Errs {
		var f *limits.Fault
		require.ErrorAs(t, e, &f)
		fields = append(fields, f.Field)
	}
	return fields
}

func TestAllFaultsOfAConfigurationAreToldAtOnce(t *testing.T) {
	c := Config{
		Name:  "orders",
		Index: 3, Writers: 2,
		Order: PerKey,
		Batch: limits.Batch{Entries: -1, Age: time.Microsecond},
		Held:  limits.Held{Bytes: 1},
		Retry: limits.Retry{Attempts: -4},
		Spill: Spill{Bytes: 1000, Sync: 9},
	}
	require.ElementsMatch(t, []string{"batch.entries", "batch.age", "held.bytes", "retry.attempts", "index", "spill.bytes", "spill.sync"}, withoutFollowers(faults(t, c.Validate())))
	var one *limits.Fault
	require.ErrorAs(t, c.Validate(), &one)
	require.ErrorContains(t, c.Validate(), "writer orders: configuration: ")

	c.Restore, c.DeadLetters = &Restore{}, &deadLetters{}
	_, err := New[int](t.Context(), nil, Traits[int]{}, c)
	require.ElementsMatch(t, []string{
		"batch.entries", "batch.age", "held.bytes", "retry.attempts", "index", "spill.bytes", "spill.sync",
		"submitter", "traits.size", "traits.key", "traits.codec", "traits.data", "spill.dir",
	}, withoutFollowers(faults(t, err)))
}

// withoutFollowers leaves out the faults of limits whose defaults come of a faulty one.
func withoutFollowers(fields []string) (own []string) {
	for _, f := range fields {
		if f != "in_flight.entries" && f != "in_flight.floor" {
			own = append(own, f)
		}
	}
	return own
}

func TestTheZeroConfigurationIsValid(t *testing.T) {
	require.NoError(t, Config{}.Validate())
}

func TestAnOrderThatCannotBeKeptIsRefused(t *testing.T) {
	submit := SubmitFunc[string](func(context.Context, *Batch[string]) error { return nil })
	traits := Traits[string]{Size: func(string) int { return 1 }, Key: keyOf, Relation: Pipelined}
	for _, order := range []Order{PerKey, Total} {
		_, err := New(t.Context(), submit, traits, Config{Order: order})
		require.Equal(t, []string{"order"}, faults(t, err))
	}
	for _, c := range []Config{{Order: 9}, {OnRejected: 9}} {
		require.Len(t, faults(t, c.Validate()), 1)
	}
	traits.Relation = 9
	_, err := New(t.Context(), submit, traits, Config{})
	require.Equal(t, []string{"traits.relation"}, faults(t, err))
}

func TestNothingIsOpenedWithAFaultyConfiguration(t *testing.T) {
	opened := errors.New("opened")
	s := &lifecycle{destination: &destination{}, open: func(context.Context, Env) error { return opened }}
	_, err := New(t.Context(), s, Traits[string]{}, Config{})
	require.NotErrorIs(t, err, opened)
	require.Equal(t, []string{"traits.size"}, faults(t, err))
}

func TestTheLimitsOfTheServiceLowerThoseOfTheConfiguration(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Max = limits.Batch{Entries: 2, EntryBytes: 3}
		r.open(Config{Batch: limits.Batch{Entries: 10}})
		r.write("a", "b")
		r.settle()
		require.Len(t, r.to.requests(), 1)
		_, err := r.TryWrite("four")
		var large *EntryTooLargeError
		require.ErrorAs(t, err, &large)
	})
}

func TestBackOffsAreRepeatableWithASeed(t *testing.T) {
	var runs [2][]time.Duration
	for i := range runs {
		locked(t, func(t *testing.T, r *rig) {
			start := time.Now()
			r.to.answers(fail(Outcome{Kind: Retry}))
			c := single()
			c.Seed = 42
			r.open(c)
			r.write("a")
			r.pass(time.Minute)
			for _, q := range r.to.requests() {
				runs[i] = append(runs[i], q.at.Sub(start))
			}
		})
	}
	require.Greater(t, len(runs[0]), 5)
	require.Equal(t, runs[0], runs[1])
}

func TestErrorsSayWhatToLookAt(t *testing.T) {
	for want, err := range map[string]error{
		"writer orders stopped: no such stream":                                   &StoppedError{"orders", errors.New("no such stream")},
		"submitter *kafka.sink panicked: nil map":                                 &SubmitPanicError{"*kafka.sink", "nil map", nil},
		"dead-letter output failed 5 times with 3 letters waiting: disk full":     &DeadLetterError{3, errors.New("disk full")},
		"writer orders: state: cut off":                                           &StateError{"orders", errors.New("cut off")},
		"entry given up (rejected) after 2 attempts and nothing may take it: bad": &GivenUpError{Class: "rejected", Attempts: 2, Err: errors.New("bad")},
		"writer orders: configuration: batch.entries: 0: must be 1 to 5":          &ConfigError{"orders", []error{&limits.Fault{Field: "batch.entries", Value: "0", Bound: "1 to 5"}}},
		"entry of 5 bytes is larger than the limit of 4":                          &EntryTooLargeError{Size: 5, Limit: 4},
	} {
		require.EqualError(t, err, want)
	}
}

func TestErrorsWrapTheirReasons(t *testing.T) {
	reason := errors.New("reason")
	for _, err := range []error{
		&StoppedError{"orders", reason}, &DeadLetterError{3, reason}, &StateError{"orders", reason},
		&GivenUpError{Err: reason}, &ConfigError{"orders", []error{errors.New("other"), reason}}, Outcome{Err: reason},
	} {
		require.ErrorIs(t, err, reason, "%T", err)
	}
}
