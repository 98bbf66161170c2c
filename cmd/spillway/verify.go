package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/statecodec"
)

const verifyMore = `Reads every file of each checkpoint, the newest first, compares sizes and checksums, and reads each entry as a restore would. A file
that several checkpoints name is compared once. Each checkpoint gets a verdict, and each place that is damaged is told, with the
file, the byte and what to do. On a terminal a line shows how far it is, elsewhere one does every 10 s, on standard error.

Exit status: 0 all is whole, 1 something could not be read or is not there, 2 usage, 4 something is damaged.
`

// verdict is what verify found out about a checkpoint.
type verdict struct {
	Type     string   `json:"type"` // "verdict"
	Job      string   `json:"job"`
	Instance string   `json:"instance"`
	ID       uint64   `json:"id"`      // 0: not known
	Verdict  string   `json:"verdict"` // whole, gone, or why it can't be used: damaged, newer or of another job
	Files    int      `json:"files"`
	Bytes    int64    `json:"bytes"`
	Entries  uint64   `json:"entries"`  // that it holds, as its manifest says
	Readable uint64   `json:"readable"` // of them
	Damage   []damage `json:"damage"`   // the first places
	Advice   string   `json:"advice"`

	places int // in all
}

const (
	whole   = "whole"
	gone    = "gone" // deleted meanwhile, since newer ones took its place
	damaged = "damaged"
)

// damage is a place in a file.
type damage struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"` // bytes that can't be read; 0: not known
	Error  string `json:"error"`
}

const mostDamage = 20 // places of a checkpoint that are told

// verification is verify at work.
type verification struct {
	*looking
	*config.Verify
	progress
	read     *metered
	compared map[checkpoint.File]error // by name, size and checksum; nil: as it was written
	verdicts map[string]int
	salvage  bool // something can be read of what is damaged and has no newer one
}

func verify(l *looking, flags any) error {
	v := &verification{looking: l, Verify: flags.(*config.Verify), read: &metered{Store: l.store}, verdicts: map[string]int{}}
	v.bytes = &v.read.bytes
	folders, err := l.folders(v.read)
	if err == nil {
		err = v.choose(folders)
	}
	if err != nil {
		return err
	}
	v.plan(folders)
	stop := v.show(v.ctx, v.screen)
	for _, f := range folders {
		if err = v.folder(f); err != nil {
			break
		}
	}
	stop()
	if err != nil || v.Output == config.JSON {
		return err
	}
	return v.sum()
}

// choose leaves the checkpoint that was asked for.
func (v *verification) choose(folders []*folder) error {
	if v.Checkpoint == 0 {
		return nil
	}
	none := &checkpoint.NotFoundError{ID: v.Checkpoint}
	found := 0
	for _, f := range folders {
		for _, c := range f.complete {
			none.Have = append(none.Have, c.ID)
		}
		f.complete = slices.DeleteFunc(f.complete, func(c *checkpoint.Checkpoint) bool { return c.ID != v.Checkpoint })
		f.unusable = slices.DeleteFunc(f.unusable, func(u fault) bool { return u.id != v.Checkpoint })
		found += len(f.complete) + len(f.unusable)
	}
	if found == 0 {
		return none
	}
	return nil
}

// plan adds up what is to be read: each file once to be compared, and those of each checkpoint for its entries.
func (v *verification) plan(folders []*folder) {
	v.total = v.read.bytes.Load()
	for _, f := range folders {
		once := map[checkpoint.File]bool{}
		for _, c := range f.complete {
			v.total += c.Bytes()
			for _, file := range c.Files {
				if key := contentOf(file); !once[key] {
					v.total += file.Size
					once[key] = true
				}
			}
		}
	}
}

// contentOf is a file without what it is to one checkpoint.
func contentOf(f checkpoint.File) checkpoint.File {
	return checkpoint.File{Name: f.Name, Size: f.Size, CRC32C: f.CRC32C}
}

// folder reads all checkpoints of a job, the newest first: that is the one that a job goes on with.
func (v *verification) folder(f *folder) error {
	v.compared = map[checkpoint.File]error{}
	all := map[uint64]func() (*verdict, error){}
	for _, c := range f.complete {
		all[c.ID] = func() (*verdict, error) { return v.checkpoint(f, c) }
	}
	for _, u := range f.unusable {
		all[u.id] = func() (*verdict, error) { return unread(f, u), nil }
	}
	var sound *verdict // the newest that is whole
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		d, err := all[id]()
		if err != nil {
			return err
		}
		switch {
		case d.Verdict == whole && sound == nil:
			sound = d
		case d.Verdict == damaged && d.Files > 0 && sound != nil:
			d.Advice = fmt.Sprintf("the job goes on with checkpoint %d, which is newer and whole", sound.ID)
		case d.Readable > 0 && sound == nil:
			v.salvage = true
		}
		if err := v.tell(d); err != nil {
			return err
		}
	}
	return nil
}

// unread is the verdict on a manifest that can't be used.
func unread(f *folder, u fault) *verdict {
	d := &verdict{Type: "verdict", Job: f.Name, Instance: f.Instance, ID: u.id, Verdict: reason(u.err)}
	d.add(u.err, 0)
	return d
}

