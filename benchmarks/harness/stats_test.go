package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMedianIsTheMiddleValueOrTheMeanOfTheMiddleTwo(t *testing.T) {
	require.Equal(t, spread{median: 3, min: 1, max: 9}, spreadOf([]float64{9, 1, 3}))
	require.Equal(t, spread{median: 4, min: 1, max: 9}, spreadOf([]float64{9, 3, 5, 1}))
	require.Equal(t, spread{median: 7, min: 7, max: 7}, spreadOf([]float64{7}))
}

// A machine that gets slower in the course of a session does not change what is compared.
func TestAnAdvantageComparesRunsOfTheSameRound(t *testing.T) {
	ours, peer := map[int]float64{1: 10, 2: 100, 3: 1000}, map[int]float64{1: 20, 2: 200, 3: 3000}
	a, ok := advantage(Lower, ours, peer)
	require.True(t, ok)
	require.Equal(t, spread{median: 2, min: 2, max: 3}, a)

	a, ok = advantage(Higher, ours, peer)
	require.True(t, ok)
	require.InDelta(t, 0.5, a.median, 1e-9, "of a rate, half is half as good")
}

func TestAnAdvantageNeedsARoundThatBothFinished(t *testing.T) {
	_, ok := advantage(Lower, map[int]float64{1: 10}, map[int]float64{2: 20})
	require.False(t, ok)
	_, ok = advantage("", map[int]float64{1: 10}, map[int]float64{1: 20})
	require.False(t, ok, "a figure that is not compared")
	a, ok := advantage(Lower, map[int]float64{1: 10, 2: 10}, map[int]float64{2: 20, 3: 90})
	require.True(t, ok)
	require.Equal(t, spread{median: 2, min: 2, max: 2}, a)
}

func TestNothingIsDividedByZero(t *testing.T) {
	_, ok := advantage(Lower, map[int]float64{1: 0}, map[int]float64{1: 20})
	require.False(t, ok)
	_, ok = advantage(Higher, map[int]float64{1: 10}, map[int]float64{1: 0})
	require.False(t, ok)
}

func TestNumbersHaveThreeDigitsThatCount(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 12: "12", 18.23: "18.2", 0.123456: "0.123", 0.00012345: "0.000123", 123.4: "123",
		999.6: "1,000", 1234: "1,230", 12_345_678: "12,300,000", 999_999: "1,000,000", -1234: "-1,230", -123: "-123", 2.5: "2.50",
	} {
		require.Equal(t, want, number(v), "%v", v)
	}
}
