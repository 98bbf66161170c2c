package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/checkpoint/blobstore"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/connectors/file"
	"github.com/spillway-go/spillway/pipeline"
	"github.com/spillway-go/spillway/statecodec"
)

// lastLine is the last line of standard output as JSON.
type lastLine struct {
	Spillway           pipeline.Outcome `json:"spillway"` // as the text has it
	Outcome            pipeline.Outcome `json:"outcome"`  // as a reader of JSON expects it
	Accepted           int64            `json:"accepted"`
	Restored           int64            `json:"restored"`
	Delivered          int64            `json:"delivered"`
	Dead               int64            `json:"dead"`
	Left               int64            `json:"left"`
	PossibleDuplicates int64            `json:"possible_duplicates"`
	Error              string           `json:"error"`
}

// end writes the last line and returns the exit status.
func end(stdout io.Writer, s config.Settings, r pipeline.Result) int {
	if s.Output != config.JSON {
		fmt.Fprintf(stdout, "spillway: %s accepted=%d restored=%d delivered=%d dead=%d left=%d possible_duplicates=%d\n",
			r.Outcome, r.Accepted, r.Restored, r.Delivered, r.Dead, r.Left, r.PossibleDuplicates)
		return status(r)
	}
	line := lastLine{r.Outcome, r.Outcome, r.Accepted, r.Restored, r.Delivered, r.Dead, r.Left, r.PossibleDuplicates, ""}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	_ = json.NewEncoder(stdout).Encode(line) // whoever closed it does not want to know
	return status(r)
}

// status is the exit status of a result.
func status(r pipeline.Result) int {
	switch {
	case r.Outcome == pipeline.Done:
		return exitSettled
	case r.Outcome == pipeline.Stopped:
		return exitStopped
	case is[config.Faults](r.Err):
		return exitUsage
	case is[*pipeline.CheckpointError](r.Err): // whatever made them fail
		return exitFailed
	case stateRefused(r.Err):
		return exitState
	}
	return exitFailed
}

// stateRefused says whether an error is about the state and not about the work: to start again will not help.
func stateRefused(err error) bool {
	return is[*checkpoint.LockedError](err) || is[*checkpoint.OtherJobError](err) || is[*checkpoint.DamagedError](err) ||
		is[*checkpoint.StaleEpochError](err) || is[*checkpoint.NotFoundError](err) || is[*blobstore.NotExclusiveError](err) ||
		is[*statecodec.NewerError](err) || is[*statecodec.FormatError](err) || errors.Is(err, statecodec.ErrNotSnapshot) ||
		is[*file.ChangedError](err) || is[*file.SplitError](err) || is[*file.PositionError](err) ||
		is[*pipeline.UnknownSplitError](err) || is[*pipeline.UnknownOperatorError](err) || is[*asyncsink.StateError](err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
