package harness

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachRoundRunsEachContenderOnce(t *testing.T) {
	for _, round := range order(20, 4, 1) {
		require.Equal(t, []int{0, 1, 2, 3}, slices.Sorted(slices.Values(round)))
	}
}

func TestASeedGivesItsOrderAgain(t *testing.T) {
	require.Equal(t, order(20, 4, 1), order(20, 4, 1))
	require.NotEqual(t, order(20, 4, 1), order(20, 4, 2))
}

func TestNobodyAlwaysRunsFirst(t *testing.T) {
	first := map[int]int{}
	for _, round := range order(100, 2, 1) {
		first[round[0]]++
	}
	require.Greater(t, first[0], 30)
	require.Greater(t, first[1], 30)
}
