package asyncsink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
)

// opened is a writer whose connector has kept what it was lent.
func (r *rig) opened(c Config) Env {
	r.t.Helper()
	var env Env
	r.openTo(&lifecycle{destination: r.to, open: func(_ context.Context, e Env) error { env = e; return nil }}, c)
	return env
}

func TestTheConnectorIsOpenedFirstWithWhatItNeeds(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		secrets := &source{}
		state := r.earlier("a")
		r.to.answers(func(context.Context, *Batch[string]) error { return nil })
		env := r.opened(Config{
			Name: "writer", Index: 2, Writers: 5, Restore: from(state), Credentials: secrets,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.Equal(t, "writer", env.Name)
		require.Equal(t, 2, env.Index)
		require.Equal(t, 5, env.Writers)
		require.True(t, env.Restored)
		require.EqualValues(t, 7, env.Checkpoint)
		require.Same(t, secrets, env.Credentials)
		env.Logger.Info("hello")
		require.Contains(t, log.String(), "writer=writer")
		if r.loop != nil {
			require.Same(t, mailbox.Executor(r.loop), env.Executor)
		}
		require.NotNil(t, env.Executor)
		r.drain()
	})
}

func TestAWriterThatWasNotConfiguredIsTheOnlyOneAndNew(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		env := r.opened(Config{})
		require.Equal(t, "writer", env.Name)
		require.Equal(t, 0, env.Index)
		require.Equal(t, 1, env.Writers)
		require.False(t, env.Restored)
		require.Nil(t, env.Credentials)
		env.Logger.Error("goes nowhere")
	})
}

func TestTheErrorOfOpenIsThatOfNew(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		refused := errors.New("no such stream")
		var env Env
		s := &lifecycle{destination: r.to, open: func(_ context.Context, e Env) error {
			env = e
			return refused
		}}
		w, err := r.tryOpen(s, Config{})
		require.ErrorIs(t, err, refused)
		require.Nil(t, w)
		_, err = env.Timers.After(time.Second, "left over", func() {})
		require.ErrorIs(t, err, mailbox.ErrClosed, "its timers have stopped")
	})
}

func TestOpenHasTheContextOfNew(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		type key struct{}
		ctx := context.WithValue(t.Context(), key{}, "mine")
		s := &lifecycle{destination: r.to, open: func(ctx context.Context, _ Env) error {
			return fmt.Errorf("%v", ctx.Value(key{}))
		}}
		_, err := New(ctx, s, Traits[string]{Size: func(string) int { return 1 }}, Config{})
		require.EqualError(t, err, "mine")
	})
}

func TestTuneLowersWhatABatchMayHoldWhileTheWriterRuns(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Max = limits.Batch{Entries: 50}
		env := r.opened(Config{Batch: limits.Batch{Entries: 100, Age: time.Hour}})
		sent := func(n int) (sizes []int) {
			before := len(r.to.requests())
			r.write(entries(n, 3)...)
			r.settle()
			for _, q := range r.to.requests()[before:] {
				sizes = append(sizes, len(q.entries))
			}
			return sizes
		}
		require.Equal(t, []int{50}, sent(50), "the service's limit stands above the configuration's")
		env.Tune(limits.Batch{Entries: 10})
		r.settle()
		require.Equal(t, []int{10, 10}, sent(20))
		env.Tune(limits.Batch{Entries: 1000})
		r.settle()
		require.Equal(t, []int{100}, sent(100), "and never raises the configuration's")

		_, err := r.TryWrite("0123456789")
		require.NoError(t, err)
		env.Tune(limits.Batch{Entries: 10, EntryBytes: 5, Bytes: 100})
		r.settle()
		_, err = r.TryWrite("0123456789")
		var large *EntryTooLargeError
		require.ErrorAs(t, err, &large)
	})
}

func TestLimitsThatMakeNoSenseAreNotTakenOver(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var log bytes.Buffer
		env := r.opened(Config{Batch: limits.Batch{Entries: 5}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		env.Tune(limits.Batch{Entries: -3})
		r.settle()
		require.Contains(t, log.String(), "limits of the service were ignored")
		require.Contains(t, log.String(), "batch.entries")
		r.write(entries(5, 1)...)
		r.settle()
		require.Len(t, r.to.requests(), 1)
	})
}

func TestCountersOfTheConnectorAreInTheStats(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		env := r.opened(Config{})
		require.Empty(t, r.Stats().Connector)
		env.Count("shards", 4)
		env.Count("shards", -1)
		env.Count("reshards", 1)
		s := r.Stats()
		require.Equal(t, map[string]int64{"shards": 3, "reshards": 1}, s.Connector)
		s.Connector["shards"] = 99
		require.EqualValues(t, 3, r.Stats().Connector["shards"], "it is a copy")
	})
}

func TestTimersOfTheConnectorRunInTheWriterAndStopWithIt(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		env := r.opened(Config{})
		ran := 0
		_, err := env.Timers.After(time.Second, "refresh", func() { ran++ })
		require.NoError(t, err)
		_, err = env.Timers.After(time.Hour, "never", func() { ran++ })
		require.NoError(t, err)
		r.pass(2 * time.Second)
		require.Equal(t, 1, ran)
		r.drain()
		require.Empty(t, env.Timers.Pending())
		_, err = env.Timers.After(time.Second, "too late", func() {})
		require.ErrorIs(t, err, mailbox.ErrClosed)
		env.Tune(limits.Batch{Entries: 1}) // harmless
		env.Count("late", 1)
		r.pass(2 * time.Hour)
		require.Equal(t, 1, ran)
	})
}

func TestAPanicInAMailOfTheConnectorStopsTheWriter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		env := r.opened(Config{})
		require.NoError(t, env.Executor.Execute("refresh", func() { panic("nil map") }))
		_, err := r.Write(t.Context(), "a")
		if err == nil { // the write itself let the mail run
			_, err = r.Flush(t.Context())
		}
		var panicked *mailbox.PanicError
		require.ErrorAs(t, err, &panicked)
		require.Equal(t, "refresh", panicked.Mail)
	})
}

// source is a credential source that gives nothing.
type source struct{}

func (*source) Credential(context.Context) (Credential, error) { return Credential{}, nil }
func (*source) Invalidate(uint64)                              {}

func TestACredentialShowsItsSecretsToNobody(t *testing.T) {
	c := Credential{ID: "AKIA", Secret: "hunter2", Session: "topsecret", Generation: 4}
	var text, js bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("have", "credential", c, "pointer", &c)
	slog.New(slog.NewJSONHandler(&js, nil)).Info("have", "credential", c, "pointer", &c)
	marshalled, err := json.Marshal(map[string]any{"c": c, "p": &c, "s": []Credential{c}})
	require.NoError(t, err)
	for name, shown := range map[string]string{
		"String": c.String(), "v": fmt.Sprintf("%v", c), "+v": fmt.Sprintf("%+v", c), "#v": fmt.Sprintf("%#v", c),
		"s": fmt.Sprintf("%s!", c), "q": fmt.Sprintf("%q", c), "x": fmt.Sprintf("%x", c), "pointer": fmt.Sprintf("%v %+v %#v", &c, &c, &c),
		"within": fmt.Sprintf("%+v", struct{ C Credential }{c}), "error": fmt.Errorf("bad: %v", c).Error(),
		"text log": text.String(), "JSON log": js.String(), "JSON": string(marshalled),
	} {
		require.NotContains(t, shown, "hunter2", name)
		require.NotContains(t, shown, "topsecret", name)
		if name != "x" {
			require.Contains(t, shown, "AKIA", name)
		}
	}
}
