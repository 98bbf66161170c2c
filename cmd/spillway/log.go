package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/spillway-go/spillway/cmd/spillway/internal/config"
)

// newLogger makes the logger that the settings ask for.
func newLogger(w io.Writer, s config.Settings) *slog.Logger {
	level := map[config.Level]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[s.LogLevel]
	if s.LogFormat == config.JSON {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(&textHandler{w: w, level: level, mu: new(sync.Mutex)})
}

// textHandler writes lines for people: 15:04:05 INFO checkpoint id=7 entries=120. The attributes of an event come before those of
// its logger, so that scripts find a message and what belongs to it side by side.
type textHandler struct {
	w     io.Writer
	level slog.Level
	mu    *sync.Mutex // guards w
	attrs string      // of the logger, each with a space before it
	group string      // each with a dot behind it
}

// Enabled implements slog.Handler, as the other methods do.
func (h *textHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	b := []byte(c.attrs)
	for _, a := range attrs {
		b = appendAttr(b, h.group, a)
	}
	c.attrs = string(b)
	return &c
}

func (h *textHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.group += name + "."
	return &c
}

func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	b := make([]byte, 0, 256)
	if !r.Time.IsZero() {
		b = r.Time.AppendFormat(b, "15:04:05 ")
	}
	b = append(b, r.Level.String()...)
	b = append(b, ' ')
	b = append(b, tame(r.Message)...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.group, a)
		return true
	})
	b = append(append(b, h.attrs...), '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b)
	return err
}

func appendAttr(b []byte, group string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, one := range v.Group() {
			b = appendAttr(b, group, one)
		}
		return b
	}
	if a.Equal(slog.Attr{}) {
		return b
	}
	text := v.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || r == '"' || r == '=' || !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	b = append(append(append(b, ' '), group...), a.Key...)
	return append(append(b, '='), text...)
}

// tame keeps a message on its line, and what a server or a file put into it from moving the cursor.
func tame(message string) string {
	if !strings.ContainsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return message
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, message)
}
