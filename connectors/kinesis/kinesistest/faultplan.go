package kinesistest

import (
	"slices"
	"sync"
	"time"
)

// faultList is the faults that were injected, with what they have seen.
type faultList struct {
	mu  sync.Mutex
	all []*injected
}

type injected struct {
	Fault
	seen, hits int
}

// FaultStatus tells what became of an injected fault.
type FaultStatus struct {
	Fault Fault
	Seen  int // requests to its operation and stream since the injection
	Hits  int // of those, the ones that it struck
}

// Inject adds faults to those at work. A fault that does not validate is a mistake in the test, and panics.
func (s *Server) Inject(faults ...Fault) {
	for _, f := range faults {
		if err := f.Validate(); err != nil {
			panic(err)
		}
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, f := range faults {
		s.faults.all = append(s.faults.all, &injected{Fault: f})
	}
}

// ClearFaults removes all faults. Requests that hang already go on hanging until their clients give up.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.all = nil
}

// Faults returns the faults at work in the order of injection. A test that injects one should look whether it
// has struck.
func (s *Server) Faults() []FaultStatus {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	var out []FaultStatus
	for _, f := range s.faults.all {
		out = append(out, FaultStatus{f.Fault, f.seen, f.hits})
	}
	return out
}

// plan is what the faults do to one request.
type plan struct {
	delayBefore, delayAfter time.Duration
	ending                  *Fault // takes the place of the answer
	missing                 int
	fates                   []fate // by entry; nil: none fails
}

// fate is that of an entry; a code makes it fail.
type fate struct {
	code    string
	applied bool
}

func (p *plan) fate(i int) fate {
	if p.fates == nil {
		return fate{}
	}
	return p.fates[i]
}

// plan lets every fault look at a request, once. Without faults it costs a lock.
func (l *faultList) plan(op, stream string, entries []entry) plan {
	var p plan
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if (f.Op != "" && f.Op != op) || (f.Stream != "" && f.Stream != stream) {
			continue
		}
		f.seen++
		if f.chooses(f.seen) && p.add(&f.Fault, f.seen, entries) {
			f.hits++
		}
	}
	return p
}

// chooses decides about the n-th request, as far as it can be decided without its entries.
func (f *injected) chooses(n int) bool {
	switch {
	case n < f.From, f.To != 0 && n > f.To, f.Times != 0 && f.hits >= f.Times:
		return false
	case f.Every != 0 && n%f.Every != 0:
		return false
	}
	return f.Share == 0 || dice(f.Seed, uint64(n), 0) < f.Share
}

// add puts a fault that strikes the n-th request into the plan, and reports false when it finds nothing to strike.
func (p *plan) add(f *Fault, n int, entries []entry) bool {
	switch f.Do {
	case FailEntries:
		return p.addEntries(f, n, entries)
	case DelayReply:
		if f.After {
			p.delayAfter += f.Delay
		} else {
			p.delayBefore += f.Delay
		}
	case ShortReply:
		p.missing = max(p.missing, f.Missing)
	default:
		if p.ending == nil {
			p.ending = f
		}
	}
	return true
}

func (p *plan) addEntries(f *Fault, n int, entries []entry) (hit bool) {
	for i := range entries {
		if !f.Entries.choose(f.Seed, n, i, entries[i].key) {
			continue
		}
		if p.fates == nil {
			p.fates = make([]fate, len(entries))
		}
		hit = true
		if p.fates[i].code == "" {
			p.fates[i] = fate{f.Code, f.After}
		}
	}
	return hit
}

func (e *Entries) choose(seed uint64, n, i int, key []byte) bool {
	if (len(e.Index) > 0 && !slices.Contains(e.Index, i)) || (e.Key != "" && e.Key != string(key)) {
		return false
	}
	return e.Share == 0 || dice(seed, uint64(n), uint64(i)+1) < e.Share
}

// dice is a number in [0, 1) that depends on its arguments alone: SplitMix64 over their combination. A running
// generator would make an entry's fate depend on how requests interleave.
func dice(seed, request, entry uint64) float64 {
	x := seed
	for _, v := range []uint64{request, entry} {
		x = mix(x + 0x9e3779b97f4a7c15*(v+1))
	}
	return float64(x>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