// checkpoint reads all of one.
func (v *verification) checkpoint(f *folder, c *checkpoint.Checkpoint) (*verdict, error) {
	d := &verdict{
		Type: "verdict", Job: f.Name, Instance: f.Instance, ID: c.ID, Verdict: whole, Files: len(c.Files), Bytes: c.Bytes(), Entries: c.Entries,
	}
	differ, err := v.compare(c)
	if err == nil {
		err = v.decode(c, d)
	}
	if err != nil {
		return nil, err
	}
	for _, one := range differ {
		if !slices.ContainsFunc(d.Damage, func(x damage) bool { return x.Path == one.Path }) { // else it is known where
			d.add(one, 0)
		}
	}
	if d.Verdict == whole && d.Readable != d.Entries {
		d.add(c.Damaged(c.State(), 0, fmt.Errorf("it has %d entries, and should have %d", d.Readable, d.Entries)), 0)
	}
	if d.Verdict != whole && v.gone(f, c) {
		d.Verdict, d.Damage, d.Advice = gone, nil, ""
	}
	return d, nil
}

// compare reads the files of a checkpoint that were not read yet, and returns what is wrong with any of them.
func (v *verification) compare(c *checkpoint.Checkpoint) (differ []*checkpoint.DamagedError, err error) {
	for _, f := range c.Files {
		key := contentOf(f)
		err, known := v.compared[key]
		if !known {
			one := *c
			one.Files = []checkpoint.File{f}
			err = v.reads(f.Size, func() error { return one.Verify(v.ctx, nil) })
			v.compared[key] = err
		}
		if e := (*checkpoint.DamagedError)(nil); errors.As(err, &e) {
			differ = append(differ, c.Damaged(f, e.Offset, e.Err)) // with the advice for this one
		} else if err != nil {
			return nil, err
		}
	}
	return differ, nil
}

// decode reads the entries.
func (v *verification) decode(c *checkpoint.Checkpoint, d *verdict) error {
	lost := func(f checkpoint.File, x statecodec.Damage) { d.add(c.Damaged(f, x.Offset, x.Err), x.Length) }
	return v.reads(c.Bytes(), func() error {
		for _, err := range c.Contents(v.ctx, lost) {
			switch {
			case err == nil:
				d.Readable++
			case unusable(err):
				d.add(err, 0)
			default:
				return err
			}
		}
		return nil
	})
}

// add notes what is wrong.
func (d *verdict) add(err error, length int64) {
	if d.Verdict == whole {
		d.Verdict = reason(err)
	}
	if d.places++; len(d.Damage) == mostDamage {
		return
	}
	if e, ok := errors.AsType[*checkpoint.DamagedError](err); ok {
		d.Advice = e.Advice
		d.Damage = append(d.Damage, damage{e.Path, e.Offset, length, what(e.Err)})
		return
	}
	d.Damage = append(d.Damage, damage{Path: placeOf(err), Error: err.Error()})
}

// tell writes a verdict.
func (v *verification) tell(d *verdict) error {
	v.verdicts[d.Verdict]++
	v.damaged = v.damaged || d.Verdict != whole && d.Verdict != gone
	var b strings.Builder
	if v.Output == config.JSON {
		text, err := json.Marshal(d)
		if err != nil {
			return err
		}
		b.Write(append(text, '\n'))
	} else {
		v.text(&b, d)
	}
	err := v.screen.print(v.out, b.String())
	return errors.Join(err, v.out.Flush())
}

// text writes a verdict for a person.
func (v *verification) text(w io.Writer, d *verdict) {
	fmt.Fprintf(w, "%s/%s checkpoint %d: %s", tame(d.Job), tame(d.Instance), d.ID, d.Verdict)
	switch {
	case d.Verdict == whole:
		fmt.Fprintf(w, ": %s, %s, %s\n", count(d.Files, "file"), size(d.Bytes), count(int(d.Entries), "entry"))
	case d.Verdict == gone:
		fmt.Fprint(w, ": it was deleted meanwhile: newer ones have taken its place\n")
	case d.Files == 0:
		fmt.Fprintln(w)
	case d.Readable == d.Entries:
		fmt.Fprintf(w, ": all of its %s can be read\n", count(int(d.Entries), "entry"))
	default:
		fmt.Fprintf(w, ": %s of %s can be read\n", thousands(int64(d.Readable)), count(int(d.Entries), "entry"))
	}
	for _, x := range d.Damage {
		long := ""
		if x.Length > 0 {
			long = fmt.Sprintf(" for %s bytes", thousands(x.Length))
		}
		if x.Path == "" {
			paragraph(w, "    ", x.Error)
			continue
		}
		paragraph(w, "    ", fmt.Sprintf("%s at byte %d%s: %s", v.below(x.Path), x.Offset, long, x.Error))
	}
	if more := d.places - len(d.Damage); more > 0 {
		fmt.Fprintf(w, "    and %s more\n", count(more, "place"))
	}
	if d.Advice != "" {
		paragraph(w, "    ", d.Advice)
	}
}

// sum writes what there was in all.
func (v *verification) sum() error {
	all, parts := 0, []string{}
	for _, verdict := range slices.Sorted(maps.Keys(v.verdicts)) {
		all += v.verdicts[verdict]
		parts = append(parts, fmt.Sprintf("%d %s", v.verdicts[verdict], verdict))
	}
	if all == 0 {
		_, err := fmt.Fprintln(v.out, "no complete checkpoint")
		return err
	}
	fmt.Fprintf(v.out, "%s: %s\n", count(all, "checkpoint"), strings.Join(parts, ", "))
	if v.salvage {
		paragraph(v.out, "", "spillway run --skip-damaged goes on with what can be read, and keeps what can't under quarantine")
	}
	return nil
}

// count writes 1 entry, 2 entries.
func count(n int, what string) string {
	if n != 1 {
		what = strings.TrimSuffix(what+"s", "ys")
		if !strings.HasSuffix(what, "s") {
			what += "ies"
		}
	}
	return thousands(int64(n)) + " " + what
}
