package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spillway-go/spillway/checkpoint"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
)

const stateAbout = `Looks into the state of jobs. Nothing is changed, made or locked, and jobs may run meanwhile.

Commands:
`

const stateEnd = `
URL is as in state.url: file:DIR, or s3://BUCKET/PREFIX?region=REGION. JOB alone means all its instances, to inspect instance 0.
spillway state COMMAND --help says more.

Exit status: 0 all is well, 1 something could not be read or is not there, 2 usage, 4 something is damaged, of a newer program, or
of another job.
`

// tool is a word behind spillway state.
type tool struct {
	name    string
	usage   string // what follows the name
	summary string
	more    string // for its help
	flags   func() any
	one     bool // it needs a job
	run     func(*looking, any) error
}

// tools are all there are. A function, since each has run, which is one that starts them.
func tools() []tool {
	return []tool{
		{"ls", " URL [JOB[/INSTANCE]] [--output json]", "list the jobs that have state, and their checkpoints", lsMore,
			func() any { return new(config.List) }, false, list},
		{"inspect", " URL JOB[/INSTANCE] [--checkpoint N] [--FLAG=VALUE ...]", "show what a checkpoint holds: its files, the positions of the source, its entries", inspectMore,
			func() any { return new(config.Inspect) }, true, inspect},
		{"verify", " URL [JOB[/INSTANCE]] [--checkpoint N] [--output json]", "read all of it, and say what is damaged", verifyMore,
			func() any { return new(config.Verify) }, false, verify},
	}
}

func stateHelp(w io.Writer) {
	fmt.Fprint(w, stateAbout)
	for _, t := range tools() {
		fmt.Fprintf(w, "  spillway state %s%s\n      %s\n", t.name, t.usage, t.summary)
	}
	fmt.Fprint(w, stateEnd)
}

// looking is a tool at work.
type looking struct {
	process
	config.Target
	ctx     context.Context
	store   checkpoint.Store
	out     *bufio.Writer // to standard output
	screen  *screen
	damaged bool // something is, and was told
}

// state is the command of that name.
func state(p process) int {
	if len(p.args) == 0 {
		stateHelp(p.stderr)
		return exitUsage
	}
	name := p.args[0]
	switch name {
	case "-h", "-help", "--help", "help":
		stateHelp(p.stdout)
		return exitSettled
	}
	var names []string
	for _, t := range tools() {
		if t.name == name {
			p.args = p.args[1:]
			return t.start(p)
		}
		names = append(names, t.name)
	}
	hint := "spillway help state lists all"
	if close := config.Closest(name, names); close != "" {
		hint = "did you mean " + close + "?"
	}
	fmt.Fprintf(p.stderr, "spillway state: %q: unknown command: %s\n", name, hint)
	return exitUsage
}

func (t *tool) start(p process) int {
	flags := t.flags()
	target, help, err := config.LoadTool("spillway state "+t.name, p.args, flags, t.one)
	switch {
	case help:
		fmt.Fprintf(p.stdout, "Usage: spillway state %s%s\n\n%s\nFlags:\n", t.name, t.usage, t.more)
		config.ToolHelp(p.stdout, flags)
		return exitSettled
	case err != nil:
		fmt.Fprintln(p.stderr, err)
		return exitUsage
	}
	ctx, stop := p.untilSignal()
	defer stop()
	l := &looking{process: p, Target: target, ctx: ctx, out: bufio.NewWriter(p.stdout), screen: &screen{w: p.stderr, width: p.width}}
	err = l.open()
	if err == nil {
		err = t.run(l, flags)
		err = errors.Join(err, config.CloseStore(l.store))
	}
	return l.end(errors.Join(err, l.out.Flush()))
}

// open opens the store. A folder that is not there is an error: as a store it would only be empty.
func (l *looking) open() (err error) {
	if l.store, err = l.process.store(l.ctx, l.URL); err != nil {
		return err
	}
	if local, ok := l.store.(*checkpoint.Local); ok {
		if _, err := os.Stat(local.Path("")); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no folder %s", local)
		} else if err != nil {
			return fmt.Errorf("open the state: %w", err)
		}
	}
	return nil
}

// end says what went wrong, and returns the exit status.
func (l *looking) end(err error) int {
	for _, one := range flatten(err) {
		fmt.Fprintf(l.screen, "spillway: %s\n", tame(l.told(one)))
	}
	switch {
	case is[config.Faults](err) || is[*config.Fault](err):
		return exitUsage
	case l.damaged || unusable(err):
		return exitState
	case err != nil:
		return exitFailed
	}
	return exitSettled
}

// object writes one as a line of JSON.
func (l *looking) object(v any) error {
	e := json.NewEncoder(l.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
