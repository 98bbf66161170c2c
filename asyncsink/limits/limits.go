package limits

import (
	"cmp"
	"errors"
	"math"
	"time"
)

// Batch bounds one request. A batch is sent when it is full by entries or
// bytes, or when its oldest entry has been ready for Age.
type Batch struct {
	// Entries is the most that one request carries. Default 500; 1 to 1,000,000.
	Entries Entries `yaml:"entries"`
	// Bytes is the most that one request weighs. Default 4 MiB; 1 B to 1 GiB.
	Bytes Bytes `yaml:"bytes"`
	// Age is how long a ready entry waits for its batch to fill up: a larger
	// value makes fuller requests, a smaller one lower latency at low rates.
	// Default 100 ms; 1 ms to 1 h.
	Age time.Duration `yaml:"age"`
	// EntryBytes is the largest entry; a larger one is refused by Write.
	// Default 1 MiB; 1 B to 32 MiB, and at most Bytes.
	EntryBytes Bytes `yaml:"entry_bytes"`
}

// Held bounds what is accepted and not settled: buffered, in flight, waiting
// out a back-off or for the dead-letter output. At a cap, Write blocks.
type Held struct {
	// Entries is the cap by count. Default 10,000; 1 to 100,000,000.
	Entries Entries `yaml:"entries"`
	// Bytes is the cap by size, and what bounds memory: the writer retains less
	// than twice this, and some 10 KiB for each entry that outlasts the 127 that came with it.
	// Default 64 MiB; at least Batch.EntryBytes, at most 1 TiB.
	Bytes Bytes `yaml:"bytes"`
}

// InFlight bounds the requests whose answers are awaited.
type InFlight struct {
	// Requests is the cap by count. Default 16; 1 to 100,000.
	Requests Requests `yaml:"requests"`
	// Entries is the cap by entries, and the ceiling of the adaptive window.
	// Default Requests x Batch.Entries; at least Floor.
	Entries Entries `yaml:"entries"`
	// Bytes is the cap by size. Default Requests x Batch.Bytes; at least Batch.Bytes.
	Bytes Bytes `yaml:"bytes"`
	// Timeout ends one attempt: its outcome is then unknown and its entries go
	// again. Default 30 s; 1 ms to 1 h.
	Timeout time.Duration `yaml:"timeout"`
	// Controller sets the window between Floor and Entries. Default AIMD.
	Controller Controller `yaml:"controller"`
	// Floor is what the window never falls below, in entries: what still goes
	// out, one window at a time, while everything is refused. Default Batch.Entries; 1 to 1,000,000.
	Floor Entries `yaml:"floor"`
}

// Rate bounds what is sent in a second, retries included. Each is a token bucket
// (golang.org/x/time/rate) that is charged when a request is sent; a request that
// costs more than the bucket's depth is sent when it is full and pays the rest back.
type Rate struct {
	// Records is the most in a second. Default 0: no limit; at most 1e12.
	Records RecordsPerSecond `yaml:"records"`
	// Bytes is the most in a second. Default 0: no limit; at most 1e15.
	Bytes BytesPerSecond `yaml:"bytes"`
	// Requests is the most in a second. Default 0: no limit; at most 1e12.
	Requests RequestsPerSecond `yaml:"requests"`
	// RecordBurst is how many may go at once after a pause. Default what Records gives in a
	// second, at least 1; at most 2^30.
	RecordBurst Entries `yaml:"record_burst"`
	// ByteBurst is how many may go at once after a pause. Default what Bytes gives in a
	// second, at least 1; at most 2^40.
	ByteBurst Bytes `yaml:"byte_burst"`
	// RequestBurst is how many may go at once after a pause. Default what Requests gives in a
	// second, at least 1; at most 2^30.
	RequestBurst Requests `yaml:"request_burst"`
}

// Retry says how failed entries go again.
type Retry struct {
	// Base is the bound of the first back-off, which is drawn evenly between 0
	// and the bound (full jitter) and doubles with each failure of the entry.
	// Default 50 ms; 1 ms to 1 h.
	Base time.Duration `yaml:"base"`
	// Cap bounds the bound. Default 10 s; Base to 24 h.
	Cap time.Duration `yaml:"cap"`
	// Attempts is how often an entry is tried before it goes to the dead
	// letters. Default 0: for ever; at most 60,000.
	Attempts int `yaml:"attempts"`
	// Age is how old an entry may be, from Write, when it fails or would be
	// sent; an older one goes to the dead letters. Default 0: any age; at most 10 years.
	Age time.Duration `yaml:"age"`
}

// Set is all limits of one writer.
type Set struct {
	Batch    Batch
	Held     Held
	InFlight InFlight
	Rate     Rate
	Retry    Retry
}

