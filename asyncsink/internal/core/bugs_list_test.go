package core

// seededBugs are mistakes of the kinds that the writers before us made.
var seededBugs = []seededBug{
	// Requeue and retry.
	{
		"failed entries go back behind those that wait", "lane.go",
		"*l.log.next(r) = a.head\n\t}\n\ta.head, a.failed = r, true",
		"*l.log.next(a.tail) = r\n\t}\n\ta.tail, a.failed = r, true",
	},
	{
		"a batch is not put in arrival order", "next.go",
		"b.inOrder()\n", "",
	},
	{
		"the destination's hint is ignored", "retry.go",
		"max(hint, time.Duration(", "max(0, time.Duration(",
	},
	{
		"the gate opens on a failure", "answer.go",
		"if a.failed {", "if a.failed && a.parked == 1 {",
	},
	{
		"the gate opens while something is outstanding", "answer.go",
		"case a.out > 0 || a.queued:", "case a.queued:",
	},
	{
		"the gate is not looked at while a failed one waits", "fill.go",
		"if !together {", "if !together && !a.failed {",
	},
	{
		"entries behind the first failure of a prefix count as stored", "answer.go",
		"if c.Relation == Prefix && whole.Kind == Delivered && len(fails) > 0 {",
		"if c.Relation == Prefix && whole.Kind == Fatal && len(fails) > 0 {",
	},
	{
		"an ambiguous entry is dropped at the attempts limit", "answer.go",
		"d = nil // a late attempt", "_ = d // a late attempt",
	},
	{
		"a client that owns its retries is given an unanswered record again", "answer.go",
		"if c.OwnsRetries && o.Kind == Ambiguous {", "if c.OwnsRetries && o.Kind == Fatal {",
	},

	// Time-outs and slots.
	{
		"a late reply is applied a second time", "answer.go",
		"c.Counters.LateReplies++\n", "c.Counters.LateReplies++\n\t\tc.apply(now, b, whole, fails)\n",
	},
	{
		"a time-out frees the slot of a submitter that goes on", "next.go",
		"c.blocked = c.flights.n+c.abandoned >=", "c.blocked = c.flights.n >=",
	},
	{
		"a window in entries, and none in bytes", "next.go",
		" && out.Bytes+bytes <= int64(c.Limits.InFlight.Bytes)", "",
	},

	// Timers.
	{
		"the limiter says no and names no time", "next.go",
		"return nil, at, false\n", "return nil, Never, false\n",
	},
	{
		"no timer for the age of what is not in a batch", "fill.go",
		"if c.fresh.Entries > 0 {", "if c.fresh.Entries < 0 {",
	},
	{
		"no timer for a time-out", "next.go",
		"at = c.flights.first.Deadline\n", "at = Never\n",
	},

	// Caps.
	{
		"what is in flight does not count against the cap", "core.go",
		"return l.Buffered.Entries+l.InFlight.Entries+l.Unwritten.Entries <", "return l.Buffered.Entries+l.Unwritten.Entries <",
	},
	{
		"a batch takes what does not fit", "fill.go",
		"if len(b.Entries) > 0 && b.Bytes+c.log.size(r) >", "if len(b.Entries) > 0 && b.Bytes >",
	},
	{
		"a lowered limit does not reach the open batch", "core.go",
		"if b := c.open; b != nil && c.outgrown(b) {", "if b := c.open; b != nil && c.err != nil {",
	},

	// The log and the frontier.
	{
		"the frontier skips an entry", "fill.go",
		"c.log.front.off += n\n", "c.log.front.off += n + n/4\n",
	},
	{
		"a half of a refused request is lost", "bisect.go",
		"if len(s.parts) > 0 {\n\t\tc.bisected = append(c.bisected, s)",
		"if len(s.parts) > 1 {\n\t\tc.bisected = append(c.bisected, s)",
	},
	{
		"a half is sent behind a rejected entry of its key", "bisect.go",
		"if d == nil {\n\t\t\treturn false", "if d == nil || d.Err == errDiverted {\n\t\t\treturn false",
	},

	// Snapshots.
	{
		"state beside a chunk is not copied on write", "log.go",
		"if l.pinned(s.state.made) {", "if l.pinned(s.state.made) && s.state.gone < 0 {",
	},
	{
		"a slot is cleared while a snapshot reads it", "log.go",
		"if l.pinned(c.made) {", "if l.pinned(c.made) && n > chunkLen {",
	},
	{
		"a swept slot is read by an older snapshot", "log.go",
		"l.pins[0] <= d.under", "l.pins[0] < d.under",
	},
	{
		"a snapshot forgets the newest entry", "snapshot.go",
		"s.n = s.tail.n\n", "s.n = max(0, s.tail.n-1)\n",
	},
	{
		"a snapshot forgets dead letters that are not written", "snapshot.go",
		"if v.at.state.settled[i/64]>>(i%64)&1 == 0 && !yield", "if v.at.state.settled[i/64]>>(i%64)&1 == 0 && v.at.state.deaths[uint16(i)] == nil && !yield",
	},
	{
		"a possible duplicate is forgotten while it waits", "batch.go",
		"b.unsure = append(b.unsure, r)\n", "b.unsure = append(b.unsure, r)\n\t\t\tl.setUnsure(r, false)\n",
	},
	{
		"restored entries lose their attempts", "log.go",
		"st.attempts[r.off()] = uint16(min(h.Attempts, 1<<16-1))", "st.attempts[r.off()] = 0",
	},

	// What lies on disk, and what earlier lives have settled.
	{
		"a new entry passes those on disk", "core.go",
		"if c.feeding || !keep && !c.HasRoom(size) {", "if !keep && !c.HasRoom(size) {",
	},
	{
		"what an earlier life has settled is sent again", "log.go",
		"for c.ids != nil && l.front.off < c.n && l.isSettled(l.front) {", "for false {",
	},
	{
		"a spilled entry is booked twice", "core.go",
		"c.Ledger.Spilled.sub(1, size)", "c.Ledger.Restored.add(1, size)",
	},
	{
		"a life gives a sequence of the one before it again", "core.go",
		"func (c *Core[E]) Resume(last Seq) { c.given = last }", "func (c *Core[E]) Resume(last Seq) { c.given = last - 1 }",
	},
	{
		"what waits on disk is not asked for again once read", "core.go",
		"c.feeding, c.fedAt = more, -1", "c.feeding = more",
	},

	// Dead letters.
	{
		"a dead letter is freed before it is written", "answer.go",
		"c.Ledger.Unwritten.add(1, size)\n\tc.graves.push(r)", "c.Ledger.Dead.add(1, size)\n\tc.log.settle(r, 1)",
	},
	{
		"the last lot of dead letters is never handed out", "next.go",
		"if len(c.burying) > 0 || c.graves.len() == 0 {", "if len(c.burying) > 0 || c.graves.len() <= 1 {",
	},
}
