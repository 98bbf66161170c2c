package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// hanging makes every PutRecords hang until its time-out.
func (w *world) hanging() { w.srv.Inject(kinesistest.MustParseFault("PutRecords hang")) }

// onceHeld sends signals as soon as the log shows a checkpoint with entries.
func (w *world) onceHeld(signals ...os.Signal) {
	go func() {
		w.stderr.wait("INFO checkpoint id=")
		for _, s := range signals {
			w.signals <- s
		}
	}()
}

func TestASignalDrainsSavesTheRestAndTheNextRunDeliversIt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", plainJob)
		w.write("in.jsonl", numbered(0, 20_000))
		w.hanging()
		w.onceHeld(syscall.SIGTERM)
		begun := time.Now()
		r := w.job("--shutdown.deadline=5s")
		require.WithinDuration(w, begun.Add(6*time.Second), time.Now(), time.Second, "a checkpoint, and then the deadline")
		outcome, c := r.last(w)
		require.Equal(w, "stopped", outcome)
		require.Equal(w, 3, r.code)
		require.EqualValues(w, 10_000, c.left, "as much as may be held")
		require.Contains(w, r.stderr, "INFO stopping: no more is read")
		require.Contains(w, r.stderr, "signal=terminated")
		require.Contains(w, r.stderr, "WARN stopped with entries left: the next run delivers them first left=10000")

		w.srv.ClearFaults()
		r = w.job()
		r.ended(w, 0, "done", counts{accepted: 10_000, restored: 10_000, delivered: 20_000, duplicates: r.duplicates(w)})
		require.Contains(w, r.stderr, "entries=10000 position=")
		require.Len(w, w.stored(), 20_000)
	})
}

func (r ran) duplicates(t testing.TB) int64 {
	_, c := r.last(t)
	return c.duplicates
}

func TestASecondSignalSavesAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", keyedJob)
		w.write("in.jsonl", numbered(0, 100))
		w.hanging()
		w.onceHeld(os.Interrupt, os.Interrupt)
		begun := time.Now()
		r := w.job("--shutdown.deadline=10h")
		require.Less(w, time.Since(begun), 5*time.Second)
		outcome, c := r.last(w)
		require.Equal(w, "stopped", outcome)
		require.Equal(w, 3, r.code)
		require.EqualValues(w, 100, c.left)
		require.Contains(w, r.stderr, "WARN stopping at once")
		w.srv.ClearFaults()
		_, c = w.job().last(w)
		require.EqualValues(w, 100, c.delivered)
	})
}

func TestAThirdSignalGivesUpAndTheLastCheckpointStays(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("job.yaml", plainJob)
		w.write("in.jsonl", numbered(0, 100))
		stuck := make(chan struct{})
		connect := w.connect
		w.connect = func(ctx context.Context, c kinesis.Config, log *slog.Logger) (kinesis.API, error) {
			for range 3 {
				w.signals <- syscall.SIGTERM
			}
			<-stuck // whatever its context says
			return connect(ctx, c, log)
		}
		r := w.job()
		r.ended(w, 1, "failed", counts{})
		require.Contains(w, r.stderr, "ERROR given up by a third signal")
		close(stuck) // the process would be gone
		synctest.Wait()
		w.connect = connect
		_, c := w.job().last(w)
		require.EqualValues(w, 100, c.delivered)
	})
}

func TestAnIdleInputStopsWithNothingLeft(t *testing.T) {
	inWorld(t, func(w *world) {
		in, out := io.Pipe()
		w.stdin = in
		go func() {
			_, _ = out.Write([]byte("a\nb\n"))
			w.stderr.wait("INFO checkpoint id=")
			w.signals <- syscall.SIGTERM
		}()
		r := w.run("run", "--name=x", "--source.stdin", "--sink.kinesis.stream=s", "--state.url=file:state")
		r.ended(w, 3, "stopped", counts{accepted: 2, delivered: 2})
		require.Contains(w, r.stderr, "INFO stopped: all that was read is settled")
		require.NoError(w, out.Close())
	})
}

func TestWhatIsLeftWithoutStateIsAFailure(t *testing.T) {
	inWorld(t, func(w *world) {
		w.write("in.jsonl", numbered(0, 100))
		w.hanging()
		go func() {
			w.stderr.wait("INFO progress")
			w.signals <- syscall.SIGTERM
		}()
		r := w.run("run", "--name=x", "--source.file.path=in.jsonl", "--sink.kinesis.stream=s", "--shutdown.deadline=1s")
		outcome, c := r.last(w)
		require.Equal(w, "failed", outcome)
		require.Equal(w, 1, r.code)
		require.EqualValues(w, 100, c.left)
		require.Contains(w, r.stderr, "entries are left and were not saved")
	})
}
