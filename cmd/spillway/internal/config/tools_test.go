package config

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheArgumentsOfAToolAreRead(t *testing.T) {
	var flags Inspect
	target, help, err := LoadTool("spillway state inspect", []string{
		"file:state", "--checkpoint=7", "orders/1", "--key", "a b", "--min-attempts=2", "--older-than", "1h", "--dead", "--limit=10", "--data",
		"--at=2026-01-02T15:04:05Z", "--output=json",
	}, &flags, true)
	require.NoError(t, err)
	require.False(t, help)
	require.Equal(t, Target{"file:state", "orders", "1"}, target)
	require.Equal(t, Inspect{
		Checkpoint: 7, Key: "a b", MinAttempts: 2, OlderThan: time.Hour, Dead: true, Limit: 10, Data: true,
		At: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), Output: JSON,
	}, flags)
	_, help, err = LoadTool("spillway state ls", []string{"--what", "-h"}, &List{}, false)
	require.NoError(t, err)
	require.True(t, help)
}

func TestAllFaultsOfAToolsArgumentsComeAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("state", 0o700))
	const inspect = "spillway state inspect"
	for _, c := range []struct {
		command string
		args    []string
		job     bool
		want    []string
	}{
		{inspect, nil, true, []string{"URL: none: must be set, as in spillway state inspect file:state JOB"}},
		{"spillway state ls", nil, false, []string{"URL: none: must be set, as in spillway state ls file:state"}},
		{inspect, []string{"file:state"}, true, []string{"JOB: none: must be set; spillway state ls file:state shows which there are"}},
		{inspect, []string{"state", "a", "b"}, true, []string{
			"URL: state: must be file: and a local folder, such as file:state, or a bucket, such as s3://bucket/prefix?region=eu-central-1; did you mean file:state?",
			"JOB: a b: must be one",
		}},
		{inspect, []string{"s3://b?what=1", "a/b/c", "--min-attempts=-1", "--limit", "-2", "--checkpoint=-3", "--older-than=5", "--at=noon", "--dead=2", "--output=yaml", "--kee=x"}, true, []string{
			"--kee: unknown flag: did you mean --key?",
			"--checkpoint: -3: must be a whole number, 0 or more",
			"--older-than: 5: must be a duration such as 500ms, 30s or 2h",
			"--at: noon: must be a time such as 2026-01-02T15:04:05Z",
			"--dead: 2: must be true or false",
			"--output: yaml: must be text or json",
			"--min-attempts: -1: must be 0 or more",
			"--limit: -2: must be 0 or more",
			`URL: s3://b: must be one that its driver takes: unknown query parameter "what"`,
			"JOB: a/b/c: must be the name of a job, or JOB/INSTANCE",
		}},
		{inspect, []string{"file:s", "a/", "--older-than=-1s"}, true, []string{"--older-than: -1s: must be 0 or more", "JOB: a/: must be the name of a job, or JOB/INSTANCE"}},
		{"spillway state verify", []string{"-x"}, false, []string{"-x: unknown flag: spillway state verify --help lists all flags"}},
	} {
		_, _, err := LoadTool(c.command, c.args, &Inspect{}, c.job)
		require.Equal(t, c.want, faults(t, err), "%q", c.args)
	}
}

func TestEveryFlagOfAToolHasHelp(t *testing.T) {
	for _, flags := range []any{&List{}, &Inspect{}, &Verify{}} {
		var b bytes.Buffer
		ToolHelp(&b, flags)
		require.NotContains(t, b.String(), "\n      \n", "a field has no comment, or go generate was not run")
		require.Contains(t, b.String(), "\n--output text|json\n      Text")
	}
	var b bytes.Buffer
	ToolHelp(&b, &Inspect{})
	require.Contains(t, b.String(), "\n--dead\n      Shows only")
	require.Contains(t, b.String(), "\n--at TIME\n      The moment that ages are counted to. Default: now.\n")
}
