package config

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryValueHasHelpAndOneNameInEachPlace(t *testing.T) {
	var b bytes.Buffer
	Help(&b)
	env := map[string]string{}
	for _, n := range ofRun().nodes() {
		if !n.isValue() && !n.choice {
			continue
		}
		require.NotEmpty(t, n.help(), "%s: its field has no comment, or go generate was not run", n.path)
		require.Contains(t, b.String(), "\n"+n.path)
		require.Empty(t, env[n.env()], "%s and %s share a variable", n.path, env[n.env()])
		env[n.env()] = n.path
	}
	require.Equal(t, "sink.kinesis.writer.in_flight.requests", env["SPILLWAY_SINK_KINESIS_WRITER_IN_FLIGHT_REQUESTS"])
	require.Equal(t, "log-level", env["SPILLWAY_LOG_LEVEL"])
	for path := range notes {
		require.NotNil(t, jobTree().paths[path], path)
	}
}

func TestHelpNamesFieldsAsTheFileDoes(t *testing.T) {
	for path, want := range map[string]string{
		"sink.kinesis.writer.in_flight.entries":    "The cap by entries, and the ceiling of the adaptive window. Default requests x batch.entries; at least floor.",
		"sink.kinesis.writer.in_flight.controller": "Sets the window between floor and entries. Default aimd.",
		"sink.kinesis.writer.on_rejected":          "Says, under an order, what becomes of a key whose entry was given up. Default go_on.",
	} {
		require.Equal(t, want, jobTree().paths[path].help())
	}
}

func TestEveryValueCanBeRead(t *testing.T) {
	for _, n := range ofRun().nodes() {
		if !n.isValue() {
			continue
		}
		texts := enums[n.typ]
		if texts == nil {
			texts = map[string][]string{"DURATION": {"1m", "-1s"}, "SIZE": {"64MiB", "0"}, "true|false": {"true", "false"}, "TEXT": {"x y", ""}, "NUMBER": {"1", "-1"}}[n.kind()]
		}
		require.NotEmpty(t, texts, n.path)
		for _, text := range texts {
			v := reflect.New(n.typ).Elem()
			require.Empty(t, parse(v, text), "%s: %q", n.path, text)
		}
		if n.kind() != "TEXT" {
			require.NotEmpty(t, parse(reflect.New(n.typ).Elem(), "what"), n.path)
			require.NotEmpty(t, parse(reflect.New(n.typ).Elem(), ""), n.path)
		}
	}
}

func TestATypeThatCannotBeReadIsNoValue(t *testing.T) {
	require.Panics(t, func() { parse(reflect.New(reflect.TypeFor[[]string]()).Elem(), "x") })
}
