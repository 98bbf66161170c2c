package main

import (
	"github.com/spillway-go/spillway/pipeline"
)

// split is a part of the source, and where it goes on.
type split struct {
	Split    string `json:"split"`
	Position string `json:"position"` // as the log has it
}

// positions reads those of the source. What can't be read is told by whoever reads all of it.
func (i *inspection) positions() (all []split) {
	file, err := i.c.Open(i.ctx, i.c.State())
	if err != nil {
		return nil
	}
	defer file.Close()
	splits, _ := pipeline.Positions(file)
	for _, s := range splits {
		all = append(all, split{s.ID, string(s.Position)})
	}
	return all
}
