package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/statecodec"
)

func TestVerifySaysOfEachCheckpointWhetherItIsWhole(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		first := l.write(0, records(1, 5)...).Bytes()
		both := l.write(4, records(6, 2)...).Bytes()
		newLife(w, local(w), checkpoint.Job{Name: "orders", Instance: "1"}, 2)
		require.Equal(w, ran{0, fmt.Sprintf(`orders/0 checkpoint 3: whole: 2 files, %s, 4 entries
orders/0 checkpoint 2: whole: 1 file, %s, 5 entries
2 checkpoints: 2 whole
`, size(both), size(first)), ""}, w.look("verify", "file:state"))
		require.Equal(w, fmt.Sprintf("orders/0 checkpoint 3: whole: 2 files, %s, 4 entries\n1 checkpoint: 1 whole\n", size(both)),
			w.look("verify", "file:state", "orders", "--checkpoint=3").stdout)
		require.Equal(w, []map[string]any{{
			"type": "verdict", "job": "orders", "instance": "0", "id": 2.0, "verdict": "whole", "files": 1.0, "bytes": float64(first),
			"entries": 5.0, "readable": 5.0, "damage": nil, "advice": "",
		}}, w.look("verify", "file:state", "orders/0", "--checkpoint=2", "--output=json").objects(w))
		require.Equal(w, 1, w.look("verify", "file:state", "--checkpoint=9").code)
	})
}

func TestVerifyNamesEachDamagedFileWithPlaceAndAdvice(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 9)
		l.write(0, records(1, 20_000)...)
		l.write(4, records(20_001, 2)...)
		l.write(0, records(20_003, 2)...)
		l.write(0, records(20_005, 2)...)
		w.flip("state/orders/0/data/1-1")
		require.NoError(w, os.Truncate("state/orders/0/data/1-3", 100))
		w.write("state/orders/0/chk-00000000000000000005", "?")

		r := w.look("verify", "file:state")
		require.Equal(w, 4, r.code)
		require.Empty(w, r.stderr)
		m := regexp.MustCompile(`(?m)^orders/0 checkpoint 2: damaged: ([\d,]+) of 20,000 entries can be read\n    orders/0/data/1-1 at byte (\d+) for ([\d,]+) bytes: checksum: of the block\n`).FindStringSubmatch(r.stdout)
		require.NotNil(w, m, r.stdout)
		for _, says := range []string{
			"orders/0 checkpoint 3: damaged: ", "go back to\n    checkpoint 2,",
			"orders/0 checkpoint 4: damaged: 0 of 2 entries can be read\n", "    orders/0/data/1-3 at byte ",
			"orders/0 checkpoint 5: damaged\n", "    orders/0/chk-00000000000000000005 at byte 1: it is not whole",
			"4 checkpoints: 4 damaged\nspillway run --skip-damaged goes on with what can be read",
		} {
			require.Contains(w, r.stdout, says)
		}
		for line := range strings.Lines(r.stdout) {
			require.LessOrEqual(w, len(line), lineWidth+1, line)
		}
		all := w.look("verify", "file:state", "--output=json").objects(w)
		require.Len(w, all, 4)
		require.EqualValues(w, 5, all[0]["id"], "the newest first")
		first := all[3]
		place := first["damage"].([]any)[0].(map[string]any)
		require.Equal(w, w.abs("state/orders/0/data/1-1"), place["path"])
		require.Positive(w, place["length"])
		require.Positive(w, first["readable"])
		require.NotEmpty(w, first["advice"])
	})
}

func TestDamageOfAnOldCheckpointIsToldWithoutAlarm(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.write(0, records(1, 5)...)
		l.write(0, records(6, 5)...)
		w.flip("state/orders/0/data/1-1")
		r := w.look("verify", "file:state")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stdout, "    the job goes on with checkpoint 3, which is newer and whole\n2 checkpoints: 1 damaged, 1 whole\n")
		require.NotContains(w, r.stdout, "--skip-damaged")
	})
}

func TestVerifyFindsWhatOnlyTheChecksumOfTheFileShows(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.write(0, records(1, 20_000)...)
		l.write(19_990, records(20_001, 1)...) // of the first file only the last entries are held
		require.NoError(w, os.Remove("state/orders/0/chk-00000000000000000002"))
		b := []byte(w.read("state/orders/0/data/1-1"))
		b[len(b)-1] ^= 1 // behind all entries
		w.write("state/orders/0/data/1-1", string(b))
		r := w.look("verify", "file:state")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stdout, "checkpoint 3: damaged: all of its 12 entries can be read\n")
		require.Contains(w, r.stdout, "data/1-1 at byte 0: its bytes are not those that were written")
	})
}

func TestVerifyFindsEntriesThatAreMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		l.claims = 1
		l.write(0, records(1, 5)...)
		r := w.look("verify", "file:state")
		require.Equal(w, 4, r.code)
		require.Contains(w, r.stdout, "it has 5 entries, and should have 6")
	})
}

