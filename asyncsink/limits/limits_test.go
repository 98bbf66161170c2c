package limits

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultsAreThoseOfTheComments(t *testing.T) {
	s := Set{}.WithDefaults()
	require.NoError(t, s.Validate())
	require.Equal(t, Set{
		Batch: Batch{Entries: 500, Bytes: 4 * MiB, Age: 100 * time.Millisecond, EntryBytes: MiB},
		Held:  Held{Entries: 10_000, Bytes: 64 * MiB},
		InFlight: InFlight{
			Requests: 16, Entries: 8000, Bytes: 64 * MiB, Timeout: 30 * time.Second, Controller: AIMD, Floor: 500,
		},
		Retry: Retry{Base: 50 * time.Millisecond, Cap: 10 * time.Second},
	}, s)
	require.Equal(t, s, s.WithDefaults(), "a second time changes nothing")
}

func TestDefaultsFollowWhatIsSet(t *testing.T) {
	for name, c := range map[string]struct {
		set  Set
		want func(*Set) []any // pairs: want, got
	}{
		"an entry is at most a batch": {Set{Batch: Batch{Bytes: KiB}}, func(s *Set) []any {
			return []any{KiB, s.Batch.EntryBytes}
		}},
		"the window is what all requests carry": {Set{Batch: Batch{Entries: 10, Bytes: KiB}, InFlight: InFlight{Requests: 3}}, func(s *Set) []any {
			return []any{Entries(30), s.InFlight.Entries, 3 * KiB, s.InFlight.Bytes, Entries(10), s.InFlight.Floor}
		}},
		"the floor is at most the window": {Set{InFlight: InFlight{Entries: 7}}, func(s *Set) []any {
			return []any{Entries(7), s.InFlight.Floor}
		}},
		"a burst is a second of its rate": {Set{Rate: Rate{Records: 250, Bytes: 1e6, Requests: 0.2}}, func(s *Set) []any {
			return []any{Entries(250), s.Rate.RecordBurst, Bytes(1e6), s.Rate.ByteBurst, Requests(1), s.Rate.RequestBurst}
		}},
		"a back-off's cap is at least its base": {Set{Retry: Retry{Base: time.Minute}}, func(s *Set) []any {
			return []any{time.Minute, s.Retry.Cap}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.set.WithDefaults()
			require.NoError(t, s.Validate())
			for pairs := c.want(&s); len(pairs) > 0; pairs = pairs[2:] {
				require.Equal(t, pairs[0], pairs[1])
			}
		})
	}
}

// 100,000 requests of 1,000,000 entries are beyond 2^31, of 1 GiB beyond 2^46.
func TestTheLargestBatchTimesTheMostRequestsDoesNotOverflow(t *testing.T) {
	s := Set{Batch: Batch{Entries: 1_000_000, Bytes: GiB}, InFlight: InFlight{Requests: 100_000}}.WithDefaults()
	require.NoError(t, s.Validate())
	require.EqualValues(t, int64(100_000_000_000), s.InFlight.Entries)
	require.Equal(t, 100_000*GiB, s.InFlight.Bytes)

	require.Equal(t, Entries(math.MaxInt), times(Entries(math.MaxInt/2), 3))
	require.Equal(t, Bytes(math.MaxInt), times(Bytes(math.MaxInt64), Bytes(math.MaxInt64)))
	require.Equal(t, Entries(0), times(Entries(0), Entries(math.MaxInt)))
}

func TestABurstDoesNotOverflow(t *testing.T) {
	s := Set{Rate: Rate{Records: 1e12, Bytes: 1e15, Requests: 1e12}}.WithDefaults()
	require.NoError(t, s.Validate())
	require.Equal(t, Entries(1<<30), s.Rate.RecordBurst)
	require.Equal(t, Bytes(1<<40), s.Rate.ByteBurst)
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	bad := Set{
		Batch:    Batch{Entries: -1, Bytes: 2 * GiB, Age: time.Microsecond, EntryBytes: -5},
		Held:     Held{Entries: 200_000_000, Bytes: -1},
		InFlight: InFlight{Requests: 100_001, Entries: -1, Bytes: 1, Timeout: 2 * time.Hour, Controller: "vegas", Floor: -3},
		Rate: Rate{
			Records: -1, Bytes: -1, Requests: RequestsPerSecond(math.Inf(1)), RecordBurst: -1, ByteBurst: -1, RequestBurst: -1,
		},
		Retry: Retry{Base: -1, Cap: 25 * time.Hour, Attempts: 60_001, Age: -1},
	}
	err := bad.Validate()
	require.Error(t, err)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	fields := map[string]bool{}
	for _, e := range joined.Unwrap() {
		var f *Fault
		require.ErrorAs(t, e, &f)
		require.NotEmpty(t, f.Value, f.Field)
		require.NotEmpty(t, f.Bound, f.Field)
		require.False(t, fields[f.Field], "%s twice", f.Field)
		fields[f.Field] = true
	}
	require.Len(t, fields, 22, "every field is out of its bounds")
	require.Len(t, strings.Split(err.Error(), "\n"), 22, "a line each")
}

