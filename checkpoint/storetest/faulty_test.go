package storetest_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/storetest"
)

// twelve is the object that the calls of [ask] meet, and that they make.
var twelve = []byte("twelve bytes")

// ask makes one call.
func ask(ctx context.Context, s checkpoint.Store, op storetest.Op) (found string, err error) {
	switch op {
	case storetest.Put:
		return "", put(ctx, s, "b", twelve)
	case storetest.Create:
		return "", s.Create(ctx, "b", twelve)
	case storetest.Copy:
		return "", s.Copy(ctx, "a", "b")
	case storetest.Delete:
		return "", s.Delete(ctx, "a")
	case storetest.List:
		infos, err := s.List(ctx, "")
		for _, i := range infos {
			found += i.Name
		}
		return found, err
	}
	r, err := s.Open(ctx, "a")
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

// there is what the store has.
func there(t *testing.T, s checkpoint.Store) map[string]string {
	infos, err := s.List(t.Context(), "")
	require.NoError(t, err)
	all := map[string]string{}
	for _, i := range infos {
		r, err := s.Open(t.Context(), i.Name)
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		all[i.Name] = string(b)
	}
	return all
}

func TestAFaultyStoreFailsStallsAndLiesAsItIsTold(t *testing.T) {
	const half = "twelve"
	before := map[string]string{"a": "twelve bytes", "x": "twelve bytes"}
	with := func(b string) map[string]string {
		return map[string]string{"a": "twelve bytes", "b": b, "x": "twelve bytes"}
	}
	writes := map[storetest.Op]map[string]string{ // what is there once it took effect
		storetest.Put: with("twelve bytes"), storetest.Create: with("twelve bytes"), storetest.Copy: with("twelve bytes"),
		storetest.Delete: {"x": "twelve bytes"}, storetest.Open: before, storetest.List: before,
	}
	halves := map[storetest.Op]map[string]string{
		storetest.Put: with(half), storetest.Create: with(half), storetest.Copy: with(half),
		storetest.Delete: before, storetest.Open: before, storetest.List: before,
	}
	reads := map[storetest.Op]string{storetest.Open: "twelve bytes", storetest.List: "ax"}
	halfReads := map[storetest.Op]string{storetest.Open: half, storetest.List: "a"}

	for op := range writes {
		for fault, want := range map[storetest.Fault]struct {
			err   error
			found string
			there map[string]string
		}{
			storetest.None:        {nil, reads[op], writes[op]},
			storetest.FailBefore:  {storetest.ErrFault, "", before},
			storetest.FailAfter:   {storetest.ErrFault, "", writes[op]},
			storetest.StallBefore: {context.Canceled, "", before},
			storetest.StallAfter:  {context.Canceled, "", writes[op]},
			storetest.LieNothing:  {nil, "", before},
			storetest.LieHalf:     {nil, halfReads[op], halves[op]},
		} {
			synctest.Test(t, func(t *testing.T) {
				below := memory()
				require.NoError(t, put(t.Context(), below, "a", twelve))
				require.NoError(t, put(t.Context(), below, "x", twelve))
				f := storetest.NewFaulty(below, storetest.AtOp(op, 1, fault))
				ctx, cancel := context.WithCancel(t.Context())
				if fault == storetest.StallBefore || fault == storetest.StallAfter {
					go func() {
						synctest.Wait() // until the call stalls
						cancel()
					}()
				}
				found, err := ask(ctx, f, op)
				cancel()
				require.ErrorIs(t, err, want.err, "%s %d", op, fault)
				require.Equal(t, want.found, found, "%s %d", op, fault)
				require.Equal(t, want.there, there(t, below), "%s %d", op, fault)
			})
		}
	}
}

func TestTheCallsOfAFaultyStoreAreNumbered(t *testing.T) {
	f := storetest.NewFaulty(memory(), storetest.At(3, storetest.FailBefore))
	require.NoError(t, put(t.Context(), f, "a", twelve))
	require.NoError(t, f.Copy(t.Context(), "a", "b"))
	require.ErrorIs(t, put(t.Context(), f, "c", twelve), storetest.ErrFault)
	f.Decide(storetest.AtOp(storetest.Put, 4, storetest.FailAfter))
	require.NoError(t, put(t.Context(), f, "c", twelve))
	require.ErrorIs(t, put(t.Context(), f, "c", twelve), storetest.ErrFault)
	require.Equal(t, []storetest.Call{
		{N: 1, Nth: 1, Op: storetest.Put, Name: "a"},
		{N: 2, Nth: 1, Op: storetest.Copy, Name: "a", To: "b"},
		{N: 3, Nth: 2, Op: storetest.Put, Name: "c"},
		{N: 4, Nth: 3, Op: storetest.Put, Name: "c"},
		{N: 5, Nth: 4, Op: storetest.Put, Name: "c"},
	}, f.Calls())
}

func TestALieStillSaysWhatTheStoreBelowSays(t *testing.T) {
	for _, lie := range []storetest.Fault{storetest.LieNothing, storetest.LieHalf} {
		f := storetest.NewFaulty(memory(), func(storetest.Call) storetest.Fault { return lie })
		_, err := f.Open(t.Context(), "a")
		require.Error(t, err, "there is none")
		require.ErrorIs(t, f.Put(t.Context(), "a", func(io.Writer) error { return io.ErrClosedPipe }), io.ErrClosedPipe)
	}
	f := storetest.NewFaulty(memory(), storetest.At(1, storetest.LieHalf))
	require.Error(t, f.Copy(t.Context(), "a", "b"), "there is none")
}
