package pipeline

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/stream"
)

// shelves is a source of several splits, read in turn; each ends on its own.
type shelves struct {
	ids   []string
	total map[string]int
	next  map[string]int
	turn  int
}

func newShelves(total map[string]int, ids ...string) *shelves {
	return &shelves{ids: ids, total: total, next: map[string]int{}}
}

func (s *shelves) Replayable() bool      { return true }
func (s *shelves) Revoke([]string) error { return nil }
func (s *shelves) Close() error          { return nil }

func (s *shelves) Discover(context.Context) (splits []stream.Split, _ error) {
	for _, id := range s.ids {
		splits = append(splits, stream.Split{ID: id})
	}
	return splits, nil
}

func (s *shelves) Assign(splits []stream.Split) error {
	for _, split := range splits {
		if split.Position != nil {
			n, err := strconv.Atoi(string(split.Position))
			if err != nil {
				return err
			}
			s.next[split.ID] = n
		}
	}
	return nil
}

func (s *shelves) Read(ctx context.Context, dst []stream.Record) (n int, err error) {
	for n < min(len(dst), 7) {
		tries := 0
		for ; tries < len(s.ids); tries++ {
			if s.turn++; s.next[s.ids[s.turn%len(s.ids)]] < s.total[s.ids[s.turn%len(s.ids)]] {
				break
			}
		}
		if tries == len(s.ids) {
			break
		}
		id := s.ids[s.turn%len(s.ids)]
		dst[n] = stream.Record{Split: id, Position: strconv.AppendInt(nil, int64(s.next[id]+1), 10), Value: fmt.Appendf(nil, "%s-%d", id, s.next[id])}
		s.next[id]++
		n++
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, ctx.Err()
}

// A job of three splits, one of which ends early, is stopped in the middle: each
// split goes on from its own position.
func TestEachSplitGoesOnFromItsOwnPosition(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		total := map[string]int{"a": 10, "b": 700, "c": 400}
		dst := store{trip: 10 * time.Millisecond}
		life := func(during func(*Runner[string]), ids ...string) Result {
			j := job(nil, &dst, dir)
			j.Source = newShelves(total, ids...)
			j.Writer.Held.Entries, j.Writer.Batch.Entries = 20, 20
			return run(t, j, during)
		}
		first := life(func(r *Runner[string]) {
			time.Sleep(300 * time.Millisecond)
			r.Stop()
		}, "a", "b", "c")
		require.NoError(t, first.Err)
		require.Equal(t, Stopped, first.Outcome)
		require.Less(t, first.Accepted, int64(1110))

		require.ErrorAs(t, life(nil, "a", "c").Err, new(*UnknownSplitError), "b is gone")

		second := life(nil, "a", "b", "c")
		require.NoError(t, second.Err)
		require.EqualValues(t, 1110, first.Accepted+second.Accepted, "no record is read twice")
		seen := map[string]int{}
		for _, e := range dst.got {
			seen[e]++
		}
		require.Len(t, seen, 1110)
		require.Len(t, dst.got, 1110, "and none is delivered twice")
	})
}
