package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func runArgs(args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(process{args: args, stdout: &stdout, stderr: &stderr})
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

func TestHelpOfRunListsEveryValue(t *testing.T) {
	for _, args := range [][]string{{"run", "--help"}, {"run", "x.yaml", "-h"}} {
		r := runArgs(args...)
		require.Equal(t, 0, r.code)
		require.Empty(t, r.stderr)
		for _, text := range []string{
			"Usage: spillway run FILE.yaml", "Exit status: 0 all settled",
			"\nsink.kinesis.writer.batch.entries NUMBER\n      The most that one request carries. Default 500; 1 to 1,000,000.\n",
			"\nsource.stdin\n", "\nlog-level debug|info|warn|error\n",
		} {
			require.Contains(t, r.stdout, text)
		}
	}
}
