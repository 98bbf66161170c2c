package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesSurviveARoundTrip(t *testing.T) {
	for i, name := range []string{"unordered", "per_key", "total"} {
		var o Order
		require.NoError(t, o.UnmarshalText([]byte(name)))
		require.Equal(t, Order(i), o)
		text, err := o.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
	for i, name := range []string{"go_on", "divert", "stop"} {
		var o OnRejected
		require.NoError(t, o.UnmarshalText([]byte(name)))
		require.Equal(t, OnRejected(i), o)
		text, err := o.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
}

func TestAnUnknownNameSaysWhatIsAllowed(t *testing.T) {
	o := PerKey
	require.EqualError(t, o.UnmarshalText([]byte("random")), `"random" is not one of [unordered per_key total]`)
	require.Equal(t, PerKey, o, "unchanged")
}

func TestNumbersWithoutANameAreShown(t *testing.T) {
	require.Equal(t, "unknown (9)", Order(9).String())
	require.Equal(t, "unknown outcome", Kind(99).String())
	require.Equal(t, "credential expired", CredentialExpired.String())
}
