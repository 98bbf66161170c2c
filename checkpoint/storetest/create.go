package storetest

import (
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

var creates = []promise{
	{"create makes an object that is not there", createMakes},
	{"create of what is there changes nothing", createChangesNothing},
	{"of many that create a name one succeeds", createIsExclusive},
	{"a name can be created again once it is deleted", createAfterDelete},
}

func createMakes(t *testing.T, e *env) {
	for _, n := range []int{0, 1, 100, 1 << 20} {
		name := fmt.Sprintf("chk-%d", n)
		require.NoError(t, e.Create(t.Context(), name, content(1, n)))
		e.has(t, name, content(1, n))
	}
}

func createChangesNothing(t *testing.T, e *env) {
	require.NoError(t, e.Create(t.Context(), "created", content(1, 100)))
	e.put(t, "put", content(2, 100))
	for _, again := range [][]byte{content(1, 100), content(3, 100), nil} { // the same bytes too
		require.ErrorIs(t, e.Create(t.Context(), "created", again), checkpoint.ErrExists)
		require.ErrorIs(t, e.Create(t.Context(), "put", again), checkpoint.ErrExists)
	}
	e.has(t, "created", content(1, 100))
	e.has(t, "put", content(2, 100))
}

func createIsExclusive(t *testing.T, e *env) {
	const rounds, racers = 20, 16
	for round := range rounds {
		name := fmt.Sprintf("chk-%d", round)
		start := make(chan struct{})
		errs := make([]error, racers)
		var racing sync.WaitGroup
		for n := range racers {
			racing.Go(func() {
				<-start
				errs[n] = e.Create(t.Context(), name, content(uint64(n), 1000))
			})
		}
		close(start)
		racing.Wait()
		won := []int{}
		for n, err := range errs {
			if err == nil {
				won = append(won, n)
			} else {
				require.ErrorIs(t, err, checkpoint.ErrExists)
			}
		}
		require.Len(t, won, 1, "round %d: who created it", round)
		e.has(t, name, content(uint64(won[0]), 1000))
	}
}

func createAfterDelete(t *testing.T, e *env) {
	for seed := range uint64(2) {
		require.NoError(t, e.Create(t.Context(), "a", content(seed, 10)))
		e.has(t, "a", content(seed, 10))
		require.NoError(t, e.Delete(t.Context(), "a"))
		_, err := e.read(t.Context(), "a")
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}
