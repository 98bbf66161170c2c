package main

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/statecodec"
)

const inspectMore = `Shows what a checkpoint holds: its manifest, the positions of the source, and the entries that were not settled, in the order in which
they go out. Filters can be combined. Any number of entries passes through little memory. What is damaged is told and left out.

ATTEMPTS counts those that ended without delivery. UNSURE: one may have stored the entry, so that sending it again may make a duplicate.
SIZE is that in the state. GIVEN UP says why an entry waits for its dead letter.
`

// entry is one as inspect shows it.
type entry struct {
	Type     string     `json:"type"` // "entry"
	Operator string     `json:"operator"`
	Writer   string     `json:"writer"` // that accepted it; with seq, its idempotency id
	Seq      uint64     `json:"seq"`
	Key      *string    `json:"key"` // null: not known
	Attempts uint16     `json:"attempts"`
	Born     time.Time  `json:"born"`
	Age      float64    `json:"age_seconds"`
	Unsure   bool       `json:"unsure"`
	Class    string     `json:"class"` // "": it was not given up
	Error    string     `json:"error"`
	DeadAt   *time.Time `json:"dead_at"`
	Bytes    int        `json:"bytes"`
	File     string     `json:"file"`
	Data     []byte     `json:"data,omitempty"`
}

// tally is the last that inspect writes.
type tally struct {
	Type    string `json:"type"`    // "counts"
	Entries uint64 `json:"entries"` // that the checkpoint holds, as its manifest says
	Read    uint64 `json:"read"`
	Shown   uint64 `json:"shown"`
	Dead    uint64 `json:"dead"`    // of those shown
	Unsure  uint64 `json:"unsure"`  // of those shown
	Bytes   uint64 `json:"bytes"`   // of those shown
	Damaged uint64 `json:"damaged"` // places that could not be read
}

// inspection is inspect at work.
type inspection struct {
	*looking
	*config.Inspect
	folder *folder
	c      *checkpoint.Checkpoint
	now    time.Time
	counts tally
	table  *table
	err    error // the first place that can't be read
}

func inspect(l *looking, flags any) error {
	i := &inspection{looking: l, Inspect: flags.(*config.Inspect), now: time.Now()}
	if !i.At.IsZero() {
		i.now = i.At
	}
	if err := i.find(); err != nil {
		return err
	}
	if err := i.checkKey(); err != nil {
		return err
	}
	err := i.head(i.positions())
	if err == nil {
		err = i.entries()
	}
	if err == nil {
		err = i.foot()
	}
	err = cmp.Or(err, i.err)
	if is[*checkpoint.DamagedError](err) && i.gone(i.folder, i.c) {
		return fmt.Errorf("checkpoint %d was deleted meanwhile: newer ones have taken its place: look again", i.c.ID)
	}
	return err
}

// find finds the checkpoint. One that can't be used is not passed over in silence.
func (i *inspection) find() (err error) {
	if i.Instance == "" {
		i.Instance = checkpoint.DefaultInstance
	}
	folders, err := i.folders(i.store)
	if err != nil {
		return err
	}
	i.folder = folders[0]
	have := &checkpoint.NotFoundError{ID: i.Checkpoint}
	for _, c := range i.folder.complete {
		if have.Have = append(have.Have, c.ID); i.Checkpoint == 0 || i.Checkpoint == c.ID {
			i.c = c
		}
	}
	for _, u := range i.folder.unusable {
		if u.id == i.Checkpoint || i.Checkpoint == 0 && (i.c == nil || u.id > i.c.ID) {
			return u.err
		}
	}
	switch {
	case i.c != nil:
		return nil
	case i.Checkpoint == 0:
		return fmt.Errorf("%s has no complete checkpoint yet", i.folder.name())
	}
	return have
}

// checkKey refuses a filter by keys that can't be read.
func (i *inspection) checkKey() error {
	if i.Key == "" {
		return nil
	}
	for _, o := range i.c.Operators {
		if _, known := decoders[o.Codec]; !known && o.Kind != statecodec.KindSource.String() {
			return &config.Fault{Field: "--key", Value: i.Key, Bound: fmt.Sprintf("can't be used: the entries of %q have the codec %q, whose keys this program does not know", o.Name, o.Codec)}
		}
	}
	return nil
}

const mostFiles = 20 // that are shown to people

