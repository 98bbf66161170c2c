package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"unicode/utf8"
)

// Bounds of a manifest, kept by those who write one and not taken on trust by those who read one: whatever a file says,
// reading it takes no more than some 100 MiB.
const (
	maxManifest  = 16 << 20 // bytes
	maxValues    = 1 << 18  // of all kinds: more cannot be needed, and each takes more memory than text
	maxFiles     = 1 << 15
	maxOperators = 1 << 12
	maxKept      = 1 << 12
	maxSize      = 1 << 47 // bytes of a file: those of all can be added up
	maxNumber    = 1 << 62 // of checkpoints and epochs: those that follow can be counted
)

// bounded is checked before anything is decoded. Values in JSON stand between commas.
func bounded(b []byte) error {
	if len(b) > maxManifest {
		return fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	if n := bytes.Count(b, []byte{','}); n > maxValues {
		return fmt.Errorf("it has more than %d values", maxValues)
	}
	return nil
}

// check returns all that is wrong with a manifest.
func (m *Manifest) check() error {
	var faults []error
	need := func(ok bool, field string, value any, bound string) {
		if !ok {
			faults = append(faults, fmt.Errorf("%s: %v: must be %s", field, value, bound))
		}
	}
	need(m.Kind == KindCheckpoint || m.Kind == KindEpoch, "kind", m.Kind, KindCheckpoint+" or "+KindEpoch)
	need(m.Ownership == Owned, "ownership", m.Ownership, Owned)
	need(0 < m.ID && m.ID < maxNumber, "id", m.ID, "1 to 2^62-1")
	need(0 < m.Epoch && m.Epoch < maxNumber, "epoch", m.Epoch, "1 to 2^62-1")
	faults = append(faults, m.owner().Validate())
	need(utf8.ValidString(m.Program), "program", fmt.Sprintf("%q", m.Program), "valid UTF-8")
	need(m.KeyGroups.valid(), "key_groups", m.KeyGroups, "a range of those there are")
	need(len(m.Operators) <= maxOperators, "operators", len(m.Operators), fmt.Sprintf("at most %d", maxOperators))
	for _, o := range m.Operators {
		need(utf8.ValidString(o.Name+o.Kind+o.Codec), "operators", fmt.Sprintf("%q", o.Name+o.Kind+o.Codec), "valid UTF-8")
	}
	faults = append(faults, m.Lineage.check(), m.checkFiles())
	return errors.Join(faults...)
}

func (g KeyGroups) valid() bool {
	return g == KeyGroups{} || g.First <= g.Last && g.Last < g.Of
}

func (l *Lineage) check() error {
	if len(l.Keep) > maxKept || !slices.IsSorted(l.Keep) {
		return fmt.Errorf("lineage.keep: %d numbers: must be at most %d, ascending", len(l.Keep), maxKept)
	}
	if o := l.RestoredFrom; o != nil {
		if id, ok := slotID(path.Base(o.Name)); !ok || id != o.ID || !fs.ValidPath(o.Name) || !utf8.ValidString(o.Store) {
			return fmt.Errorf("lineage.restored_from: %q: must be the name of checkpoint %d", o.Name, o.ID)
		}
		if !o.Mode.valid() {
			return fmt.Errorf("lineage.restored_from.mode: %q: must be %s", o.Mode, modes)
		}
	}
	return nil
}

// checkFiles stops at the first that is wrong: there may be many.
func (m *Manifest) checkFiles() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("files: %d: must be at most %d", len(m.Files), maxFiles)
	}
	states := 0
	names := make(map[string]bool, len(m.Files))
	for _, f := range m.Files {
		if _, ok := dataEpoch(f.Name); !ok || names[f.Name] {
			return fmt.Errorf("files: name: %q: must be one of this job's data files, each once", f.Name)
		}
		if f.Size < 0 || f.Size > maxSize {
			return fmt.Errorf("files: %s: size: %d: must be 0 to 2^47", f.Name, f.Size)
		}
		switch f.Role {
		case RoleState:
			states++
		case RoleLog:
		default:
			return fmt.Errorf("files: %s: role: %q: must be %s or %s", f.Name, f.Role, RoleState, RoleLog)
		}
		names[f.Name] = true
	}
	if m.Kind == KindCheckpoint && states != 1 || m.Kind == KindEpoch && len(m.Files) > 0 {
		return fmt.Errorf("files: %d of role %s: must be one in a checkpoint, and no file in an epoch record", states, RoleState)
	}
	return nil
}
