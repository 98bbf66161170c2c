package pipeline

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

// A destination that is away for a day costs disk: what comes meanwhile waits there, each checkpoint holds it, and all of it
// is delivered when the destination is back. Nothing is given up unless an age limit says so.
func TestADayOfOutageCostsDiskAndNothingElse(t *testing.T) {
	for name, age := range map[string]time.Duration{"no age limit": 0, "an age limit of an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				const total = 1440 // one a minute
				var away atomic.Bool
				away.Store(true)
				dst := store{trip: time.Millisecond, answer: func(string, int) asyncsink.Outcome {
					if away.Load() {
						return asyncsink.Outcome{Kind: asyncsink.Retry}
					}
					return asyncsink.Outcome{}
				}}
				j := job(&lines{total: total, pace: time.Minute}, &dst, dir)
				j.State.Interval = 10 * time.Minute
				j.Writer.Held, j.Writer.Spill.Bytes = limits.Held{Entries: 100}, 64<<20
				j.Writer.Retry = limits.Retry{Age: age, Cap: 10 * time.Minute}
				dead := &deadLetters{}
				j.DeadLetters = dead
				log := logged(&j)
				result := run(t, j, func(r *Runner[string]) {
					time.Sleep(24 * time.Hour)
					away.Store(false)
				})
				require.NoError(t, result.Err)
				require.Equal(t, Done, result.Outcome)
				require.EqualValues(t, total, result.Accepted)
				require.Greater(t, count(log, "msg=checkpoint "), 140)
				require.Zero(t, count(log, "checkpoint failed"))
				if age == 0 {
					require.Zero(t, result.Dead)
					dst.has(t, total)
					return
				}
				require.Greater(t, result.Dead, int64(total*9/10))
				for _, l := range dead.letters {
					require.Equal(t, "age", l.Class)
				}
				require.EqualValues(t, total, result.Delivered+result.Dead)
			})
		})
	}
}
