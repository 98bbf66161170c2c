package asyncsink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// codec is a string codec under another name or of another version, or one that fails.
type codec struct {
	statecodec.String
	id      string
	version uint32
	fail    error
	decode  func(version uint32, src []byte) (string, error)
}

func (c *codec) ID() string {
	if c.id == "" {
		return "string"
	}
	return c.id
}

func (c *codec) Version() uint32 { return max(1, c.version) }

func (c *codec) AppendEncode(dst []byte, e string) ([]byte, error) {
	if c.fail != nil {
		return nil, c.fail
	}
	return append(dst, e...), nil
}

func (c *codec) Decode(version uint32, src []byte) (string, error) {
	if c.decode != nil {
		return c.decode(version, src)
	}
	return string(src), nil
}

// section is what a test reads of an encoded snapshot.
type section struct {
	statecodec.Section
	entries []string
}

func sections(t *testing.T, state []byte) (all []section) {
	t.Helper()
	dec, err := statecodec.NewDecoder(bytes.NewReader(state), statecodec.Caps{})
	require.NoError(t, err)
	for {
		s, err := dec.Next()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		if s.Codec == writerCodec {
			continue
		}
		next := section{Section: s}
		var e statecodec.Entry
		for err = dec.Entry(&e); err == nil; err = dec.Entry(&e) {
			next.entries = append(next.entries, string(e.Data))
		}
		require.ErrorIs(t, err, io.EOF)
		all = append(all, next)
	}
}

func TestASnapshotShowsAllThatIsHeldAndWaitsForNobody(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		c := single()
		c.Batch.Entries, c.InFlight.Requests = 2, 2
		dead := r.burying(c)
		stop := make(chan struct{})
		dead.answers(func(context.Context) error { <-stop; return nil })
		r.to.answers(func(ctx context.Context, b *Batch[string]) error {
			switch b.At(0) {
			case "bad":
				return rejectBad(ctx, b)
			case "again":
				b.Set(0, Outcome{Kind: Ambiguous, After: time.Hour})
				return nil
			}
			return hang(ctx, b)
		})
		r.write("bad", "delivered", "again", "delivered too")
		r.settle()
		r.write("flies", "too", "waits")
		r.settle()

		start := time.Now()
		s := r.snap()
		require.Zero(t, time.Since(start))
		require.False(t, s.Final())
		got := held(t, s)
		require.Equal(t, []string{"bad", "again", "flies", "too", "waits"}, names(t, s))
		require.Equal(t, "rejected", got[0].Class)
		require.Equal(t, 1, got[1].Attempts)
		require.True(t, got[1].Unsure)
		require.Equal(t, ID{Writer: r.id, Seq: 3}, got[1].ID)
		require.False(t, got[2].Unsure)
		for _, h := range got[1:] {
			require.NoError(t, h.Err)
		}

		all := sections(t, encode(t, s))
		require.Len(t, all, 1)
		require.Equal(t, statecodec.Section{
			Operator: "writer", Kind: statecodec.KindBuffer, Codec: "string", CodecVersion: 1, KeyGroups: statecodec.DefaultKeyGroups,
		}, all[0].Section)
		require.Equal(t, []string{"bad", "again", "flies", "too", "waits"}, all[0].entries)
		close(stop)
	})
}

func TestASnapshotIsWrittenBesideTheWriterAndDoesNotChange(t *testing.T) {
	for _, order := range []Order{Unordered, PerKey} {
		t.Run(order.String(), func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				dead := &deadLetters{}
				r.to.answers(func(ctx context.Context, b *Batch[string]) error {
					for i := range b.Len() {
						switch (b.Attempt(i) + i) % 4 {
						case 0:
							b.Set(i, Outcome{Kind: Ambiguous})
						case 1:
							b.Set(i, Outcome{Kind: Rejected, Err: errBad})
						}
					}
					return nil
				})
				r.open(Config{
					Order: order, DeadLetters: dead,
					Batch: limits.Batch{Entries: 50, Age: time.Millisecond}, InFlight: limits.InFlight{Controller: limits.Static},
				})
				var beside sync.WaitGroup
				for range 3 {
					r.write(entries(1200, 100)...)
					s := r.snap()
					want := names(t, s)
					beside.Go(func() {
						var again []string
						for h, err := range s.All() {
							if err != nil {
								t.Error(err)
							}
							again = append(again, h.Entry)
						}
						if len(again) != len(want) {
							t.Errorf("%d entries, and %d a moment later", len(want), len(again))
						}
						var out bytes.Buffer
						enc, _ := statecodec.NewEncoder(&out, statecodec.Header{})
						if err := errors.Join(s.Encode(enc), enc.Close()); err != nil {
							t.Error(err)
						}
						if int(enc.Totals().Entries) != len(want) {
							t.Errorf("%d of %d entries were written", enc.Totals().Entries, len(want))
						}
					})
				}
				r.write(entries(1200, 100)...)
				r.drain()
				beside.Wait()
			})
		})
	}
}

