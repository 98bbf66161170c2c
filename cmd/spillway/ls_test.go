package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
)

var orders = checkpoint.Job{Name: "orders", Instance: "0"}

func TestLsShowsJobsAndWhatTheirCheckpointsCost(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 3)
		l.write(0, records(1, 1000)...)
		time.Sleep(90 * time.Second)
		second := l.write(11, records(1001, 2)...)
		log, state := second.Files[0].Size, second.Files[1].Size
		newLife(w, local(w), checkpoint.Job{Name: "orders", Instance: "1"}, 2)
		r := w.look("ls", "file:state")
		require.Equal(w, ran{0, fmt.Sprintf(`orders/0
  ID  EPOCH  TIME                    AGE  FINAL  ENTRIES  FILES   OWN   SHARED  NOTE
   2      1  2000-01-01T00:00:00Z  1m30s  no       1,000      1    0B  %7s
   3      1  2000-01-01T00:01:30Z    0ms  no         992      2  %4s  %[1]s

orders/1
  no complete checkpoint
`, size(log), size(state)), ""}, r)
		require.Equal(w, r, w.look("ls", "file:state", "orders"))
		require.Equal(w, r.stdout[:strings.Index(r.stdout, "\n\n")+1], w.look("ls", "file:state", "orders/0").stdout)

		all := w.look("ls", "file:state", "--output=json").objects(w)
		require.Len(w, all, 2)
		for name, want := range map[string]any{
			"type": "checkpoint", "job": "orders", "instance": "0", "id": 3.0, "epoch": 1.0, "time": "2000-01-01T00:01:30Z", "age_seconds": 0.0,
			"entries": 992.0, "files": 2.0, "own_bytes": float64(state), "shared_bytes": float64(log), "bytes": float64(log + state), "kept": false, "claimed": false, "restored_from": nil, "unusable": "", "error": "",
		} {
			require.Equal(w, want, all[1][name], name)
		}
		require.EqualValues(w, 90, all[0]["age_seconds"])
	})
}

func TestLsSaysWhatIsKeptClaimedOrCannotBeUsed(t *testing.T) {
	inWorld(t, func(w *world) {
		s := local(w)
		first := newLife(w, s, orders, 9)
		kept := first.write(0, records(1, 10)...)
		first.write(0, records(11, 10)...)
		claimed := first.write(0, records(21, 10)...)
		require.NoError(w, first.Close())
		second := newLife(w, s, orders, 9)
		require.NoError(w, second.RestoredFrom(kept, checkpoint.NoClaim))
		second.write(0, records(31, 10)...)
		other := newLife(w, s, checkpoint.Job{Name: "others"}, 9)
		require.NoError(w, other.RestoredFrom(claimed, checkpoint.Claim))
		defer other.Retain(claimed.ID)() // else it is deleted at once
		other.write(0, records(31, 10)...)
		w.write("state/orders/0/chk-00000000000000000003", "?")
		require.NoError(w, os.Remove("state/orders/0/data/2-1"))

		r := w.look("ls", "file:state", "orders")
		require.Equal(w, 4, r.code)
		notes := map[string]string{}
		for line := range strings.Lines(r.stdout) {
			if f := strings.Fields(line); len(f) >= 9 && len(f[0]) == 1 {
				notes[f[0]] = strings.Join(f[9:], " ")
			}
		}
		require.Equal(w, map[string]string{"2": "kept", "3": "damaged", "4": "", "6": "damaged"}, notes, "whether others have claimed it shows only beside them")
		require.Contains(w, r.stdout, "   3      -  -                       -")
		require.Contains(w, r.stdout, "  orders/0/chk-00000000000000000003 at byte 1: it is not whole: its last line is missing: move\n")
		require.Contains(w, r.stdout, "  orders/0/data/2-1 at byte 0: it is not there: move ")
		for line := range strings.Lines(r.stdout) {
			require.LessOrEqual(w, len(line), lineWidth+1, line)
		}
		require.Contains(w, w.look("ls", "file:state").stdout, "  claimed\n")

		all := w.look("ls", "file:state", "orders", "--output", "json").objects(w)
		require.Len(w, all, 4)
		require.Equal(w, "damaged", all[1]["unusable"])
		require.Nil(w, all[1]["time"])
		require.Equal(w, w.abs("state/orders/0/chk-00000000000000000003"), all[1]["path"])
		require.Equal(w, "no-claim", all[3]["restored_from"].(map[string]any)["mode"])
	})
}

func TestStateOfANewerProgramOrAnotherJobIsShownAsSuch(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, records(1, 10)...)
		w.newer("state/orders/0/chk-00000000000000000002")
		newLife(w, local(w), checkpoint.Job{Name: "moved"}, 2).write(0, records(1, 10)...)
		require.NoError(w, os.Rename("state/moved", "state/others"))
		r := w.look("ls", "file:state")
		require.Equal(w, 4, r.code)
		require.Regexp(w, ` 2 .* newer\n`, r.stdout)
		require.Regexp(w, ` 2 .* of another job\n`, r.stdout)
		require.Contains(w, r.stdout, "has version 99")
		require.Contains(w, r.stdout, `belongs to job "moved"`)
		r = w.look("verify", "file:state")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stdout, "orders/0 checkpoint 2: newer\n")
		require.Contains(w, r.stdout, "others/0 checkpoint 2: of another job\n")
	})
}

func TestWhereNothingIsThatIsSaid(t *testing.T) {
	inWorld(t, func(w *world) {
		require.Equal(w, ran{1, "", "spillway: there is no folder " + w.abs("state") + "\n"}, w.look("ls", "file:state"))
		require.NoError(w, os.Mkdir("state", 0o700))
		require.Equal(w, ran{0, "no job has state in file:state\n", ""}, w.look("ls", "file:state"))
		require.Equal(w, ran{0, "no complete checkpoint\n", ""}, w.look("verify", "file:state"))
		require.Equal(w, ran{1, "", "spillway: there is no state of orders in file:state, nor of any other job\n"}, w.look("verify", "file:state", "orders"))
		newLife(w, local(w), orders, 2)
		require.Equal(w, ran{1, "", "spillway: there is no state of orders/1 in file:state: spillway state ls file:state lists what there is\n"}, w.look("ls", "file:state", "orders/1"))
		require.Equal(w, ran{1, "", "spillway: orders/0 has no complete checkpoint yet\n"}, w.look("inspect", "file:state", "orders"))
		for _, tool := range []string{"inspect", "verify"} {
			require.Equal(w, ran{1, "", "spillway: checkpoint: there is no checkpoint 7, nor any other\n"}, w.look(tool, "file:state", "orders", "--checkpoint=7"))
		}
	})
}
