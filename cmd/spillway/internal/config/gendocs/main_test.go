package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommentsAreThoseOfTheSources(t *testing.T) {
	want, err := generate("..")
	require.NoError(t, err)
	is, err := os.ReadFile("../" + output)
	require.NoError(t, err)
	require.Equal(t, string(want), string(is), "comments have changed: run go generate ./cmd/...")
}
