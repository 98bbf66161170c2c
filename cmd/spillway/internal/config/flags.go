package config

import (
	"reflect"
	"strings"
)

// option is a flag, or a variable, as it was given.
type option struct {
	n    *node
	text string
}

// vocabulary is the flags that a command has.
type vocabulary struct {
	trees   []*tree
	command string // whose --help lists them
}

func (v vocabulary) nodes() (all []*node) {
	for _, t := range v.trees {
		all = append(all, t.nodes...)
	}
	return all
}

func (v vocabulary) find(name string) *node {
	for _, t := range v.trees {
		if n := t.paths[name]; n != nil {
			return n
		}
	}
	return nil
}

// commandLine is what the arguments say.
//
// Package flag is not used, since it stops at the first fault and at the first argument that is no flag, knows no "did you
// mean", and sets values at once, whereas these wait for the file, which they override.
type commandLine struct {
	vocabulary
	files   []string // and other operands
	options []option
	help    bool
	faults  Faults
	meant   []string // paths that unknown flags probably mean
}

// parseArgs reads arguments: flags and files in any order, behind -- files only.
func parseArgs(args []string, v vocabulary) commandLine {
	c := commandLine{vocabulary: v}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			c.files = append(c.files, args...)
			return c
		case arg == "-h" || arg == "-help" || arg == "--help":
			c.help = true
		case strings.HasPrefix(arg, "-") && arg != "-":
			args = c.flag(arg, args)
		default:
			c.files = append(c.files, arg)
		}
	}
	return c
}

// flag reads one flag, and its value from the arguments behind it if it has none of its own.
func (c *commandLine) flag(arg string, rest []string) []string {
	name, text, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
	n := c.find(name)
	switch {
	case n == nil || !strings.HasPrefix(arg, "--"):
		hint := c.command + " --help lists all flags"
		if meant := c.suggest(name); meant != "" {
			hint = "did you mean --" + meant + "?"
			c.meant = append(c.meant, meant)
		}
		c.faults = append(c.faults, &Fault{Field: strings.Split(arg, "=")[0], Value: "unknown flag", Bound: hint})
		if !has && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") { // its value, probably
			rest = rest[1:]
		}
		return rest
	case !has && n.typ.Kind() == reflect.Bool && len(rest) > 0 && (rest[0] == "true" || rest[0] == "false"):
		text, rest = rest[0], rest[1:]
	case !has && (n.choice || n.typ.Kind() == reflect.Bool):
		text = "true"
	case !has && len(rest) == 0:
		c.faults = append(c.faults, &Fault{Field: n.flag(), Value: "none", Bound: "must have a value, as in " + n.flag() + "=" + n.kind()})
		return rest
	case !has:
		text, rest = rest[0], rest[1:]
	}
	if !n.isValue() && !n.choice {
		c.faults = append(c.faults, &Fault{Field: n.flag(), Value: "a part", Bound: "must be one of " + list(flagsBelow(n))})
		return rest
	}
	c.options = append(c.options, option{n, text})
	return rest
}

// suggest is the flag that is probably meant.
func (v vocabulary) suggest(name string) string {
	var names []string
	for _, n := range v.nodes() {
		if n.isValue() || n.choice {
			names = append(names, n.path)
		}
	}
	if meant := Closest(name, names); meant != "" {
		return meant
	}
	return v.trees[0].elsewhere(name)
}

func flagsBelow(n *node) (all []string) {
	for _, b := range n.below {
		all = append(all, b.flag())
	}
	return all
}

// environment finds the variables that are ours. Those that only look like it may be meant for others, hence they are no faults.
func environment(env []string) (options []option, warnings []string) {
	for _, pair := range env {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || text == "" {
			continue
		}
		var names []string
		var n *node
		for _, of := range ofRun().nodes() {
			names = append(names, of.env())
			if (of.isValue() || of.choice) && of.env() == name {
				n = of
			}
		}
		if n == nil {
			warnings = append(warnings, "$"+name+" is ignored: no value has this name"+didYouMean(name, names, "$"))
			continue
		}
		options = append(options, option{n, text})
	}
	return options, warnings
}

// ofRun is the vocabulary of run, in flags and in the environment.
func ofRun() vocabulary { return vocabulary{[]*tree{jobTree(), settingsTree()}, "spillway run"} }
