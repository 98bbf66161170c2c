package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
	"github.com/spillway-go/spillway/pipeline"
)

// logged is what some events become, without their times.
func logged(s config.Settings, events func(*slog.Logger)) string {
	var b bytes.Buffer
	events(newLogger(&b, s))
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		if _, err := time.Parse("15:04:05 ", line[:9]); err == nil {
			line = line[9:]
		}
		out.WriteString(line)
	}
	return out.String()
}

func TestALineOfTheLogIsTheMessageAndWhatBelongsToItSideBySide(t *testing.T) {
	require.Equal(t, `INFO checkpoint id=7 entries=120 job=orders
INFO restored checkpoint=7 entries=0 position=12:3:0011223344556677 job=orders
WARN odd error="a \"b\"\nc" empty="" wait=1.5s g.x=1 g.h.y=true job=orders
ERROR two lines,  one
`, logged(config.Settings{}, func(log *slog.Logger) {
		job := log.With("job", "orders")
		job.Info("checkpoint", "id", 7, "entries", 120)
		job.Info("restored", "checkpoint", 7, "entries", 0, "position", "12:3:0011223344556677")
		job.Warn("odd", "error", errors.New("a \"b\"\nc"), "empty", "", "wait", 1500*time.Millisecond, slog.Group("g", "x", 1, slog.Group("h", "y", true)), slog.Attr{})
		log.Error("two lines,\r\none")
		log.Debug("not asked for")
	}))
	require.Equal(t, "INFO m a.b.x=1 a.y=2\n", logged(config.Settings{}, func(log *slog.Logger) {
		log.WithGroup("").WithGroup("a").With("y", 2).WithGroup("b").Info("m", "x", 1)
	}))
}

func TestNothingInALineMovesTheCursor(t *testing.T) {
	out := logged(config.Settings{}, func(log *slog.Logger) { log.Info("a\x1b[2Jb", "c", "\x1b[31m") })
	require.Equal(t, "INFO a\ufffd[2Jb c=\"\\x1b[31m\"\n", out)
}

func TestLevels(t *testing.T) {
	for level, lines := range map[config.Level]int{"debug": 4, "info": 3, "": 3, "warn": 2, "error": 1} {
		for _, format := range []config.Format{"", "text", "json"} {
			out := logged(config.Settings{LogLevel: level, LogFormat: format}, func(log *slog.Logger) {
				log.Debug("x")
				log.Info("x")
				log.Warn("x")
				log.Error("x")
			})
			require.Equal(t, lines, strings.Count(out, "\n"), level)
		}
	}
}

func TestTheStatusLine(t *testing.T) {
	s := pipeline.Stats{Stats: asyncsink.Stats{
		Delivered: asyncsink.Count{Entries: 1234567}, Buffered: asyncsink.Count{Entries: 2300}, InFlight: asyncsink.Count{Entries: 7500},
		Retried: asyncsink.Count{Entries: 12},
	}}
	require.Equal(t, "12,300/s   delivered 1,234,567   held 9,800   in flight 7,500   retried 12", statusLine(s, 12300.7))
	require.Equal(t, "999", thousands(999))
	require.Equal(t, "0", thousands(0))
}

func TestTheRateIsThatOfTheLastReadings(t *testing.T) {
	m := meter{span: 2}
	at := time.Unix(0, 0)
	require.Zero(t, m.rate(at, 0))
	require.EqualValues(t, 10, m.rate(at.Add(time.Second), 10))
	require.EqualValues(t, 10, m.rate(at.Add(2*time.Second), 20))
	require.EqualValues(t, 5, m.rate(at.Add(3*time.Second), 20))
	require.EqualValues(t, 0, m.rate(at.Add(4*time.Second), 20))
}

func TestTheStatusIsBelowTheLinesAndNeverWraps(t *testing.T) {
	var b bytes.Buffer
	s := screen{w: &b, width: func() int { return 10 }}
	_, _ = s.Write([]byte("one\n"))
	s.draw("0123456789")
	s.draw("012345678")
	s.draw("abc")
	s.draw("abc")
	n, err := s.Write([]byte("two\n"))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	s.draw("")
	_, _ = s.Write([]byte("three\n"))
	require.Equal(t, "one\n"+clear+"012345678"+clear+"abc"+clear+"two\nabc"+clear+"three\n", b.String())

	b.Reset()
	s = screen{w: &b}
	s.draw("x")
	require.Empty(t, b.String())
}
