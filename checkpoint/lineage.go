package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
)

// Mode says whose a checkpoint is that a life was restored from.
type Mode string

const (
	// Continue goes on with a checkpoint of the job's own, as each restart does. It stays what it is: the job's.
	Continue Mode = "continue"
	// Claim takes it over, also from another job, which must have ended: it is deleted once it is subsumed. One of this job is
	// so as any other ([Options].Retained); another job's by the next complete checkpoint, with its files that no
	// other checkpoint of that job names.
	Claim Mode = "claim"
	// NoClaim leaves it alone: neither it nor its files are ever deleted or shared, by this life or later ones. The next
	// checkpoint is a full one.
	NoClaim Mode = "no-claim"
)

const modes = "continue, claim or no-claim"

func (m Mode) valid() bool { return m == Continue || m == Claim || m == NoClaim }

// Lineage is where a checkpoint comes from.
type Lineage struct {
	RestoredFrom *Origin  `json:"restored_from,omitempty"` // by the life that wrote it; nil: it began without
	Keep         []uint64 `json:"keep,omitempty"`          // of this job, ascending: kept as they are (no-claim)
}

// Origin is a checkpoint that was restored.
type Origin struct {
	Store  string `json:"store,omitempty"` // empty: that which this manifest lies in; else what it was called
	Name   string `json:"name"`            // of its manifest in the store
	ID     uint64 `json:"id"`
	CRC32C CRC    `json:"crc32c"` // that its manifest ends with
	Mode   Mode   `json:"mode"`
}

// RestoredFrom says what this life was restored from, for its manifests, and whose that is. It is called at most once,
// before the first Write; a life that begins without state does not call it.
func (h *History) RestoredFrom(c *Checkpoint, m Mode) error {
	h.turn.Lock()
	defer h.turn.Unlock()
	own := c.same(h.folder)
	switch {
	case h.closed:
		return ErrClosed
	case !m.valid():
		return fmt.Errorf("checkpoint: mode: %q: must be %s", m, modes)
	case h.origin != nil || h.files > 0:
		return errors.New("checkpoint: what a life was restored from is said once, before its first checkpoint")
	case m == Continue && !own:
		return fmt.Errorf("checkpoint: %s is not of this job: claim it, or restore it with no-claim", c.Path())
	case m == Claim && own && h.keep[c.ID]:
		return fmt.Errorf("checkpoint: %s is kept as it is, since it was restored with no-claim: use that again", c.Path())
	case m == Claim && !own:
		h.claims = append(h.claims, claim{folder: c.folder, id: c.ID, crc: c.crc})
	case m == NoClaim && (own || h.has(c)):
		h.keep[c.ID] = true
	}
	h.origin = &Origin{Name: c.Name(), ID: c.ID, CRC32C: c.crc, Mode: m}
	if !sameStore(c.store, h.store) {
		h.origin.Store = cmp.Or(describe(c.store), "another")
	}
	return nil
}

// has says whether a checkpoint that was found by another way, or a copy of it, is one of ours.
func (h *History) has(c *Checkpoint) bool {
	s, ok := at(h.log, c.ID)
	return ok && c.path == h.path && s.crc == c.crc
}

// inherit takes over from the log what earlier lives have promised: what is kept, and what was claimed and may be there
// still, if they crashed.
func (h *History) inherit() {
	clear(h.keep)
	h.claims = nil
	for _, s := range h.log {
		if s.m == nil || s.void {
			continue
		}
		for _, id := range s.m.Lineage.Keep {
			h.keep[id] = true
		}
		o := s.m.Lineage.RestoredFrom
		if o == nil || o.Mode != Claim || o.Store != "" || !s.complete() {
			continue
		}
		c := claim{folder: folder{h.store, path.Dir(o.Name) + "/"}, id: o.ID, crc: o.CRC32C, subsumed: true}
		if !c.same(h.folder) && !slices.ContainsFunc(h.claims, func(d claim) bool { return c.path == d.path && c.id == d.id }) {
			h.claims = append(h.claims, c)
		}
	}
}

// kept are the checkpoints that are kept as they are, of those that there are.
func (h *History) kept() []uint64 {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h.keep)), func(id uint64) bool {
		_, ok := at(h.log, id)
		return !ok
	})
}
