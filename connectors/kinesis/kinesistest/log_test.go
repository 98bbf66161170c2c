package kinesistest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALogGivesBackWhatWasAdded(t *testing.T) {
	var l log
	sizes := []int{0, 1, 100, firstBlock, fullBlock - 1, fullBlock, fullBlock + 1, 3 << 20}
	var want []entry
	for i := range 400 {
		e := entry{key: fmt.Appendf(nil, "key-%d", i), data: bytes.Repeat([]byte{byte(i)}, sizes[i%len(sizes)]/(1+i/len(sizes)))}
		if i%3 == 0 {
			e.explicit = fmt.Append(nil, i)
		}
		want = append(want, e)
		require.EqualValues(t, i, l.add(&e, int64(1000+i/10), uint64(2*i)))
	}
	for i, e := range want {
		m, got := l.at(uint64(i))
		require.Equal(t, string(e.key), string(got.key))
		require.Equal(t, string(e.explicit), string(got.explicit))
		require.True(t, bytes.Equal(e.data, got.data))
		require.EqualValues(t, 1000+i/10, m.millis)
		require.EqualValues(t, 2*i, m.arrival)
	}
	require.EqualValues(t, 0, l.since(0))
	require.EqualValues(t, 50, l.since(1005))
	require.EqualValues(t, 400, l.since(2000))
}

// Concurrent requests read the clock before they are put in order.
func TestTimeNeverGoesBackInALog(t *testing.T) {
	var l log
	for i, millis := range []int64{10, 30, 20, 30, 5, 40} {
		l.add(&entry{key: []byte("k")}, millis, uint64(i))
	}
	last := int64(0)
	for i := range l.count {
		m, _ := l.at(i)
		require.GreaterOrEqual(t, m.millis, last)
		last = m.millis
	}
	require.EqualValues(t, 1, l.since(15))
	require.EqualValues(t, 5, l.since(31))
}

func TestAMillionSmallRecordsCostAbout150BytesEach(t *testing.T) {
	var l log
	e := entry{key: []byte("key-000001234"), data: bytes.Repeat([]byte("d"), 100)}
	const n = 1_000_000
	for i := range n {
		l.add(&e, 1, uint64(i))
	}
	require.Less(t, l.footprint()/n, 170)
}

func TestAViewStaysAsItWasWhileTheLogGrows(t *testing.T) {
	var mu sync.Mutex
	var l log
	grow := func() {
		mu.Lock()
		defer mu.Unlock()
		n := l.count
		l.add(&entry{key: fmt.Append(nil, n), data: make([]byte, n%5000)}, 0, n)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for range 5000 {
			grow()
		}
	})
	for range 50 {
		mu.Lock()
		v := l.view()
		mu.Unlock()
		for i := range v.count {
			m, e := v.at(i)
			if m.arrival != i || string(e.key) != fmt.Sprint(i) || len(e.data) != int(i%5000) {
				t.Fatalf("record %d: %+v %s", i, m, e.key)
			}
		}
	}
	writer.Wait()
}
