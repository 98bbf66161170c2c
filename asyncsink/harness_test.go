package asyncsink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/mailbox"
	"github.com/spillway-go/spillway/statecodec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both proves a promise on the default executor and on a loop whose owner is
// the test's goroutine, each in a bubble with a clock of its own.
func both(t *testing.T, prove func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run("Locked", func(t *testing.T) { bubble(t, nil, prove) })
	t.Run("Loop", func(t *testing.T) { bubble(t, new(mailbox.Loop), prove) })
}

// locked proves a promise about several goroutines that call one writer.
func locked(t *testing.T, prove func(t *testing.T, r *rig)) {
	t.Helper()
	bubble(t, nil, prove)
}

func bubble(t *testing.T, loop *mailbox.Loop, prove func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		prove(t, &rig{t: t, loop: loop, to: &destination{}})
	})
}

// rig is a writer under test and the destination that it writes to.
type rig struct {
	*Writer[string]
	t    *testing.T
	loop *mailbox.Loop // nil: the default executor
	to   *destination

	traits Traits[string] // what open gives the writer, with Size and Key filled in
}

// open makes the writer, and sees to its end.
func (r *rig) open(c Config) {
	r.t.Helper()
	r.openTo(r.to, c)
}

func (r *rig) openTo(s RequestSubmitter[string], c Config) {
	r.t.Helper()
	w, err := r.tryOpen(s, c)
	require.NoError(r.t, err)
	r.Writer = w
	r.t.Cleanup(func() { r.end(w) })
}

func (r *rig) tryOpen(s RequestSubmitter[string], c Config) (*Writer[string], error) {
	t := r.traits
	if t.Size == nil {
		t.Size = func(e string) int { return len(e) }
	}
	if t.Key == nil {
		t.Key = keyOf
	}
	if r.loop != nil {
		c.Executor = r.loop
	}
	return New(r.t.Context(), s, t, c)
}

// keyOf is what stands before the colon.
func keyOf(e string) string {
	key, _, _ := strings.Cut(e, ":")
	return key
}

// end closes the writer, unless the test did, and checks the books.
func (r *rig) end(w *Writer[string]) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left, _ := w.Close(ctx); left != nil {
		left.Close()
	}
	s := w.Stats()
	for _, c := range []struct{ in, out int64 }{
		{s.Accepted.Entries + s.Restored.Entries, s.Delivered.Entries + s.Dead.Entries + s.Held().Entries + s.Spilled.Entries},
		{s.Accepted.Bytes + s.Restored.Bytes, s.Delivered.Bytes + s.Dead.Bytes + s.Held().Bytes + s.Spilled.Bytes},
	} {
		require.Equal(r.t, c.in, c.out, "the ledger balances: %+v", s)
	}
}

// write writes entries, which must be taken at once or in the end.
func (r *rig) write(entries ...string) (last Seq) {
	r.t.Helper()
	for _, e := range entries {
		seq, err := r.Write(r.t.Context(), e)
		require.NoError(r.t, err)
		last = seq
	}
	return last
}

// settle lets everything happen that can without time passing.
func (r *rig) settle() {
	for ran := true; ran; {
		synctest.Wait()
		ran = false
		if r.loop != nil {
			ran, _ = r.loop.TryYield()
		}
	}
}

// pass lets time pass, and everything happen that comes about meanwhile.
func (r *rig) pass(d time.Duration) {
	if r.loop == nil {
		time.Sleep(d)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		for ctx.Err() == nil {
			_ = r.loop.Run(ctx)
		}
	}
	r.settle()
}

// drain closes the writer, which must leave nothing.
func (r *rig) drain() {
	r.t.Helper()
	left, err := r.Close(r.t.Context())
	require.NoError(r.t, err)
	require.Nil(r.t, left)
}

// within is a context that ends after d.
func (r *rig) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), d)
	r.t.Cleanup(cancel)
	return ctx
}

// snap takes a snapshot, which is closed with the test.
func (r *rig) snap() *Snapshot[string] {
	r.t.Helper()
	s, err := r.Snapshot()
	require.NoError(r.t, err)
	r.t.Cleanup(s.Close)
	return s
}

// destination is a submitter that a test scripts, and what it saw and stored.
type destination struct {
	mu     sync.Mutex
	answer func(ctx context.Context, b *Batch[string]) error // nil: everything is stored
	sent   []request
	stored []string
}

type request struct {
	number   uint64
	entries  []string
	attempts []int
	ids      []ID
	at       time.Time
}

func (d *destination) Submit(ctx context.Context, b *Batch[string]) error {
	q := request{number: b.Number(), at: time.Now()}
	for i, e := range b.All() {
		q.entries = append(q.entries, e)
		q.attempts = append(q.attempts, b.Attempt(i))
		q.ids = append(q.ids, b.ID(i))
	}
	d.mu.Lock()
	d.sent = append(d.sent, q)
	answer := d.answer
	d.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, b); err != nil {
			return err
		}
	}
	d.store(b)
	return nil
}

// store keeps the entries that were not given another outcome.
func (d *destination) store(b *Batch[string]) {
	failed := map[int]bool{}
	b.mu.Lock()
	for _, f := range b.fails {
		failed[f.Index] = f.Kind != Delivered
	}
	b.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, e := range b.All() {
		if !failed[i] {
			d.stored = append(d.stored, e)
		}
	}
}

// answers changes what the destination does from the next request on.
func (d *destination) answers(f func(ctx context.Context, b *Batch[string]) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = f
}

func (d *destination) got() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.stored)
}

// count is how many requests were sent.
func (d *destination) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sent)
}

func (d *destination) requests() []request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sent)
}

// hang answers nothing until the attempt's context ends.
func hang(ctx context.Context, _ *Batch[string]) error {
	<-ctx.Done()
	return ctx.Err()
}

// fail answers each request with an outcome for all of it.
func fail(o Outcome) func(context.Context, *Batch[string]) error {
	return func(context.Context, *Batch[string]) error { return o }
}

// gate holds every request until it is opened, one request for each token.
type gate chan struct{}

func (g gate) answer(ctx context.Context, _ *Batch[string]) error {
	select {
	case <-g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// entries are n entries of some keys.
func entries(n, keys int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("k%d:%d", i%keys, i)
	}
	return all
}

// single makes every entry a request of its own, as many at once as may be.
func single() Config {
	return Config{Batch: limits.Batch{Entries: 1}, InFlight: limits.InFlight{Controller: limits.Static}}
}

// held is what a snapshot shows.
func held(t *testing.T, s *Snapshot[string]) (all []Held[string]) {
	t.Helper()
	for h, err := range s.All() {
		require.NoError(t, err)
		all = append(all, h)
	}
	require.Len(t, all, s.Len())
	return all
}

// names is the entries of what a snapshot shows.
func names(t *testing.T, s *Snapshot[string]) (all []string) {
	t.Helper()
	for _, h := range held(t, s) {
		all = append(all, h.Entry)
	}
	return all
}

// encode is a snapshot's bytes.
func encode(t *testing.T, s *Snapshot[string]) []byte {
	t.Helper()
	var out bytes.Buffer
	enc, err := statecodec.NewEncoder(&out, statecodec.Header{Job: "job", Final: s.Final()})
	require.NoError(t, err)
	require.NoError(t, s.Encode(enc))
	require.NoError(t, enc.Close())
	return out.Bytes()
}

// from restores what encode wrote.
func from(state []byte) *Restore {
	return &Restore{Checkpoint: 7, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(state)), nil
	}}
}
