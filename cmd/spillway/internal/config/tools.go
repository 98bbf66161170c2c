package config

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/checkpoint"
)

// List is the flags of spillway state ls.
type List struct {
	// Output is text, a table, or json: an object a line. Default text.
	Output Format `yaml:"output"`
}

// Inspect is the flags of spillway state inspect.
type Inspect struct {
	// Checkpoint is the number of the one to look into. Default: the newest.
	Checkpoint uint64 `yaml:"checkpoint"`
	// Key shows only the entries of this key.
	Key string `yaml:"key"`
	// MinAttempts shows only entries that were tried so often without being delivered, or more often. Default 0.
	MinAttempts int `yaml:"min-attempts"`
	// OlderThan shows only entries that were accepted longer ago. Default 0.
	OlderThan time.Duration `yaml:"older-than"`
	// Dead shows only entries that were given up and wait for their dead letter.
	Dead bool `yaml:"dead"`
	// Limit ends reading once so many entries were shown. Default 0: all are.
	Limit int `yaml:"limit"`
	// Data shows what each entry holds as well.
	Data bool `yaml:"data"`
	// At is the moment that ages are counted to. Default: now.
	At time.Time `yaml:"at"`
	// Output is text, or json: an object a line. Default text.
	Output Format `yaml:"output"`
}

// Verify is the flags of spillway state verify.
type Verify struct {
	// Checkpoint is the number of the only one to read. Default: all are.
	Checkpoint uint64 `yaml:"checkpoint"`
	// Output is text, or json: an object a line. Default text.
	Output Format `yaml:"output"`
}

// Validate checks the numbers.
func (i *Inspect) Validate() error {
	var errs []error
	for _, v := range []struct {
		field, value string
		negative     bool
	}{
		{"min-attempts", strconv.Itoa(i.MinAttempts), i.MinAttempts < 0},
		{"older-than", i.OlderThan.String(), i.OlderThan < 0},
		{"limit", strconv.Itoa(i.Limit), i.Limit < 0},
	} {
		if v.negative {
			errs = append(errs, fault(v.field, v.value, "0 or more"))
		}
	}
	return errors.Join(errs...)
}

// Target is the state that a tool is to look into.
type Target struct {
	URL      string
	Job      string // "": all
	Instance string // "": all, or the default where one is needed
}

// LoadTool reads the arguments of a tool: URL [JOB[/INSTANCE]], and flags for a struct as the ones above. It reports whether help was asked for;
// then nothing else is looked at. All faults come at once, as [Faults].
func LoadTool(command string, args []string, flags any, needsJob bool) (t Target, help bool, err error) {
	into := reflect.ValueOf(flags).Elem()
	line := parseArgs(args, vocabulary{[]*tree{declare(into.Type())}, command})
	if line.help {
		return t, true, nil
	}
	l := &Loaded{places: map[string]place{}, faulty: map[string]bool{}, faults: line.faults}
	for _, o := range line.options {
		l.places[o.n.path] = place{name: o.n.flag(), text: o.text}
		if bound := parse(o.n.in(into, true), o.text); bound != "" {
			l.fault(o.n.path, shown(o.text), bound)
		}
	}
	l.ask(line.trees[0], into)
	if len(line.faults) == 0 || len(line.files) > 0 { // else the operand may belong to a flag that nobody knows
		l.target(&t, line.files, command, needsJob)
	}
	if len(l.faults) > 0 {
		return t, false, l.faults
	}
	return t, false, nil
}

func (l *Loaded) target(t *Target, operands []string, command string, needsJob bool) {
	wrong := func(field, value, bound string) {
		l.faults = append(l.faults, &Fault{Field: field, Value: value, Bound: bound})
	}
	if len(operands) == 0 {
		wrong("URL", "none", "must be set, as in "+command+" file:state"+map[bool]string{true: " JOB"}[needsJob])
		return
	}
	t.URL = operands[0]
	faults, _ := l.explain("", checkStore("URL", t.URL))
	for _, f := range faults {
		bound := f.Bound
		if i, err := os.Stat(t.URL); err == nil && i.IsDir() {
			bound += "; did you mean file:" + t.URL + "?"
		}
		wrong("URL", f.Value, bound)
	}
	if len(operands) > 2 {
		wrong("JOB", strings.Join(operands[1:], " "), "must be one")
		return
	}
	if len(operands) == 1 {
		if needsJob {
			wrong("JOB", "none", "must be set; spillway state ls "+t.URL+" shows which there are")
		}
		return
	}
	var both bool
	t.Job, t.Instance, both = strings.Cut(operands[1], "/")
	if err := (checkpoint.Job{Name: t.Job, Instance: t.Instance}).Validate(); err != nil || both && t.Instance == "" {
		wrong("JOB", shown(operands[1]), "must be the name of a job, or JOB/INSTANCE")
	}
}

// ToolHelp writes what each flag of a tool means.
func ToolHelp(w io.Writer, flags any) { declare(reflect.TypeOf(flags).Elem()).help(w, "--") }
