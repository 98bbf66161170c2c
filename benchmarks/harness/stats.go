package harness

import (
	"maps"
	"slices"
)

// spread is the median, the least and the most of some values.
type spread struct{ median, min, max float64 }

// spreadOf needs one value at least.
func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	m := s[len(s)/2]
	if len(s)%2 == 0 {
		m = (s[len(s)/2-1] + m) / 2
	}
	return spread{m, s[0], s[len(s)-1]}
}

// advantage is how many times better ours are than the peer's, round by round:
// what the machine does to a round it does to both.
func advantage(better Better, ours, peer map[int]float64) (spread, bool) {
	var ratios []float64
	for round, o := range ours {
		p, ok := peer[round]
		if better == Lower {
			o, p = p, o
		}
		if ok && p > 0 {
			ratios = append(ratios, o/p)
		}
	}
	if better == "" || len(ratios) == 0 {
		return spread{}, false
	}
	return spreadOf(ratios), true
}

func list(values map[int]float64) []float64 { return slices.Collect(maps.Values(values)) }

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
