package pipeline

import "github.com/spillway-go/spillway/stream"

// replays: a checkpoint of now needs positions only. What an earlier life had
// taken from the source and left as entries, the source does not give again.
func (r *Runner[E]) replays() bool {
	if r.marks == nil {
		return false
	}
	_ = r.settle() // its error is the caller's to find
	return r.oldSettled >= r.writer.Stats().Found
}

// lowWater is, for each split, the position up to which everything is settled.
func (r *Runner[E]) lowWater() []stream.Split {
	if r.idle() { // broken records, which have no sequence, may be the last
		return r.positions.clone().splits
	}
	return r.marks.Positions()
}
