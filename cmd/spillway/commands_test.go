package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
)

func runArgs(args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(process{args: args, stdout: &stdout, stderr: &stderr, store: config.OpenStore, untilSignal: untilSignal})
	return ran{code, stdout.String(), stderr.String()}
}

func TestCommands(t *testing.T) {
	help := runArgs("help")
	require.Equal(t, 0, help.code)
	for _, c := range commands() {
		require.Contains(t, help.stdout, "\n  spillway "+c.name+c.usage+"\n")
	}
	for _, name := range []string{"-h", "--help", "-help"} {
		require.Equal(t, help, runArgs(name))
	}
	require.Equal(t, ran{2, "", help.stdout}, runArgs())
	require.Equal(t, ran{2, "", "spillway: \"rum\": unknown command: did you mean run?\n"}, runArgs("rum"))
	require.Equal(t, ran{2, "", "spillway: \"--frobnicate\": unknown command: spillway help lists all\n"}, runArgs("--frobnicate"))
	for _, name := range []string{"version", "--version"} {
		v := runArgs(name)
		require.Equal(t, 0, v.code)
		require.Regexp(t, `^spillway \S+ .*go1\.\d+.* \w+/\w+\n$`, v.stdout)
	}
}

func TestHelpOfACommandSaysMore(t *testing.T) {
	require.Equal(t, runArgs("run", "--help"), runArgs("help", "run"))
	require.Equal(t, runArgs("state", "--help"), runArgs("help", "state"))
	require.Equal(t, ran{0, "spillway version\n    say which build this is\n", ""}, runArgs("help", "version"))
	require.Equal(t, ran{2, "", "spillway: \"stat\": unknown command: did you mean state?\n"}, runArgs("help", "stat"))
	for _, r := range []ran{runArgs("help"), runArgs("help", "state"), runArgs("state", "inspect", "--help")} {
		for line := range strings.Lines(r.stdout) {
			require.LessOrEqual(t, len(line), 140, line)
		}
	}
}

func TestHelpOfStateListsItsCommandsAndTheirFlags(t *testing.T) {
	help := runArgs("state", "-h")
	require.Equal(t, 0, help.code)
	require.Empty(t, help.stderr)
	require.Equal(t, help, runArgs("state", "help"))
	require.Equal(t, ran{2, "", help.stdout}, runArgs("state"))
	for _, tool := range tools() {
		require.Contains(t, help.stdout, "\n  spillway state "+tool.name+tool.usage+"\n      "+tool.summary+"\n")
		r := runArgs("state", tool.name, "--help")
		require.Equal(t, 0, r.code)
		require.True(t, strings.HasPrefix(r.stdout, "Usage: spillway state "+tool.name+tool.usage+"\n\n"), r.stdout)
		require.Contains(t, r.stdout, "\nFlags:\n\n--")
		require.Contains(t, r.stdout, "\n--output text|json\n")
	}
	require.Equal(t, ran{2, "", "spillway state: \"lss\": unknown command: did you mean ls?\n"}, runArgs("state", "lss"))
	require.Equal(t, ran{2, "", "spillway state: \"frobnicate\": unknown command: spillway help state lists all\n"}, runArgs("state", "frobnicate"))
	require.Equal(t, ran{2, "", "--outptu: unknown flag: did you mean --output?\n"}, runArgs("state", "ls", "--outptu=x"))
}

func TestHelpOfRunListsEveryValue(t *testing.T) {
	for _, args := range [][]string{{"run", "--help"}, {"run", "x.yaml", "-h"}} {
		r := runArgs(args...)
		require.Equal(t, 0, r.code)
		require.Empty(t, r.stderr)
		for _, text := range []string{
			"Usage: spillway run FILE.yaml", "Exit status: 0 all settled",
			"\nsink.kinesis.writer.batch.entries NUMBER\n      The most that one request carries. Default 500; 1 to 1,000,000.\n",
			"\nsource.stdin\n", "\nlog-level debug|info|warn|error\n",
			"\nstate.recover state|replay\n", "\nstate.min_pause DURATION\n", "\nrestore TEXT\n", "\nclaim true|false\n", "\nskip-damaged true|false\n",
			"\nsink.kinesis.writer.spill.sync on_checkpoint|steady\n",
		} {
			require.Contains(t, r.stdout, text)
		}
	}
}
