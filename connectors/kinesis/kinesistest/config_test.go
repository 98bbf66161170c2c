package kinesistest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAConfigTellsAllItsFaultsAtOnce(t *testing.T) {
	c := Config{
		Region: "no where", Account: "12\"", ShardLimit: 3, StatusDelay: -time.Second,
		Streams: []StreamConfig{
			{Name: "ok", Shards: 4}, {Name: "no spaces"}, {Name: "ok"}, {Name: strings.Repeat("x", 129), Shards: -1, MaxRecordKiB: 5},
		},
		Credentials: []Credentials{{AccessKeyID: "id"}},
	}
	_, err := New(c)
	for _, want := range []string{
		`Region: "no where"`, `Account: "12\""`, "StatusDelay: -1s: must not be negative", `Streams[1].Name: "no spaces"`,
		`Streams[2].Name: "ok": there are two`, "Streams[3].Name:", "Streams[3].Shards: -1: must be 0 (for 1) to 10000",
		"Streams[3].MaxRecordKiB: 5: must be 0 (for 1024) or 1024 to 10240",
		"7 shards: more than ShardLimit, 3", "Credentials[0]: needs",
	} {
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, Config{ShardLimit: -1}.Validate(), "ShardLimit: -1")
}

func TestTheZeroConfigIsTheServiceItself(t *testing.T) {
	s, err := New(Config{})
	require.NoError(t, err)
	require.Equal(t, limits{1000, 1 << 20}, s.limits)
	require.Equal(t, "us-east-1", s.region)
	require.WithinDuration(t, time.Now(), s.clock(), time.Minute)
	s, err = New(Config{RecordsPerSecond: Unlimited, BytesPerSecond: 7})
	require.NoError(t, err)
	require.Equal(t, limits{-1, 7}, s.limits)
}

// spy is a test that records its end.
type spy struct{ fatal string }

func (s *spy) Helper()                           {}
func (s *spy) Fatalf(format string, args ...any) { s.fatal = format }

func TestNewServerEndsATestWhoseConfigIsWrong(t *testing.T) {
	var s spy
	require.Nil(t, NewServer(&s, Config{ShardLimit: -1}))
	require.NotEmpty(t, s.fatal)
}