func TestAnEntryThatStoppedTheWriterIsWrittenToItsSnapshot(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(rejectBad)
		r.open(single())
		r.write("bad")
		r.settle()
		left, err := r.Close(t.Context())
		require.Error(t, err)
		defer left.Close()
		all := sections(t, encode(t, left))
		require.Equal(t, statecodec.KindBuffer, all[0].Kind, "the next life tries it again")
		require.Equal(t, []string{"bad"}, all[0].entries)
	})
}

func TestASnapshotOfNothingIsOneEmptySection(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.open(Config{Name: "orders"})
		s := r.snap()
		require.Zero(t, s.Len())
		all := sections(t, encode(t, s))
		require.Len(t, all, 1)
		require.Equal(t, "orders", all[0].Operator)
		require.Empty(t, all[0].entries)
	})
}

func TestASnapshotStaysReadableUntilItsOwnClose(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		open := make(gate)
		r.to.answers(open.answer)
		r.open(single())
		r.write("a", "b")
		s := r.snap()
		close(open)
		r.drain()
		require.Equal(t, []string{"a", "b"}, names(t, s), "delivered since, and the writer is closed")
		require.NotEmpty(t, encode(t, s))
		s.Close()
		s.Close()
	})
}

func TestMemoryIsKeptUntilTheEntryHasSettledAndItsSnapshotIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type big = [1 << 16]byte
		null := SubmitFunc[*big](func(context.Context, *Batch[*big]) error { return nil })
		w, err := New(t.Context(), null, Traits[*big]{Size: func(*big) int { return 1 }}, Config{})
		require.NoError(t, err)
		write := func() weak.Pointer[big] {
			e := new(big)
			_, err := w.Write(t.Context(), e)
			require.NoError(t, err)
			return weak.Make(e)
		}
		kept := func(p weak.Pointer[big]) bool {
			runtime.GC()
			return p.Value() != nil
		}
		flush := func() {
			_, err := w.Flush(t.Context())
			require.NoError(t, err)
			synctest.Wait()
		}

		alone := write()
		require.True(t, kept(alone))
		flush()
		require.False(t, kept(alone))

		shown := write()
		s, err := w.Snapshot()
		require.NoError(t, err)
		flush()
		require.True(t, kept(shown))
		s.Close()
		s.Close() // twice is harmless
		require.False(t, kept(shown))
		_, err = w.Close(t.Context())
		require.NoError(t, err)
	})
}

func TestReadingASnapshotMayEndEarly(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		r.open(single())
		r.write("a", "b", "c")
		for h, err := range r.snap().All() {
			require.NoError(t, err)
			require.Equal(t, "a", h.Entry)
			break
		}
	})
}

func TestEncodeTellsWhyItCannot(t *testing.T) {
	encodeInto := func(s *Snapshot[string], out io.Writer) error {
		enc, err := statecodec.NewEncoder(out, statecodec.Header{})
		return errors.Join(err, s.Encode(enc), enc.Close())
	}
	both(t, func(t *testing.T, r *rig) {
		r.to.answers(hang)
		broken := &codec{fail: errors.New("no encoding")}
		r.traits.Codec = broken
		r.open(single())
		r.write("a", "b")
		err := encodeInto(r.snap(), io.Discard)
		require.ErrorIs(t, err, broken.fail)
		require.ErrorContains(t, err, "writer writer: encode entry 1")

		broken.fail = nil
		full := errors.New("disk full")
		require.ErrorIs(t, encodeInto(r.snap(), &fullDisk{err: full}), full)
	})
	t.Run("no codec", func(t *testing.T) {
		w, err := New(t.Context(), SubmitFunc[int](func(context.Context, *Batch[int]) error { return nil }),
			Traits[int]{Size: func(int) int { return 1 }}, Config{Name: "numbers"})
		require.NoError(t, err)
		s, err := w.Snapshot()
		require.NoError(t, err)
		enc, err := statecodec.NewEncoder(io.Discard, statecodec.Header{})
		require.NoError(t, err)
		require.EqualError(t, s.Encode(enc), "writer numbers: encode: the traits have no codec")
		_, err = w.Close(t.Context())
		require.NoError(t, err)
	})
}

// fullDisk takes a snapshot's header and nothing more.
type fullDisk struct {
	err    error
	writes int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.writes++; d.writes == 1 {
		return len(p), nil
	}
	return 0, d.err
}
