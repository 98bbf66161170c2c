package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// didYouMean is "; did you mean X?" for the one of names that is closest to what was written, if one is close.
func didYouMean(wrote string, names []string, prefix string) string {
	if name := Closest(wrote, names); name != "" {
		return "; did you mean " + prefix + name + "?"
	}
	return ""
}

// Closest is the name that takes the fewest slips to write as wrote; "": none is close.
func Closest(wrote string, names []string) string {
	wrote = fold(wrote)
	best, least := "", max(1, min(3, len(wrote)/3))+1
	for _, name := range names {
		if d := distance(wrote, fold(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// fold makes alike what people mix up: case, and the words' separators.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(s))
}

// distance counts letters added, left out, replaced and swapped with their neighbour (optimal string alignment).
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}

// elsewhere is the path of the only name of the tree that ends as what was written does: right, and in the wrong place.
func (t *tree) elsewhere(wrote string) string {
	wrote = fold(wrote)
	var found []string
	for _, n := range t.nodes {
		if n.path == wrote || strings.HasSuffix(n.path, "."+wrote) {
			found = append(found, n.path)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(strings.Count(a, "."), strings.Count(b, ".")) })
	if len(found) == 0 || len(found) > 1 && strings.Count(found[0], ".") == strings.Count(found[1], ".") {
		return ""
	}
	return found[0]
}

func contains(names []string, name string) bool { return slices.Contains(names, name) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// list reads a, b or c.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
