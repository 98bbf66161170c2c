package kinesistest

// meter is the throughput of one shard; package kinesistest's documentation states its rule. It is not a token
// bucket on purpose: the sinks under test use one, and a test that shares the limiter with what it tests proves
// nothing.
type meter struct {
	second  int64 // the window, in Unix seconds
	records int   // taken in the window
	bytes   int   // taken in the window and owed from earlier ones
}

// limits are per shard and second; a negative one is none.
type limits struct{ records, bytes int }

// take admits a record of size bytes at the given Unix second, or reports false and charges nothing. A clock
// that goes back stays in the window that it had reached.
func (m *meter) take(second int64, size int, l limits) bool {
	if passed := second - m.second; passed > 0 {
		m.second, m.records = second, 0
		m.bytes = afterWindows(m.bytes, passed, l.bytes)
	}
	if l.records >= 0 && m.records+1 > l.records {
		return false
	}
	if l.bytes >= 0 && m.bytes > 0 && m.bytes+size > l.bytes {
		return false
	}
	m.records++
	m.bytes += size
	return true
}

// afterWindows is what is still owed when so many windows have passed, each of which pays a second's bytes.
func afterWindows(owed int, passed int64, perSecond int) int {
	if perSecond < 0 || passed > int64(owed/max(perSecond, 1)) {
		return 0
	}
	return max(0, owed-int(passed)*perSecond)
}