// head shows the manifest.
func (i *inspection) head(splits []split) error {
	if i.Output == config.JSON {
		return i.object(struct {
			Type string `json:"type"` // "manifest"
			Path string `json:"path"`
			*checkpoint.Manifest
			Splits []split `json:"splits"`
		}{"manifest", i.c.Path(), &i.c.Manifest, splits})
	}
	m := &i.c.Manifest
	line := func(name, format string, args ...any) {
		fmt.Fprintf(i.out, "  %-9s%s\n", name, tame(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(i.out, "checkpoint %d of %s\n", m.ID, tame(i.folder.name()))
	by := ""
	if m.Program != "" {
		by = " by " + m.Program
	}
	line("written", "%s%s, %s ago, in epoch %d", instant(m.Time), by, span(i.now.Sub(m.Time)), m.Epoch)
	line("final", "%s", map[bool]string{true: "yes: nothing was in flight", false: "no: requests may have been in flight"}[m.Final])
	if o := m.Lineage.RestoredFrom; o != nil {
		in := ""
		if o.Store != "" {
			in = " in " + o.Store
		}
		line("lineage", "restored from %s%s, %s", o.Name, in, o.Mode)
	}
	for _, s := range splits {
		line("source", "%s at %s", s.Split, s.Position)
	}
	for _, o := range m.Operators {
		if o.Kind != statecodec.KindSource.String() {
			line("writer", "%s holds %s entries, %s, as %s version %d", o.Name, thousands(int64(o.Entries)), size(int64(o.Bytes)), o.Codec, o.CodecVersion)
		}
	}
	for n, f := range m.Files {
		if n == mostFiles {
			line("", "and %s more", count(len(m.Files)-n, "file"))
			break
		}
		line("file", "%s (%s), %s, %s written", f.Name, f.Role, size(f.Size), count(int(f.Entries), "entry"))
	}
	fmt.Fprintln(i.out)
	return nil
}

// entries shows what is held and passes the filters.
func (i *inspection) entries() error {
	i.counts = tally{Type: "counts", Entries: i.c.Entries}
	i.table = &table{w: i.out, columns: []column{
		{"SEQ", true}, {"ATTEMPTS", true}, {"AGE", true}, {"UNSURE", false}, {"SIZE", true}, {"KEY", false}, {"GIVEN UP", false},
	}}
	defer i.table.end()
	for s, err := range i.c.Contents(i.ctx, i.damage) {
		if err != nil {
			return err
		}
		i.counts.Read++
		if err := i.entry(s); err != nil {
			return err
		}
		if i.enough() {
			return nil
		}
	}
	return nil
}

// damage is told what can't be read.
func (i *inspection) damage(f checkpoint.File, d statecodec.Damage) {
	if i.counts.Damaged++; i.counts.Damaged == 1 {
		i.err = i.c.Damaged(f, d.Offset, d.Err)
	}
}

func (i *inspection) entry(s *checkpoint.Stored) error {
	r, known, err := decode(s.Section, s.Data)
	if err != nil {
		return fmt.Errorf("entry %d: %w", s.Seq, err)
	}
	age := i.now.Sub(time.Unix(0, s.Born))
	switch {
	case i.Key != "" && (!known || r.key != i.Key), int(s.Attempts) < i.MinAttempts, i.OlderThan > 0 && age <= i.OlderThan, i.Dead && s.Class == "":
		return nil
	}
	i.counts.Shown++
	i.counts.Bytes += uint64(len(s.Data))
	if s.Class != "" {
		i.counts.Dead++
	}
	if s.Unsure {
		i.counts.Unsure++
	}
	if i.Output == config.JSON {
		return i.object(i.asObject(s, r, known, age))
	}
	i.row(s, r, known, age)
	return nil
}

func (i *inspection) enough() bool { return i.Limit > 0 && i.counts.Shown == uint64(i.Limit) }

func (i *inspection) asObject(s *checkpoint.Stored, r record, known bool, age time.Duration) *entry {
	e := &entry{
		Type: "entry", Operator: s.Section.Operator, Writer: hex.EncodeToString(s.Writer[:]), Seq: s.Seq, Attempts: s.Attempts,
		Born: time.Unix(0, s.Born).UTC(), Age: max(0, age.Seconds()), Unsure: s.Unsure, Class: s.Class, Error: s.Cause, Bytes: len(s.Data), File: s.File,
	}
	if known {
		e.Key = &r.key
	}
	if s.Class != "" {
		at := time.Unix(0, s.DeadAt).UTC()
		e.DeadAt = &at
	}
	if i.Data {
		e.Data = r.data
	}
	return e
}

func (i *inspection) row(s *checkpoint.Stored, r record, known bool, age time.Duration) {
	key, dead := "(unknown)", ""
	if known {
		key = cut(strconv.Quote(r.key), 40)
		key = key[1 : len(key)-1]
	}
	if s.Class != "" {
		dead = s.Class + ": " + s.Cause
	}
	i.table.row(strconv.FormatUint(s.Seq, 10), strconv.Itoa(int(s.Attempts)), span(age), yes(s.Unsure), size(int64(len(s.Data))), key, dead)
	if i.Data {
		i.table.under("    " + printable(r.data))
	}
}

// printable is data for a person: as a line of text if it is one, else in base64.
func printable(b []byte) string {
	if !utf8.Valid(b) {
		return "base64 " + base64.StdEncoding.EncodeToString(b)
	}
	return tame(string(b))
}

// foot shows the counts.
func (i *inspection) foot() error {
	n := &i.counts
	if i.Output == config.JSON {
		return i.object(n)
	}
	if n.Shown > 0 {
		fmt.Fprintln(i.out)
	}
	what := "shown"
	if i.enough() {
		what = "shown, where reading ended"
	}
	fmt.Fprintf(i.out, "%s of %s entries %s: %s given up, %s unsure, %s\n", thousands(int64(n.Shown)), thousands(int64(n.Entries)), what,
		thousands(int64(n.Dead)), thousands(int64(n.Unsure)), size(int64(n.Bytes)))
	if n.Damaged > 0 {
		fmt.Fprintf(i.out, "left out is what could not be read at %s: spillway state verify tells all\n", count(int(n.Damaged), "place"))
	}
	return nil
}
