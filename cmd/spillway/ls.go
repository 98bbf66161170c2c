package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
)

const lsMore = `Lists jobs, instances and their checkpoints, oldest first. Manifests are read, and the names and sizes of files are looked up.

OWN is the size of files that no other checkpoint of the list names: what deleting this one would give back. SHARED is that of files
that others name too. A note says what is special: kept (restored with no-claim, hence never deleted), claimed, damaged, and so on.
`

// listed is a checkpoint as ls shows it.
type listed struct {
	Type     string             `json:"type"` // "checkpoint"
	Job      string             `json:"job"`
	Instance string             `json:"instance"`
	ID       uint64             `json:"id"` // 0: not known
	Epoch    uint64             `json:"epoch"`
	Time     *time.Time         `json:"time"`
	Age      float64            `json:"age_seconds"`
	Final    bool               `json:"final"`
	Entries  uint64             `json:"entries"`
	Files    int                `json:"files"`
	Bytes    int64              `json:"bytes"`
	Own      int64              `json:"own_bytes"`
	Shared   int64              `json:"shared_bytes"`
	Kept     bool               `json:"kept"`
	Claimed  bool               `json:"claimed"`
	From     *checkpoint.Origin `json:"restored_from"`
	Path     string             `json:"path"`
	Unusable string             `json:"unusable"` // "": it can be used; else damaged, newer or of another job
	Error    string             `json:"error"`

	fault error
}

func list(l *looking, flags any) error {
	folders, err := l.folders(l.store)
	if err != nil {
		return err
	}
	asJSON := flags.(*config.List).Output == config.JSON
	if len(folders) == 0 && !asJSON {
		fmt.Fprintf(l.out, "no job has state in %s\n", l.URL)
	}
	claimed := claims(folders)
	for i, f := range folders {
		rows, err := l.listed(f, claimed)
		if err != nil {
			return err
		}
		if asJSON {
			for _, r := range rows {
				if err := l.object(r); err != nil {
					return err
				}
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(l.out)
		}
		fmt.Fprintln(l.out, tame(f.name()))
		l.table(rows)
	}
	return nil
}

// claims are the manifests that others say they have claimed, by name.
func claims(folders []*folder) map[string]bool {
	claimed := map[string]bool{}
	for _, f := range folders {
		for _, c := range f.complete {
			if o := c.Lineage.RestoredFrom; o != nil && o.Mode == checkpoint.Claim && o.Store == "" {
				claimed[o.Name] = true
			}
		}
	}
	return claimed
}

// listed looks at the checkpoints of a job.
func (l *looking) listed(f *folder, claimed map[string]bool) ([]*listed, error) {
	names := map[string]int{} // files, by how many name them
	kept := map[uint64]bool{}
	for _, c := range f.complete {
		for _, file := range c.Files {
			names[file.Name]++
		}
		for _, id := range c.Lineage.Keep {
			kept[id] = true
		}
	}
	var rows []*listed
	for _, c := range f.complete {
		r := &listed{
			Type: "checkpoint", Job: f.Name, Instance: f.Instance, ID: c.ID, Epoch: c.Epoch, Time: &c.Time, Age: max(0, time.Since(c.Time).Seconds()),
			Final: c.Final, Entries: c.Entries, Files: len(c.Files), Bytes: c.Bytes(), Kept: kept[c.ID], Claimed: claimed[f.manifest(c.ID)],
			From: c.Lineage.RestoredFrom, Path: c.Path(),
		}
		for _, file := range c.Files {
			if names[file.Name] > 1 {
				r.Shared += file.Size
			} else {
				r.Own += file.Size
			}
		}
		switch err := c.Check(l.ctx); {
		case err == nil:
		case !unusable(err):
			return nil, err
		case l.gone(f, c):
			continue
		default:
			r.refuse(err)
		}
		rows = append(rows, r)
	}
	for _, u := range f.unusable {
		r := &listed{Type: "checkpoint", Job: f.Name, Instance: f.Instance, ID: u.id, Path: placeOf(u.err)}
		r.refuse(u.err)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *listed) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range rows {
		l.damaged = l.damaged || r.Unusable != ""
	}
	return rows, nil
}

func (l *looking) table(rows []*listed) {
	if len(rows) == 0 {
		fmt.Fprintln(l.out, "  no complete checkpoint")
		return
	}
	t := table{w: l.out, indent: "  ", columns: []column{
		{"ID", true}, {"EPOCH", true}, {"TIME", false}, {"AGE", true}, {"FINAL", false}, {"ENTRIES", true}, {"FILES", true},
		{"OWN", true}, {"SHARED", true}, {"NOTE", false},
	}}
	for _, r := range rows {
		if r.Time == nil {
			t.row(strconv.FormatUint(r.ID, 10), "-", "-", "-", "-", "-", "-", "-", "-", r.Unusable)
			continue
		}
		t.row(strconv.FormatUint(r.ID, 10), strconv.FormatUint(r.Epoch, 10), instant(*r.Time), span(time.Duration(r.Age*float64(time.Second))),
			yes(r.Final), thousands(int64(r.Entries)), strconv.Itoa(r.Files), size(r.Own), size(r.Shared), r.note())
	}
	t.end()
	for _, r := range rows {
		if r.fault != nil {
			paragraph(l.out, "  ", l.told(r.fault))
		}
	}
}

// refuse says that it can't be used.
func (r *listed) refuse(err error) { r.Unusable, r.Error, r.fault = reason(err), err.Error(), err }

func (r *listed) note() string {
	var notes []string
	for _, n := range []struct {
		is   bool
		text string
	}{{r.Unusable != "", r.Unusable}, {r.Kept, "kept"}, {r.Claimed, "claimed"}} {
		if n.is {
			notes = append(notes, n.text)
		}
	}
	return strings.Join(notes, ", ")
}