func TestWhatIsDeletedMeanwhileIsNoDamage(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, records(1, 5)...)
		remove := func(name string) error {
			if !strings.Contains(name, "data/") {
				return nil
			}
			require.NoError(w, os.RemoveAll("state/orders/0/data"))
			return os.RemoveAll("state/orders/0/chk-00000000000000000002")
		}
		kept := w.TempDir() + "/kept"
		require.NoError(w, os.CopyFS(kept, os.DirFS("state")))
		w.over(&hooked{Store: local(w), open: remove})
		r := w.look("verify", "file:state")
		require.Equal(w, 0, r.code, r.stdout)
		require.Contains(w, r.stdout, "orders/0 checkpoint 2: gone: it was deleted meanwhile: newer ones have taken its place\n")

		require.NoError(w, os.RemoveAll("state"))
		require.NoError(w, os.CopyFS("state", os.DirFS(kept)))
		r = w.look("inspect", "file:state", "orders")
		require.Equal(w, 1, r.code)
		require.Contains(w, r.stderr, "checkpoint 2 was deleted meanwhile: newer ones have taken its place: look again")
	})
}

func TestAStoreThatCannotBeReadIsNoDamage(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, records(1, 5)...)
		for _, part := range []string{"data/", "chk-"} {
			w.over(&hooked{Store: local(w), open: func(name string) error {
				if strings.Contains(name, part) {
					return &fs.PathError{Op: "read", Path: name, Err: syscall.EIO}
				}
				return nil
			}})
			for _, tool := range []string{"verify", "inspect"} {
				r := w.look(tool, "file:state", "orders")
				require.Equal(w, 1, r.code, r.stdout)
				require.Contains(w, r.stderr, "input/output error")
			}
		}
	})
}

func TestToolsWorkWhileAJobRunsAndChangeNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 1000))
		w.hanging()
		go func() {
			w.stderr.wait("INFO checkpoint id=")
			before := tree(w, ".")
			for _, args := range [][]string{
				{"ls", "file:state"}, {"inspect", "file:state", "orders", "--data"}, {"verify", "file:state"},
				{"ls", "file:state", "none"}, {"inspect", "file:nowhere", "orders"},
			} {
				r := w.look(args...)
				require.Equal(w, args[1] == "file:nowhere" || len(args) == 3 && args[2] == "none", r.code != 0, r.stderr)
			}
			require.Equal(w, before, tree(w, "."))
			w.signals <- syscall.SIGTERM
			w.signals <- syscall.SIGTERM
		}()
		w.job("--shutdown.deadline=10h").ended(w, 3, "stopped", counts{accepted: 1000, left: 1000})
	})
}

func TestOnATerminalVerifyShowsHowFarItIs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.width = func() int { return 100 }
		newLife(w, local(w), orders, 2).write(0, records(1, 50_000)...)
		w.over(&hooked{Store: local(w), read: func() { time.Sleep(50 * time.Millisecond) }})
		r := w.look("verify", "file:state")
		require.Equal(w, 0, r.code)
		drawn := strings.Split(r.stderr, clear)
		require.Regexp(w, `^verified +\d+%   \[#+\.+\]   [\d.]+KiB of 2\.\dMiB   [\d.]+[KM]iB/s   \d+m?s left$`, drawn[3])
		require.Empty(w, drawn[len(drawn)-1], "it is taken away")

		w.width = nil
		w.over(&hooked{Store: local(w), read: func() { time.Sleep(time.Second) }})
		r = w.look("verify", "file:state")
		require.Regexp(w, `^(verified +\d+%   [\d.]+[KM]iB of 2\.\dMiB   [\d.]+[KM]?i?B/s(   \d+s left)?\n)+$`, r.stderr)
		require.NotContains(w, r.stderr, "\r")
	})
}

func TestAVerdictStandsAboveTheStatus(t *testing.T) {
	var b strings.Builder
	s := screen{w: &b, width: func() int { return 80 }}
	require.NoError(t, s.print(&b, "one\n"))
	s.draw("status")
	require.NoError(t, s.print(&b, "two\n"))
	s.draw("")
	require.Equal(t, "one\n"+clear+"status"+clear+"two\nstatus"+clear, b.String())
}

// A state of any size passes through a few blocks. What is live is measured while it is read, and the store gives the
// bytes without holding any.
func TestToolsReadInBoundedMemory(t *testing.T) {
	inWorld(t, func(w *world) {
		l := newLife(w, local(w), orders, 2)
		large := records(1, 1)[0]
		large.Data = append(large.Data, make([]byte, 1<<20)...)
		many := make([]statecodec.Entry, 32)
		for i := range many {
			many[i] = large
			many[i].Seq = uint64(i + 1)
		}
		l.write(0, many...)
		var before, now runtime.MemStats
		peak, reads := uint64(0), 0
		measure := func() {
			if reads++; reads%7 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
		}
		w.over(&hooked{Store: local(w), read: measure})
		for _, args := range [][]string{{"verify", "file:state"}, {"inspect", "file:state", "orders"}} {
			runtime.GC()
			runtime.ReadMemStats(&before)
			peak, reads = 0, 0
			require.Equal(w, 0, w.look(args...).code)
			require.Greater(w, reads, 30)
			require.Less(w, int64(peak)-int64(before.HeapAlloc), int64(4<<20), args)
		}
	})
}

var errClosed = errors.New("closed")

type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, errClosed }

func TestAnOutputThatFailsIsReported(t *testing.T) {
	inWorld(t, func(w *world) {
		newLife(w, local(w), orders, 2).write(0, records(1, 5000)...)
		for _, args := range [][]string{{"ls", "file:state"}, {"inspect", "file:state", "orders"}, {"inspect", "file:state", "orders", "--output=json"}, {"verify", "file:state"}} {
			code, stderr := w.lookInto(closedOutput{}, args...)
			require.Equal(w, 1, code)
			require.Contains(w, stderr, "spillway: closed\n")
		}
	})
}
