package core

import "fmt"

// known is what a schedule knows of the present life, from what went in and came
// out; the core must agree.
type known struct {
	accepted  []taken                // what came into memory, in its order
	acked     map[int]bool           // the destination said that they are stored
	settled   map[Seq]bool           // the core said so
	tries     map[int]int            // attempts that ended without delivery
	unsure    map[int]bool           // the last attempt may have stored it
	doubt     map[int]bool           // under an order: some attempt may have, or may yet
	doubts    int64                  // entries sent while unsure
	notBefore map[int]Time           // by the destination's hint
	firstDead map[int]int            // key to the first id that was given up
	bornDead  map[int]bool           // restored as given up, or above the limits of this life
	out       map[*Batch[item]][]int // ids of requests whose answers are awaited
}

func nothingKnown() known {
	return known{
		acked: map[int]bool{}, settled: map[Seq]bool{}, tries: map[int]int{}, unsure: map[int]bool{}, doubt: map[int]bool{},
		notBefore: map[int]Time{}, firstDead: map[int]int{}, bornDead: map[int]bool{}, out: map[*Batch[item]][]int{},
	}
}

// unsettled is what a snapshot must show now, by what the schedule knows.
func (w *world) unsettled() (all []line) {
	for _, a := range w.accepted {
		if !w.settled[a.seq] {
			all = append(all, line{a.seq, a.id, w.tries[a.id], w.unsure[a.id] || w.doubt[a.id]})
		}
	}
	return all
}

// taken is an entry in memory.
type taken struct {
	seq Seq
	id  int
}

// line is an entry of a snapshot.
type line struct {
	seq          Seq
	id, attempts int
	unsure       bool
}

func (l line) String() string {
	return fmt.Sprintf("%d: entry %d, attempts %d, unsure %v", l.seq, l.id, l.attempts, l.unsure)
}

// observeTry compares an entry that is sent with what the schedule knows of it.
func (w *world) observeTry(b *Batch[item], i int) {
	e, unsure := b.Entries[i], w.unsure[b.Entries[i].id]
	if tries := w.tries[e.id]; int(b.Attempts[i]) != tries {
		w.fail("entry %d was tried %d times, the batch says %d", e.id, tries, b.Attempts[i])
	}
	if w.now < w.notBefore[e.id] {
		w.fail("entry %d is sent before the time that the destination named", e.id)
	}
	if e.size > int(w.core.Limits.Batch.EntryBytes) && !unsure && !w.doubt[e.id] {
		w.fail("entry %d of %d bytes is above the limit and is sent", e.id, e.size)
	}
	if _, diverted := w.core.divert[uint64(e.key)]; diverted && w.core.gated() && !unsure && !w.doubt[e.id] && w.followsGivenUp(e) {
		w.fail("entry %d is sent, and its key %d is diverted", e.id, e.key)
	}
	if unsure {
		w.doubts++
	}
	w.unsure[e.id] = false
}

// followsGivenUp says whether this life has given up an earlier entry of its key.
func (w *world) followsGivenUp(e item) bool {
	for _, h := range w.core.everything() {
		if h.Death != nil && h.Entry.key == e.key && h.Entry.id < e.id {
			return true
		}
	}
	first, buried := w.firstDead[e.key]
	return buried && first < e.id
}

// observeTimeouts notes what the core abandoned: its effect is unknown.
func (w *world) observeTimeouts() {
	for b, ids := range w.out {
		if b.state != batchAbandoned {
			continue
		}
		for _, id := range ids {
			w.note(id, true)
			w.tried(id, Ambiguous)
		}
		delete(w.out, b)
	}
}

// note says whether an entry's last attempt may have stored it.
func (w *world) note(id int, unsure bool) {
	w.unsure[id] = unsure
	w.doubt[id] = w.doubt[id] || unsure && w.config.Order != Unordered
}

// tried counts an attempt that ended without delivery.
func (w *world) tried(id int, k Kind) {
	if k != Delivered && k != CredentialExpired && !(k == Ambiguous && w.config.OwnsRetries) {
		w.tries[id]++
	}
}

func (w *world) observeAnswer(b *Batch[item], whole Outcome, fails []Failure) {
	delete(w.out, b)
	k := 0
	for i, e := range b.Entries {
		kind := whole.Kind
		if k < len(fails) && fails[k].Index == i {
			kind = fails[k].Kind
			k++
		} else if w.config.Relation == Prefix && whole.Kind == Delivered && k > 0 {
			continue // behind the first failure
		}
		if kind == Delivered {
			if w.dest.stored[e.id] == 0 {
				w.fail("entry %d acknowledged and not stored", e.id)
			}
			w.acked[e.id] = true
		}
		w.note(e.id, kind == Ambiguous)
		w.notBefore[e.id] = w.now.Add(whole.After)
		if !(whole.Kind == Rejected && len(b.Entries) > 1) { // else it is halved
			w.tried(e.id, kind)
		}
		w.seen.count(kind, w.config.Order, w.hit)
	}
}

// settle pulls what has settled: each sequence once a life.
func (w *world) settle() {
	for _, r := range w.core.AppendSettled(nil) {
		for s := r.First; s <= r.Last; s++ {
			if w.settled[s] {
				w.fail("sequence %d settled twice", s)
			}
			w.settled[s] = true
		}
	}
	w.balance("possible duplicates", w.core.Counters.PossibleDuplicates.Entries, w.doubts)
	for _, a := range w.accepted {
		if a.seq < w.core.LowWater() && !w.settled[a.seq] {
			w.fail("low-water mark %d, and %d was never reported as settled", w.core.LowWater(), a.seq)
		}
	}
}
