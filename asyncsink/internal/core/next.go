package core

// Action is what the core wants next.
type Action[E any] struct {
	Kind    ActionKind
	Batch   *Batch[E] // Send
	Dead    []Dead[E] // Bury: valid until Buried
	Until   Time      // Wait; Never: only an event helps
	Entries int64     // Room
	Bytes   int64     // Room
}

// ActionKind says which of an Action's fields are set.
type ActionKind uint8

// The actions.
const (
	Wait  ActionKind = iota // until an event or a time
	Send                    // a batch
	Bury                    // entries, by the dead-letter output; answered by Buried
	Room                    // so much of what waits to be fed may be restored
	Again                   // more to do: a step examines a bounded number of entries
)

func (k ActionKind) String() string { return [...]string{"wait", "send", "bury", "room", "again"}[k] }

const (
	wakesPerStep = 64
	sweepPerStep = 256
	buryBatch    = 500
)

// Next returns the next action. Ask again after each one until it says Wait,
// then after the next event or when the time has come.
func (c *Core[E]) Next(now Time) Action[E] {
	c.noticeable = false
	if c.err != nil {
		return Action[E]{Kind: Wait, Until: Never}
	}
	if c.expire(now); c.err != nil {
		return Action[E]{Kind: Wait, Until: Never}
	}
	for n := 0; c.wake(now); n++ {
		if n == wakesPerStep {
			return Action[E]{Kind: Again}
		}
	}
	if c.log.sweep(sweepPerStep) {
		return Action[E]{Kind: Again}
	}
	if dead := c.bury(); dead != nil {
		return Action[E]{Kind: Bury, Dead: dead}
	}
	if c.flushTo > 0 && c.log.lowWater() > c.flushTo {
		c.flushTo = 0
	}
	batch, until, again := c.batch(now)
	switch {
	case c.err != nil:
		return Action[E]{Kind: Wait, Until: Never}
	case batch != nil:
		return Action[E]{Kind: Send, Batch: batch}
	case again:
		return Action[E]{Kind: Again}
	}
	if dead := c.bury(); dead != nil {
		return Action[E]{Kind: Bury, Dead: dead}
	}
	if a, ok := c.room(); ok {
		return a
	}
	until = min(until, c.retry.wakeAt(), c.expiry())
	if c.lanes.byKey.n > 0 { // what arrives may be parked: looking at it once an age will do
		until = min(until, now.Add(c.Limits.Batch.Age))
	}
	c.expect(now, until)
	return Action[E]{Kind: Wait, Until: until}
}

func (c *Core[E]) wake(now Time) bool {
	idle := c.waitingEntries() == 0
	if !c.retry.wake(now) {
		return false
	}
	if idle {
		c.since = now
	}
	return true
}

// expiry is the next time at which expire has something to do.
func (c *Core[E]) expiry() Time {
	at := Never
	if c.flights.first != nil {
		at = c.flights.first.Deadline
	}
	if c.piled() {
		at = min(at, c.piledAt.Add(c.Limits.InFlight.Timeout))
	}
	return at
}

func (c *Core[E]) room() (Action[E], bool) {
	l := &c.Ledger
	progress := c.fed + l.Delivered.Entries + l.Dead.Entries
	held := l.Held()
	entries, bytes := int64(c.Limits.Held.Entries)-held.Entries, int64(c.Limits.Held.Bytes)-held.Bytes
	if !c.feeding || progress == c.fedAt || entries <= 0 || bytes <= 0 {
		return Action[E]{}, false
	}
	c.fedAt = progress
	return Action[E]{Kind: Room, Entries: entries, Bytes: bytes}, true
}

// batch fills the open batch and returns it when it is to go; else until when
// that can wait.
func (c *Core[E]) batch(now Time) (b *Batch[E], until Time, again bool) {
	c.blocked = c.flights.n+c.abandoned >= int(c.Limits.InFlight.Requests)
	if c.blocked {
		return nil, Never, false
	}
	if b, until, ok := c.half(now); ok {
		return b, until, false
	}
	due := c.due(now)
	if c.gated() || due || c.complete() {
		again = c.fill(now)
		due = due || c.due(now)
	}
	b = c.open
	switch {
	case again || c.err != nil:
		return nil, Never, again
	case b == nil || len(b.Entries) == 0:
		return nil, c.dueAt(), false
	case !c.complete() && !due:
		return nil, c.dueAt(), false
	case !c.fits(len(b.Entries), b.Bytes):
		c.blocked = true
		return nil, Never, false
	}
	if at := c.limiter.wait(now, len(b.Entries), b.Bytes); at > now {
		c.blocked = true
		return nil, at, false
	}
	c.open = nil
	c.send(now, b)
	return b, 0, false
}

// fits says whether the window takes a request. One always fits into an empty window.
func (c *Core[E]) fits(n int, bytes int64) bool {
	out := c.Ledger.InFlight
	if out.Entries == 0 {
		return true
	}
	return out.Entries+int64(n) <= c.control.window() && out.Bytes+bytes <= int64(c.Limits.InFlight.Bytes)
}

func (c *Core[E]) send(now Time, b *Batch[E]) {
	b.inOrder()
	n := len(b.Entries)
	c.limiter.charge(now, n, b.Bytes)
	b.state, b.Sent, b.Deadline = batchInFlight, now, now.Add(c.Limits.InFlight.Timeout)
	b.answer = answer{entries: n, epoch: epochOf(c.control)}
	b.answer.limited = 2*(c.Ledger.InFlight.Entries+int64(n)) >= c.control.window()
	c.flights.add(b)
	c.Ledger.Buffered.sub(n, b.Bytes)
	c.Ledger.InFlight.add(n, b.Bytes)
	c.Counters.Requests++
	for i, tried := range b.Attempts {
		if tried > 0 {
			c.Counters.Retried.add(1, c.log.size(b.refs[i]))
		}
	}
	// This attempt is of known effect until it proves otherwise.
	for _, r := range b.unsure {
		c.Counters.PossibleDuplicates.add(1, c.log.size(r))
		c.log.setUnsure(r, false)
	}
	b.unsure = b.unsure[:0]
}

func epochOf(k controller) uint64 {
	if a, ok := k.(*aimd); ok {
		return a.epoch
	}
	return 0
}

// bury hands what was given up to the dead-letter output, one lot at a time.
func (c *Core[E]) bury() []Dead[E] {
	if len(c.burying) > 0 || c.graves.len() == 0 {
		return nil
	}
	dead := make([]Dead[E], 0, min(c.graves.len(), buryBatch))
	for len(dead) < cap(dead) {
		r := c.graves.pop()
		c.burying = append(c.burying, r)
		h := c.held(r)
		dead = append(dead, Dead[E]{h, h.Death.Time})
	}
	return dead
}
