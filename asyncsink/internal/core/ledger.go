package core

import "fmt"

// Count is entries and their bytes on the wire.
type Count struct{ Entries, Bytes int64 }

func (c *Count) add(n int, bytes int64) { c.Entries += int64(n); c.Bytes += bytes }
func (c *Count) sub(n int, bytes int64) { c.Entries -= int64(n); c.Bytes -= bytes }

func (c Count) plus(d Count) Count { return Count{c.Entries + d.Entries, c.Bytes + d.Bytes} }

// Ledger is the books of one life. After every step
//
//	Accepted + Restored = Delivered + Dead + Unwritten + Buffered + InFlight + Spilled
//
// by entries and by bytes.
type Ledger struct {
	Accepted  Count // by Offer and Spill
	Restored  Count // from a snapshot
	Delivered Count
	Dead      Count // acknowledged by the dead-letter output
	Unwritten Count // given up, not yet acknowledged
	Buffered  Count // ready, gated, or waiting out a back-off
	InFlight  Count
	Spilled   Count // on disk, to come back
}

// Held is what counts against the caps: what lies in memory.
func (l *Ledger) Held() Count { return l.Buffered.plus(l.InFlight).plus(l.Unwritten) }

func (l *Ledger) check() error {
	in := l.Accepted.plus(l.Restored)
	out := l.Delivered.plus(l.Dead).plus(l.Held()).plus(l.Spilled)
	if in != out {
		return fmt.Errorf("ledger does not balance: in %+v, out and held %+v: %+v", in, out, *l)
	}
	return nil
}

// Counters is what happened in this life and is not in the ledger.
type Counters struct {
	Requests           int64 // sent
	Retried            Count // sent again
	Throttled          int64 // entries refused for load
	ThrottledRequests  int64 // requests refused for load as a whole
	Rejected           int64 // entries that will never be stored, or passed a limit
	PossibleDuplicates Count // sent again after an attempt of unknown effect
	TimedOut           int64 // requests that passed their deadline
	LateReplies        int64 // of those, answered afterwards: counted, not applied
	Bisected           int64 // requests halved
}
