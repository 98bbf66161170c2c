package pipeline

import (
	"slices"
	"strings"

	"github.com/spillway-go/spillway/stream"
)

// positions is, for each split, where the source goes on behind the last record
// that was taken.
type positions struct {
	splits []stream.Split // few: a process reads few splits, and mostly the same as before
	last   int
}

func (p *positions) set(split string, position []byte) {
	if p.last >= len(p.splits) || p.splits[p.last].ID != split {
		p.last = slices.IndexFunc(p.splits, func(s stream.Split) bool { return s.ID == split })
		if p.last < 0 {
			p.last = len(p.splits)
			p.splits = append(p.splits, stream.Split{ID: split})
		}
	}
	s := &p.splits[p.last]
	s.Position = append(s.Position[:0], position...)
}

// apply fills the positions of splits that are known in, and returns the known
// ones that are not among them.
func (p *positions) apply(splits []stream.Split) (unknown []string) {
	for _, known := range p.splits {
		i := slices.IndexFunc(splits, func(s stream.Split) bool { return s.ID == known.ID })
		if i < 0 {
			unknown = append(unknown, known.ID)
			continue
		}
		splits[i].Position = slices.Clone(known.Position)
	}
	return unknown
}

func (p *positions) clone() positions {
	c := positions{splits: slices.Clone(p.splits)}
	for i := range c.splits {
		c.splits[i].Position = slices.Clone(c.splits[i].Position)
	}
	return c
}

// String is for a person: the position alone when there is one split.
func (p *positions) String() string {
	if len(p.splits) == 1 {
		return string(p.splits[0].Position)
	}
	parts := make([]string, len(p.splits))
	for i, s := range p.splits {
		parts[i] = s.ID + "=" + string(s.Position)
	}
	return strings.Join(parts, ",")
}