// Min lowers each limit of b to the one of m where m sets a smaller one: what
// a service allows caps what a configuration asks for.
func (b Batch) Min(m Batch) Batch {
	lower(&b.Entries, m.Entries)
	lower(&b.Bytes, m.Bytes)
	lower(&b.EntryBytes, m.EntryBytes)
	if m.Bytes != 0 && b.EntryBytes > b.Bytes {
		b.EntryBytes = b.Bytes // an entry must fit into a request
	}
	return b
}

func lower[T cmp.Ordered](v *T, most T) {
	var zero T
	if most != zero && (*v == zero || *v > most) {
		*v = most
	}
}

// WithDefaults fills every zero field in, in the order in which one default
// depends on another.
func (s Set) WithDefaults() Set {
	b, f, r := &s.Batch, &s.InFlight, &s.Rate
	b.Entries = cmp.Or(b.Entries, 500)
	b.Bytes = cmp.Or(b.Bytes, 4*MiB)
	b.Age = cmp.Or(b.Age, 100*time.Millisecond)
	b.EntryBytes = cmp.Or(b.EntryBytes, min(MiB, b.Bytes))
	s.Held.Entries = cmp.Or(s.Held.Entries, 10_000)
	s.Held.Bytes = cmp.Or(s.Held.Bytes, 64*MiB)
	f.Requests = cmp.Or(f.Requests, 16)
	f.Entries = cmp.Or(f.Entries, times(Entries(f.Requests), b.Entries))
	f.Bytes = cmp.Or(f.Bytes, times(Bytes(f.Requests), b.Bytes))
	f.Timeout = cmp.Or(f.Timeout, 30*time.Second)
	f.Controller = cmp.Or(f.Controller, AIMD)
	f.Floor = cmp.Or(f.Floor, min(b.Entries, f.Entries))
	r.RecordBurst = cmp.Or(r.RecordBurst, Entries(burst(r.Records, 1<<30)))
	r.ByteBurst = cmp.Or(r.ByteBurst, Bytes(burst(r.Bytes, 1<<40)))
	r.RequestBurst = cmp.Or(r.RequestBurst, Requests(burst(r.Requests, 1<<30)))
	s.Retry.Base = cmp.Or(s.Retry.Base, 50*time.Millisecond)
	s.Retry.Cap = cmp.Or(s.Retry.Cap, max(10*time.Second, s.Retry.Base))
	return s
}

// times multiplies without overflow: 100,000 requests of 1,000,000 entries are
// beyond 2^31, and as bytes beyond 2^63 if a service allowed it.
func times[T ~int | ~int64](a, b T) T {
	most := T(math.MaxInt)
	if a > 0 && b > most/a {
		return most
	}
	return a * b
}

func burst[R ~float64](r R, most float64) float64 {
	if r <= 0 {
		return 0
	}
	return max(1, min(float64(r), most))
}

// Validate reports every field that is out of its bounds, each as a *Fault, joined.
func (s Set) Validate() error {
	b, h, f, r, t := s.Batch, s.Held, s.InFlight, s.Rate, s.Retry
	return errors.Join(
		between("batch.entries", b.Entries, 1, 1_000_000),
		between("batch.bytes", b.Bytes, 1, GiB),
		between("batch.age", b.Age, time.Millisecond, time.Hour),
		between("batch.entry_bytes", b.EntryBytes, 1, min(32*MiB, max(b.Bytes, 1))), // a snapshot takes entries of 64 MiB, encoded,
		between("held.entries", h.Entries, 1, 100_000_000),
		between("held.bytes", h.Bytes, max(b.EntryBytes, 1), 1024*GiB),
		between("in_flight.requests", f.Requests, 1, 100_000),
		between("in_flight.entries", f.Entries, max(f.Floor, 1), math.MaxInt),
		between("in_flight.bytes", f.Bytes, max(b.Bytes, 1), 1<<62),
		between("in_flight.timeout", f.Timeout, time.Millisecond, time.Hour),
		between("in_flight.floor", f.Floor, 1, 1_000_000),
		f.Controller.check("in_flight.controller"),
		between("rate.records", r.Records, 0, 1e12),
		between("rate.bytes", r.Bytes, 0, 1e15),
		between("rate.requests", r.Requests, 0, 1e12),
		between("rate.record_burst", r.RecordBurst, 0, 1<<30),
		between("rate.byte_burst", r.ByteBurst, 0, 1<<40),
		between("rate.request_burst", r.RequestBurst, 0, 1<<30),
		between("retry.base", t.Base, time.Millisecond, time.Hour),
		between("retry.cap", t.Cap, max(t.Base, 0), 24*time.Hour),
		between("retry.attempts", t.Attempts, 0, 60_000),
		between("retry.age", t.Age, 0, 10*365*24*time.Hour),
	)
}