func TestValidateKnowsTheBoundsOfEachField(t *testing.T) {
	for _, c := range []struct {
		field string
		set   func(*Set)
		want  string
	}{
		{"batch.entries", func(s *Set) { s.Batch.Entries = 1_000_001 }, "batch.entries: 1000001: must be 1 to 1000000"},
		{"batch.bytes", func(s *Set) { s.Batch.Bytes, s.InFlight.Bytes = GiB+1, 2*GiB }, "batch.bytes: 1073741825B: must be 1B to 1GiB"},
		{"batch.age", func(s *Set) { s.Batch.Age = 2 * time.Hour }, "batch.age: 2h0m0s: must be 1ms to 1h0m0s"},
		{"batch.entry_bytes", func(s *Set) { s.Batch.EntryBytes = 5 * MiB }, "batch.entry_bytes: 5MiB: must be 1B to 4MiB"},
		{"held.bytes", func(s *Set) { s.Held.Bytes = KiB }, "held.bytes: 1KiB: must be 1MiB to 1024GiB"},
		{"in_flight.entries", func(s *Set) { s.InFlight.Entries = 499 }, "in_flight.entries: 499: must be 500 to " + fmt.Sprint(math.MaxInt)},
		{"in_flight.bytes", func(s *Set) { s.InFlight.Bytes = MiB }, "in_flight.bytes: 1MiB: must be 4MiB to 4294967296GiB"},
		{"in_flight.controller", func(s *Set) { s.InFlight.Controller = "fast" }, "in_flight.controller: fast: must be aimd or static"},
		{"rate.records", func(s *Set) { s.Rate.Records = RecordsPerSecond(math.NaN()) }, "rate.records: NaN: must be 0 to 1e+12"},
		{"retry.cap", func(s *Set) { s.Retry.Cap = time.Millisecond }, "retry.cap: 1ms: must be 50ms to 24h0m0s"},
		{"retry.attempts", func(s *Set) { s.Retry.Attempts = -1 }, "retry.attempts: -1: must be 0 to 60000"},
	} {
		t.Run(c.field, func(t *testing.T) {
			s := Set{}.WithDefaults()
			c.set(&s)
			require.EqualError(t, s.Validate(), c.want)
		})
	}
}

func TestValidateAcceptsTheBoundsThemselves(t *testing.T) {
	least := Set{
		Batch:    Batch{Entries: 1, Bytes: 1, Age: time.Millisecond, EntryBytes: 1},
		Held:     Held{Entries: 1, Bytes: 1},
		InFlight: InFlight{Requests: 1, Entries: 1, Bytes: 1, Timeout: time.Millisecond, Controller: Static, Floor: 1},
		Retry:    Retry{Base: time.Millisecond, Cap: time.Millisecond},
	}
	most := Set{
		Batch:    Batch{Entries: 1_000_000, Bytes: GiB, Age: time.Hour, EntryBytes: 32 * MiB},
		Held:     Held{Entries: 100_000_000, Bytes: 1024 * GiB},
		InFlight: InFlight{Requests: 100_000, Entries: math.MaxInt, Bytes: 1 << 62, Timeout: time.Hour, Controller: AIMD, Floor: 1_000_000},
		Rate:     Rate{Records: 1e12, Bytes: 1e15, Requests: 1e12, RecordBurst: 1 << 30, ByteBurst: 1 << 40, RequestBurst: 1 << 30},
		Retry:    Retry{Base: time.Hour, Cap: 24 * time.Hour, Attempts: 60_000, Age: 10 * 365 * 24 * time.Hour},
	}
	require.NoError(t, least.Validate())
	require.NoError(t, most.Validate())
}

func TestMinLowersToWhatAServiceAllows(t *testing.T) {
	service := Batch{Entries: 500, Bytes: 10 * MiB}
	for name, c := range map[string]struct{ ask, want Batch }{
		"more than allowed": {Batch{Entries: 1000, Bytes: 20 * MiB, EntryBytes: MiB}, Batch{Entries: 500, Bytes: 10 * MiB, EntryBytes: MiB}},
		"less than allowed": {Batch{Entries: 10, Bytes: KiB}, Batch{Entries: 10, Bytes: KiB}},
		"nothing asked":     {Batch{Age: time.Second}, Batch{Entries: 500, Bytes: 10 * MiB, Age: time.Second}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.ask.Min(service)) })
	}
}

func TestAFaultIsFoundInAChain(t *testing.T) {
	err := Set{}.Validate()
	var f *Fault
	require.True(t, errors.As(err, &f))
	require.Equal(t, "batch.entries", f.Field)
}

func TestAnEntryIsLoweredToWhatARequestMayWeigh(t *testing.T) {
	b := Batch{Bytes: 4 * MiB, EntryBytes: MiB}.Min(Batch{Bytes: 512 * KiB})
	require.Equal(t, Batch{Bytes: 512 * KiB, EntryBytes: 512 * KiB}, b)
}

func TestARateOfBytesIsWrittenAsASizeOrANumber(t *testing.T) {
	for text, want := range map[string]BytesPerSecond{"5MiB": 5 << 20, "1000": 1000, "0.5": 0.5} {
		var b BytesPerSecond
		require.NoError(t, b.UnmarshalText([]byte(text)))
		require.Equal(t, want, b)
	}
	var b BytesPerSecond
	require.Error(t, b.UnmarshalText([]byte("fast")))
}
