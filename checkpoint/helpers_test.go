package checkpoint

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var orders = Job{Name: "orders", Instance: "0"}

// opened begins a life over the state of orders.
func opened(t *testing.T, s Store, o ...Options) *History {
	t.Helper()
	h, err := Open(t.Context(), s, orders, append(o, Options{})[0])
	require.NoError(t, err)
	return h
}

// text is content for a data file, long enough that half of it shows.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat(s+" ", 100))
		return err
	}
}

// full fills a draft with a state file and a log file, both new.
func full(ctx context.Context, d *Draft) error {
	if _, err := d.Put(ctx, RoleLog, text(fmt.Sprint("log ", d.ID()))); err != nil {
		return err
	}
	return state(ctx, d)
}

// state fills a draft with a state file.
func state(ctx context.Context, d *Draft) error {
	_, err := d.Put(ctx, RoleState, text(fmt.Sprint("state ", d.ID())))
	return err
}

// sharing fills a draft with a state file and all files of another checkpoint.
func sharing(c *Checkpoint) func(context.Context, *Draft) error {
	return func(ctx context.Context, d *Draft) error {
		for _, f := range c.Files {
			if err := d.Share(f); err != nil {
				return err
			}
		}
		return state(ctx, d)
	}
}

// copying is sharing by copies.
func copying(c *Checkpoint) func(context.Context, *Draft) error {
	return func(ctx context.Context, d *Draft) error {
		for _, f := range c.Files {
			if _, err := d.CopyFrom(ctx, c, f); err != nil {
				return err
			}
		}
		return state(ctx, d)
	}
}

func write(t *testing.T, h *History, fill func(context.Context, *Draft) error) *Checkpoint {
	t.Helper()
	c, err := h.Write(t.Context(), fill)
	require.NoError(t, err)
	require.NoError(t, h.PruneError())
	return c
}

// newest is the newest checkpoint, read whole.
func newest(t *testing.T, h *History) *Checkpoint {
	t.Helper()
	c, err := h.Newest(t.Context())
	require.NoError(t, err)
	if c != nil {
		require.NoError(t, c.Verify(t.Context(), nil))
	}
	return c
}

func fileNames(c *Checkpoint) (names []string) {
	for _, f := range c.Files {
		names = append(names, f.Name)
	}
	return names
}

// requireNoOrphans looks whether all data files are named by a manifest of their job.
func requireNoOrphans(t *testing.T, m *memory) {
	t.Helper()
	named := map[string]bool{}
	jobs, err := Jobs(t.Context(), m)
	require.NoError(t, err)
	for _, job := range jobs {
		list, err := List(t.Context(), m, job)
		require.NoError(t, err)
		for _, c := range list {
			for _, f := range c.Files {
				named[c.path+f.Name] = true
			}
		}
	}
	for _, name := range m.names() {
		if strings.Contains(name, "/data/") {
			require.True(t, named[name], "%s is named by no manifest", name)
		}
	}
}
