package asyncsink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/statecodec"
)

func TestStateOfAnotherCodecOrANewerVersionIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ wrote, reads *codec }{
		"another codec":   {&codec{id: "kafka.record"}, &codec{id: "kinesis.record"}},
		"a newer version": {&codec{version: 3}, &codec{version: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				r.traits.Codec = c.wrote
				state := r.earlier("a")
				r.traits.Codec = c.reads
				w, err := r.tryOpen(r.to, Config{Name: "writer", Restore: from(state)})
				require.Nil(t, w)
				var refused *StateError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, "writer", refused.Writer)
				require.ErrorContains(t, err, c.wrote.ID())
				require.ErrorContains(t, err, "restore with the program that wrote them")
			})
		})
	}
}

func TestStateOfAnOlderVersionIsReadAsSuch(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.traits.Codec = &codec{version: 1}
		state := r.earlier("a")
		r.traits.Codec = &codec{version: 2, decode: func(version uint32, src []byte) (string, error) {
			return string(src) + " of version " + string('0'+byte(version)), nil
		}}
		r.open(Config{Restore: from(state)})
		r.drain()
		require.Equal(t, []string{"a of version 1"}, r.to.got())
	})
}

func TestEntriesThatDoNotDecodeAreRefused(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier("a", "b")
		bad := errors.New("not ours")
		r.traits.Codec = &codec{decode: func(_ uint32, src []byte) (string, error) {
			if string(src) == "b" {
				return "", bad
			}
			return string(src), nil
		}}
		_, err := r.tryOpen(r.to, Config{Restore: from(state)})
		var refused *StateError
		require.ErrorAs(t, err, &refused)
		require.ErrorIs(t, err, bad)
		require.ErrorContains(t, err, "decode entry 2")
	})
}

func TestDamagedStateIsRefusedBeforeAnythingIsSent(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(100, 3)...)
		damaged := map[string][]byte{
			"empty":     {},
			"not state": []byte("what a wonderful day, and no snapshot at all"),
			"cut off":   state[:len(state)-1],
			"too long":  append(slices.Clone(state), 0),
		}
		for _, at := range []int{20, len(state) / 2, len(state) - 2} {
			flipped := slices.Clone(state)
			flipped[at] ^= 1
			damaged["flipped "+string(rune('0'+at%10))] = flipped
		}
		for name, state := range damaged {
			_, err := r.tryOpen(r.to, Config{Restore: from(state)})
			var refused *StateError
			require.ErrorAs(t, err, &refused, name)
		}
		require.Empty(t, r.to.requests())
	})
}

func TestStateThatCannotBeOpenedIsRefused(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		gone := errors.New("no such checkpoint")
		_, err := r.tryOpen(r.to, Config{Restore: &Restore{Open: func() (io.ReadCloser, error) { return nil, gone }}})
		var refused *StateError
		require.ErrorAs(t, err, &refused)
		require.ErrorIs(t, err, gone)
	})
}

// stateSource counts its readers, and may change what it gives.
type stateSource struct {
	state        func(open int64) []byte
	opens, close atomic.Int64
}

func (s *stateSource) restore() *Restore {
	return &Restore{Open: func() (io.ReadCloser, error) {
		return stateReader{bytes.NewReader(s.state(s.opens.Add(1))), s}, nil
	}}
}

type stateReader struct {
	io.Reader
	source *stateSource
}

func (r stateReader) Close() error {
	r.source.close.Add(1)
	return nil
}

func TestEveryReaderOfTheStateIsClosed(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		state := r.earlier(entries(50, 50)...)
		cut := state[:len(state)/2]
		r.to.answers(hang)
		c := single()
		c.Held.Entries = 10
		for name, s := range map[string]*stateSource{
			"taken back in part": {state: func(int64) []byte { return state }},
			"damaged":            {state: func(int64) []byte { return cut }},
			"no state":           {state: func(int64) []byte { return nil }},
			"damaged later":      {state: func(open int64) []byte { return [][]byte{nil, state, nil, nil}[min(open, 3)] }},
		} {
			c.Restore = s.restore()
			w, err := r.tryOpen(r.to, c)
			if err == nil {
				shot, err := w.Snapshot()
				require.NoError(t, err)
				for range shot.All() {
					break
				}
				shot.Close()
				left, _ := w.Close(r.within(time.Second))
				for range left.All() {
				}
				left.Close()
				synctest.Wait()
			}
			require.Positive(t, s.opens.Load(), name)
			require.Equal(t, s.opens.Load(), s.close.Load(), name)
		}
	})
}

func TestStateThatIsDamagedLaterStopsTheWriter(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		long := entries(600, 600)
		for i := range long {
			long[i] += strings.Repeat("x", 1000) // several blocks
		}
		state := r.earlier(long...)
		// A first time it is checked, a second time entries are taken back.
		s := &stateSource{state: func(open int64) []byte {
			if open == 1 {
				return state
			}
			return state[:len(state)/2]
		}}
		c := single()
		c.Held.Entries = 5
		c.Restore = s.restore()
		r.open(c)
		_, err := r.Write(t.Context(), "new")
		var refused *StateError
		require.ErrorAs(t, err, &refused)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)

		shot := r.snap()
		enc, err := statecodec.NewEncoder(io.Discard, statecodec.Header{})
		require.NoError(t, err)
		require.ErrorIs(t, shot.Encode(enc), io.ErrUnexpectedEOF, "no snapshot that would look complete")
	})
}

// A panic of the traits' functions while entries are taken back, whoever makes
// the room for them, stops the writer; nothing of the state gets lost.
func TestAPanicWhileEntriesAreTakenBackStopsTheWriter(t *testing.T) {
	for name, spoil := range map[string]func(r *rig, on *atomic.Bool){
		"decode": func(r *rig, on *atomic.Bool) {
			var times atomic.Int64
			r.traits.Codec = &codec{decode: func(_ uint32, src []byte) (string, error) {
				if string(src) == "k550:550" && times.Add(1) == 2 { // the first time, the state is checked
					panic("decode")
				}
				return string(src), nil
			}}
		},
		"size": func(r *rig, on *atomic.Bool) {
			r.traits.Size = func(e string) int {
				if on.Load() && e == "k3:3" {
					panic("size")
				}
				return len(e)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, r *rig) {
				all := entries(600, 600) // more than a lot
				state := r.earlier(all...)
				var on atomic.Bool
				spoil(r, &on)
				c := single()
				c.Restore, c.Held.Entries = from(state), 1
				r.to.answers(func(context.Context, *Batch[string]) error {
					time.Sleep(time.Second)
					on.Store(true)
					return nil
				})
				r.open(c)
				start := time.Now()
				_, err := r.Write(t.Context(), "new") // waits for room, and no other call comes
				require.Less(t, time.Since(start), time.Minute)
				var refused *StateError
				require.ErrorAs(t, err, &refused)
				require.ErrorContains(t, err, name)

				on.Store(false)
				left, err := r.Close(r.within(time.Second))
				require.ErrorAs(t, err, &refused)
				require.Equal(t, all[len(r.to.got()):], names(t, left))
				left.Close()
			})
		})
	}
}

func TestTheSubmitterIsClosedWhenItsStateIsRefused(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		s := &lifecycle{destination: r.to}
		_, err := r.tryOpen(s, Config{Restore: from([]byte("no state"))})
		var refused *StateError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, 1, s.closed)
	})
}
