package kinesistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// attempt is a record of so many bytes at a second, and whether the shard takes it.
type attempt struct {
	second int64
	size   int
	taken  bool
}

func TestAMeterCountsInWindowsOfASecond(t *testing.T) {
	for name, c := range map[string]struct {
		limits   limits
		attempts []attempt
	}{
		"records": {limits{3, -1}, []attempt{
			{10, 1, true}, {10, 1, true}, {10, 1, true}, {10, 1, false}, {10, 1, false},
			{11, 1, true}, {11, 1, true}, {11, 1, true}, {11, 1, false}, {15, 1, true},
		}},
		"bytes": {limits{-1, 100}, []attempt{
			{10, 60, true}, {10, 41, false}, {10, 40, true}, {10, 1, false}, {11, 100, true}, {11, 1, false},
		}},
		"a refused record costs nothing": {limits{2, 100}, []attempt{
			{10, 60, true}, {10, 60, false}, {10, 60, false}, {10, 40, true},
		}},
		"a record above a second's budget runs into debt": {limits{-1, 100}, []attempt{
			{10, 350, true}, {10, 1, false}, // 350 owed
			{11, 1, false}, // 250
			{12, 1, false}, // 150
			{13, 50, true}, // 50, and 50 more
			{13, 1, false},
			{14, 100, true},
		}},
		"it needs a window without bytes": {limits{-1, 100}, []attempt{
			{10, 1, true}, {10, 350, false}, {11, 350, true}, {12, 350, false}, {14, 350, false}, {15, 350, true},
		}},
		"an exact multiple is paid off by as many windows": {limits{-1, 100}, []attempt{
			{10, 1000, true}, {18, 1, false}, {19, 1, false}, {20, 1, true},
		}},
		"no limit": {limits{-1, -1}, []attempt{{10, 1 << 30, true}, {10, 1 << 30, true}}},
		"a clock that goes back stays in its window": {limits{1, -1}, []attempt{
			{10, 1, true}, {9, 1, false}, {10, 1, false}, {11, 1, true},
		}},
		"a long pause pays everything": {limits{-1, 100}, []attempt{{10, 1 << 40, true}, {1 << 50, 100, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var m meter
			for i, a := range c.attempts {
				require.Equal(t, a.taken, m.take(a.second, a.size, c.limits), "attempt %d: %+v", i, a)
			}
		})
	}
}
