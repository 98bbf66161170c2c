package blobstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	_ "gocloud.dev/blob/memblob"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
	"github.com/spillway-go/spillway/checkpoint/storetest"
)

func open(t *testing.T, url string) *blobstore.Store {
	s, err := blobstore.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestABucketKeepsThePromisesOfAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store { return open(t, "mem://bucket/teams/a") })
}
