package kinesistest

import "fmt"

// writable finds the stream of a write and checks the request against the limits.
func (s *Server) writable(c *call) (*stream, error) {
	st, err := s.lookup(&c.in)
	if err != nil {
		return nil, err
	}
	if err := checkWrite(c, st.auto); err != nil {
		return nil, err
	}
	st.mu.Lock()
	status, limit := st.status(c.now), st.maxRecordKiB<<10
	st.mu.Unlock()
	if status == creating {
		return nil, s.notFound(st.name)
	}
	total := 0
	for i := range c.entries {
		size := c.entries[i].size()
		total += size
		if size > limit {
			return nil, refuse("InvalidArgumentException",
				"Record %d of the request has %d bytes, partition key included: more than the %d KiB that stream %s under account %s allows.",
				i+1, size, limit>>10, st.name, s.account)
		}
	}
	if total > MaxRequestBytes {
		return nil, refuse("InvalidArgumentException", "Records size exceeds %d MB limit", MaxRequestBytes>>20)
	}
	if c.in.DryRun {
		return nil, dryRun()
	}
	return st, nil
}

func checkWrite(c *call, auto bool) error {
	var v violations
	first := 0
	if c.op == "PutRecords" {
		first = 1
		switch n := len(c.entries); {
		case n == 0:
			v.add("'[]'", "records", "Member must have length greater than or equal to 1")
		case n > MaxEntries:
			v.add(fmt.Sprintf("'[%d records]'", n), "records", fmt.Sprintf("Member must have length less than or equal to %d", MaxEntries))
		}
	}
	for i := range c.entries {
		v.entry(&c.entries[i], first+i, auto)
	}
	v.sequence(c.in.SequenceNumberForOrdering, "sequenceNumberForOrdering")
	if err := v.err(); err != nil {
		return err
	}
	for i := range c.entries {
		if x := c.entries[i].explicit; x != nil {
			if _, ok := parseHashKey(string(x)); !ok {
				return refuse("InvalidArgumentException", "Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. "+
					"Specified value was %s", x)
			}
		}
	}
	return nil
}

// dryRun answers a request that would have been carried out.
func dryRun() error {
	return refuse("DryRunOperationException", "Request would have succeeded, but the DryRun parameter was specified.")
}

func (e *entry) size() int { return len(e.key) + len(e.data) }
