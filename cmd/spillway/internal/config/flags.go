package config

import "strings"

// option is a flag, or a variable, as it was given.
type option struct {
	n    *node
	text string
}

// commandLine is what the arguments say.
//
// Package flag is not used, since it stops at the first fault and at the first argument that is no flag, knows no "did you
// mean", and sets values at once, whereas these wait for the file, which they override.
type commandLine struct {
	files   []string
	options []option
	help    bool
	faults  Faults
	meant   []string // paths that unknown flags probably mean
}

// parseArgs reads arguments: flags and files in any order, behind -- files only.
func parseArgs(args []string) (c commandLine) {
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
	n := lookup(func(n *node) bool { return n.path == name })
	switch {
	case n == nil || !strings.HasPrefix(arg, "--"):
		hint := "spillway run --help lists all flags"
		if meant := suggestFlag(name); meant != "" {
			hint = "did you mean --" + meant + "?"
			c.meant = append(c.meant, meant)
		}
		c.faults = append(c.faults, &Fault{Field: strings.Split(arg, "=")[0], Value: "unknown flag", Bound: hint})
		if !has && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") { // its value, probably
			rest = rest[1:]
		}
		return rest
	case !has && n.choice:
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

func suggestFlag(name string) string {
	var names []string
	for _, n := range allNodes() {
		if n.isValue() || n.choice {
			names = append(names, n.path)
		}
	}
	if meant := Closest(name, names); meant != "" {
		return meant
	}
	return jobTree().elsewhere(name)
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
		n := lookup(func(n *node) bool { return (n.isValue() || n.choice) && n.env() == name })
		if n == nil {
			var names []string
			for _, n := range allNodes() {
				names = append(names, n.env())
			}
			warnings = append(warnings, "$"+name+" is ignored: no value has this name"+didYouMean(name, names, "$"))
			continue
		}
		options = append(options, option{n, text})
	}
	return options, warnings
}

func allNodes() []*node {
	return append(append([]*node(nil), jobTree().nodes...), settingsTree().nodes...)
}

func lookup(is func(*node) bool) *node {
	for _, n := range allNodes() {
		if is(n) {
			return n
		}
	}
	return nil
}
