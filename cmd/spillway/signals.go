package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/pipeline"
)

// errGivenUp: a third signal ended the process while the job was still saving.
var errGivenUp = errors.New("given up by a third signal: what the last checkpoint does not hold was not saved")

// heed waits for the result of a job while signals stop it.
func heed(signals <-chan os.Signal, results <-chan pipeline.Result, r *pipeline.Runner[kinesis.Record], log *slog.Logger) (result pipeline.Result, ended bool) {
	for n := 1; ; n++ {
		select {
		case result := <-results:
			return result, true
		case s := <-signals:
			switch n {
			case 1:
				log.Info("stopping: no more is read, and what is held is delivered until the deadline; a second signal saves it at once", "signal", s.String())
				r.Stop()
			case 2:
				log.Warn("stopping at once: what is held is saved; a third signal gives that up", "signal", s.String())
				r.Stop()
			default:
				return givenUp(r.Stats()), false
			}
		}
	}
}

func givenUp(s pipeline.Stats) pipeline.Result {
	return pipeline.Result{
		Outcome: pipeline.Failed, Err: errGivenUp,
		Accepted: s.Accepted.Entries + s.Broken, Restored: s.Restored.Entries, Delivered: s.Delivered.Entries,
		Dead: s.Dead.Entries + s.Broken, Left: s.Held().Entries, PossibleDuplicates: s.PossibleDuplicates.Entries,
	}
}
