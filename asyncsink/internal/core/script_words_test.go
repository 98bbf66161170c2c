package core

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// word is a script's entry.
type word struct {
	name, key string
	size      int
}

func parseWord(t *testing.T, text string) word {
	name, size, sized := strings.Cut(text, "@")
	w := word{size: 1}
	if w.name, w.key, _ = strings.Cut(name, ":"); sized {
		var err error
		w.size, err = strconv.Atoi(size)
		require.NoError(t, err, text)
	}
	return w
}

func names(words []word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.name
	}
	return strings.Join(all, " ")
}

func parseKind(t *testing.T, name string) (Kind, error) {
	for k, n := range kindNames {
		if n == strings.ReplaceAll(name, "_", " ") {
			return Kind(k), errors.New(n)
		}
	}
	t.Fatalf("no outcome %q", name)
	return 0, nil
}

// describe is one line of a snapshot.
func describe(h Held[word]) string {
	line := fmt.Sprintf("%s %d.%d", h.Entry.name, h.ID.Writer[0], h.ID.Seq)
	if h.Attempts > 0 {
		line += fmt.Sprintf(", attempts %d", h.Attempts)
	}
	if h.Unsure {
		line += ", unsure"
	}
	if h.Death != nil {
		line += ", given up: " + h.Death.Class
	}
	return line
}

// atTheBound is a source for jitter that always draws the largest back-off.
type atTheBound struct{}

func (atTheBound) Uint64() uint64 { return math.MaxUint64 }

// configure sets what the arguments name, then every default.
func configure(t *testing.T, c *Config[word], args []datadriven.CmdArg) {
	c.Size = func(w word) int { return w.size }
	c.Hash = func(w word) uint64 {
		h := fnv.New64a()
		h.Write([]byte(w.key))
		return h.Sum64()
	}
	c.Rand = rand.New(atTheBound{})
	c.Settlement = true
	for _, a := range args {
		value := ""
		if len(a.Vals) > 0 {
			value = a.Vals[0]
		}
		require.NoError(t, set(c, a.Key, value), a.String())
	}
	c.Limits = c.Limits.WithDefaults()
	require.NoError(t, c.Limits.Validate())
}

func set(c *Config[word], name, value string) (err error) {
	l := &c.Limits
	switch name {
	case "order":
		return c.Order.UnmarshalText([]byte(value))
	case "relation":
		c.Relation, err = oneOf[Relation](value, "independent", "prefix", "pipelined")
	case "on_rejected":
		return c.OnRejected.UnmarshalText([]byte(value))
	case "stop_ambiguous":
		c.StopAmbiguous = true
	case "dead_letters":
		c.DeadLetters = true
	case "owns_retries":
		c.OwnsRetries = true
	case "batch.entries":
		return number(&l.Batch.Entries, value)
	case "batch.bytes":
		return number(&l.Batch.Bytes, value)
	case "batch.entry_bytes":
		return number(&l.Batch.EntryBytes, value)
	case "batch.age":
		l.Batch.Age, err = time.ParseDuration(value)
	case "held.entries":
		return number(&l.Held.Entries, value)
	case "held.bytes":
		return number(&l.Held.Bytes, value)
	case "in_flight.requests":
		return number(&l.InFlight.Requests, value)
	case "in_flight.entries":
		return number(&l.InFlight.Entries, value)
	case "in_flight.bytes":
		return number(&l.InFlight.Bytes, value)
	case "in_flight.floor":
		return number(&l.InFlight.Floor, value)
	case "in_flight.timeout":
		l.InFlight.Timeout, err = time.ParseDuration(value)
	case "in_flight.controller":
		l.InFlight.Controller = limits.Controller(value)
	case "rate.records":
		return number(&l.Rate.Records, value)
	case "rate.bytes":
		return number(&l.Rate.Bytes, value)
	case "rate.requests":
		return number(&l.Rate.Requests, value)
	case "rate.record_burst":
		return number(&l.Rate.RecordBurst, value)
	case "rate.byte_burst":
		return number(&l.Rate.ByteBurst, value)
	case "rate.request_burst":
		return number(&l.Rate.RequestBurst, value)
	case "retry.base":
		l.Retry.Base, err = time.ParseDuration(value)
	case "retry.cap":
		l.Retry.Cap, err = time.ParseDuration(value)
	case "retry.attempts":
		return number(&l.Retry.Attempts, value)
	case "retry.age":
		l.Retry.Age, err = time.ParseDuration(value)
	default:
		return errors.New("no such setting")
	}
	return err
}

func number[T ~int | ~int64 | ~float64](v *T, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	*v = T(f)
	return err
}

func oneOf[T ~uint8](value string, names ...string) (T, error) {
	for i, n := range names {
		if n == value {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not one of %v", value, names)
}

// doState says where the entries are and what was counted, without the zeros.
func (s *script) doState([]datadriven.CmdArg) {
	l, k := s.core.Ledger, s.core.Counters
	counts := func(title string, what ...any) {
		var parts []string
		for i := 0; i < len(what); i += 2 {
			if n := fmt.Sprint(what[i+1]); n != "0" {
				parts = append(parts, fmt.Sprintf("%s %s", what[i], n))
			}
		}
		if len(parts) > 0 {
			s.say("%s: %s", title, strings.Join(parts, ", "))
		}
	}
	counts("ledger", "accepted", l.Accepted.Entries, "restored", l.Restored.Entries, "delivered", l.Delivered.Entries,
		"dead", l.Dead.Entries, "unwritten", l.Unwritten.Entries, "buffered", l.Buffered.Entries, "in flight", l.InFlight.Entries)
	counts("bytes", "accepted", l.Accepted.Bytes, "delivered", l.Delivered.Bytes, "held", l.Held().Bytes)
	counts("counted", "requests", k.Requests, "retried", k.Retried.Entries, "throttled", k.Throttled,
		"throttled requests", k.ThrottledRequests, "rejected", k.Rejected, "possible duplicates", k.PossibleDuplicates.Entries,
		"timed out", k.TimedOut, "late replies", k.LateReplies, "bisected", k.Bisected)
}
