package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// node is a file or a folder. It has no name: its folders know it.
type node struct {
	id  int
	dir bool

	// Of a file.
	data     []byte
	synced   int  // bytes of data that are on the disk for sure
	dropped  bool // a sync failed: what lay behind synced then never gets there
	modified time.Time

	// Of a folder.
	seen, disk map[string]*node
	pending    []change // what lies between the two
}

// change is one of a folder: what has these names from then on; nil: nothing.
type change map[string]*node

func (c change) on(names map[string]*node) {
	for name, n := range c {
		if n == nil {
			delete(names, name)
		} else {
			names[name] = n
		}
	}
}

func (f *FS) node(dir bool) *node {
	f.nodes++
	n := &node{id: f.nodes, dir: dir, modified: f.now()}
	if dir {
		n.seen, n.disk = map[string]*node{}, map[string]*node{}
	}
	return n
}

func (n *node) change(c change) {
	c.on(n.seen)
	n.pending = append(n.pending, c)
}

func (n *node) sync() {
	for _, c := range n.pending {
		c.on(n.disk)
	}
	n.pending = nil
	if !n.dropped {
		n.synced = len(n.data)
	}
}

// size is that of a file, or of all files in a folder, in bytes, without those that were counted.
func (n *node) size(counted map[*node]bool) int64 {
	if counted[n] {
		return 0
	}
	counted[n] = true
	size := int64(len(n.data))
	for _, in := range n.seen {
		size += in.size(counted)
	}
	return size
}

// byAge makes what a seed does the same each time, whatever the names are.
func byAge(names map[string]*node) []*node {
	return slices.SortedFunc(maps.Values(names), func(a, b *node) int { return a.id - b.id })
}

// Crashed returns what the next process finds on the disk after a crash: what was synced, and of the rest nothing, all or
// some, for names and for bytes, as r has it; if r is nil, nothing. No lock is held there, and no operation is made to
// fail. The file system itself is left as it is and may be asked again.
func (f *FS) Crashed(r *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := New()
	next.now, next.space, next.nodes = f.now, f.space, f.nodes
	c := crash{r: r, names: chance(r), bytes: chance(r), copies: map[*node]*node{}}
	next.root = c.of(f.root)
	return next
}

// crash copies what survives.
type crash struct {
	r            *rand.Rand
	names, bytes float64         // chance of each change, and of each sector, to survive
	copies       map[*node]*node // a file with two names stays one
}

func chance(r *rand.Rand) float64 {
	if r == nil {
		return 0
	}
	return []float64{0, 1, 0.5, r.Float64()}[r.IntN(4)]
}

func (c *crash) survives(chance float64) bool { return c.r != nil && c.r.Float64() < chance }

func (c *crash) of(n *node) *node {
	if to := c.copies[n]; to != nil {
		return to
	}
	to := &node{id: n.id, dir: n.dir, modified: n.modified}
	c.copies[n] = to
	if !n.dir {
		to.data = c.data(n)
		to.synced = len(to.data)
		return to
	}
	names := maps.Clone(n.disk)
	for _, change := range n.pending {
		if c.survives(c.names) {
			change.on(names)
		}
	}
	for _, in := range byAge(names) {
		c.of(in)
	}
	for name, in := range names {
		names[name] = c.copies[in]
	}
	to.disk, to.seen = names, maps.Clone(names)
	return to
}

const sector = 512 // bytes that get to the disk at once

// data is what a crash leaves of a file: it has grown by some of what was not synced, and of those sectors some were written.
func (c *crash) data(n *node) []byte {
	data := slices.Clone(n.data[:n.synced])
	rest := n.data[n.synced:]
	if c.r == nil || len(rest) == 0 {
		return data
	}
	if c.bytes < 1 {
		rest = rest[:[]int{0, len(rest), c.r.IntN(len(rest) + 1)}[c.r.IntN(3)]]
	}
	for len(rest) > 0 {
		part := rest[:min(len(rest), sector-len(data)%sector)]
		if c.survives(c.bytes) {
			data = append(data, part...)
		} else {
			data = append(data, make([]byte, len(part))...)
		}
		rest = rest[len(part):]
	}
	return data
}
