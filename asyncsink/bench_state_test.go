package asyncsink

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/statecodec"
)

// named gives every file a name, as a store in memory does.
type named struct{ n int }

func (n *named) Share(_ context.Context, f File) (string, error) {
	if f.Name != "" {
		return f.Name, nil
	}
	n.n++
	return fmt.Sprintf("log%d", n.n), nil
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

// stuck is a writer that holds n entries of so many bytes; those in turn go when let is called.
func stuck(b *testing.B, n, size int) (w *Writer[[]byte], let func(n int)) {
	pass := make(chan struct{}, 1<<20)
	w, err := New(b.Context(), submitter(func(ctx context.Context, batch *Batch[[]byte]) error {
		select {
		case <-pass:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}), Traits[[]byte]{Size: func(e []byte) int { return len(e) }}, Config{
		Held: limits.Held{Entries: limits.Entries(2 * n), Bytes: 16 << 30}, Batch: limits.Batch{Entries: 500},
		InFlight: limits.InFlight{Requests: 4, Timeout: time.Hour, Controller: limits.Static},
	})
	require.NoError(b, err)
	e := make([]byte, size)
	for range n {
		_, err := w.Write(b.Context(), e)
		require.NoError(b, err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = w.Close(ctx)
	})
	return w, func(n int) {
		want := w.Held() - n
		for range n / 500 {
			pass <- struct{}{}
		}
		for w.Held() > want {
			time.Sleep(time.Millisecond)
		}
	}
}

type submitter func(context.Context, *Batch[[]byte]) error

func (f submitter) Submit(ctx context.Context, b *Batch[[]byte]) error { return f(ctx, b) }

// BenchmarkCheckpoint writes checkpoints of a backlog of a million entries to memory: whole ones, and incremental ones
// after 1 % of it was delivered and as much has come. of-full-% are the incremental one's time and bytes, of a whole one's.
func BenchmarkCheckpoint(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("entry=%d", size), func(b *testing.B) {
			const backlog = 1_000_000
			w, let := stuck(b, backlog, size)
			files := &named{}
			save := func(whole bool) (time.Duration, int64) {
				s, err := w.Snapshot()
				require.NoError(b, err)
				defer s.Close()
				var out counting
				start := time.Now()
				enc, err := statecodec.NewEncoder(&out, statecodec.Header{})
				require.NoError(b, err)
				var c *Changes[[]byte]
				if whole {
					require.NoError(b, s.Encode(enc))
				} else {
					c, err = s.Changes(b.Context(), files)
					require.NoError(b, err)
					require.NoError(b, c.Encode(enc))
				}
				require.NoError(b, enc.Close())
				took := time.Since(start)
				if c != nil {
					files.n++
					c.Saved(fmt.Sprintf("state%d", files.n))
				}
				return took, out.n
			}
			save(false)
			e := make([]byte, size)
			var full, part time.Duration
			var fullBytes, partBytes int64
			for b.Loop() {
				t, n := save(true)
				full, fullBytes = full+t, fullBytes+n
				let(backlog / 100)
				for range backlog / 100 {
					_, err := w.Write(b.Context(), e)
					require.NoError(b, err)
				}
				t, n = save(false)
				part, partBytes = part+t, partBytes+n
			}
			b.ReportMetric(float64(fullBytes)/full.Seconds()/1e9, "full-GB/s")
			b.ReportMetric(100*part.Seconds()/full.Seconds(), "time-of-full-%")
			b.ReportMetric(100*float64(partBytes)/float64(fullBytes), "bytes-of-full-%")
			b.ReportMetric(float64(fullBytes)/float64(b.N)/backlog-float64(size), "overhead-B/entry")
		})
	}
}

var _ io.Writer = (*counting)(nil)

// BenchmarkSpill writes a GiB of entries that spill, and the same bytes to a file in one go, each with one fsync at its
// end, in turns. of-plain-% is the speed of spilling, of the plain write's.
func BenchmarkSpill(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("entry=%d", size), func(b *testing.B) {
			const total = 256 << 20
			e := make([]byte, size)
			var ours, plain time.Duration
			var bytes int64
			for b.Loop() {
				dir := b.TempDir()
				w, err := New(b.Context(), submitter(func(ctx context.Context, _ *Batch[[]byte]) error {
					<-ctx.Done()
					return ctx.Err()
				}), Traits[[]byte]{Size: func(e []byte) int { return len(e) }}, Config{
					Held: limits.Held{Entries: 1000}, InFlight: limits.InFlight{Timeout: time.Hour}, Spill: Spill{Dir: dir + "/spill", Bytes: 8 << 30},
				})
				require.NoError(b, err)
				start := time.Now()
				for range total / size {
					if _, err := w.Write(b.Context(), e); err != nil {
						b.Fatal(err)
					}
				}
				s, err := w.Snapshot()
				require.NoError(b, err)
				for _, segment := range s.segments {
					require.NoError(b, segment.Seal())
					f, err := os.Open(segment.Path())
					require.NoError(b, err)
					require.NoError(b, f.Sync())
					require.NoError(b, f.Close())
					bytes += segment.Size()
				}
				ours += time.Since(start)
				s.Close()
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				left, _ := w.Close(ctx)
				left.Close()

				block := make([]byte, 256<<10)
				f, err := os.Create(dir + "/plain")
				require.NoError(b, err)
				start = time.Now()
				for range total / len(block) {
					_, err := f.Write(block)
					require.NoError(b, err)
				}
				require.NoError(b, f.Sync())
				plain += time.Since(start)
				require.NoError(b, f.Close())
				require.NoError(b, os.Remove(dir+"/plain"))
			}
			b.ReportMetric(float64(bytes)/ours.Seconds()/1e6, "MB/s")
			b.ReportMetric(100*plain.Seconds()/ours.Seconds()*float64(bytes)/float64(b.N)/total, "of-plain-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkRestore takes a million entries back into a writer's memory from a file that a checkpoint shares and the system has
// in its cache, and reads the same file by itself, in turns. of-read-x is how many times as long restoring takes.
func BenchmarkRestore(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("entry=%d", size), func(b *testing.B) {
			const n = 1_000_000
			dir := b.TempDir()
			w, _ := stuck(b, n, size)
			write := func(name string) {
				s, err := w.Snapshot()
				require.NoError(b, err)
				defer s.Close()
				f, err := os.Create(dir + "/" + name)
				require.NoError(b, err)
				enc, err := statecodec.NewEncoder(f, statecodec.Header{})
				require.NoError(b, err)
				c, err := s.Changes(b.Context(), &named{})
				require.NoError(b, err)
				require.NoError(b, c.Encode(enc))
				require.NoError(b, enc.Close())
				require.NoError(b, f.Close())
				c.Saved(name)
			}
			write("first")
			write("second") // shares the first
			open := func(name string) (io.ReadCloser, error) { return os.Open(dir + "/" + name) }
			var ours, plain time.Duration
			var bytes int64
			buf := make([]byte, 256<<10)
			for b.Loop() {
				start := time.Now()
				r, err := New(b.Context(), submitter(func(ctx context.Context, _ *Batch[[]byte]) error {
					<-ctx.Done()
					return ctx.Err()
				}), Traits[[]byte]{Size: func(e []byte) int { return len(e) }}, Config{
					Held: limits.Held{Entries: 2 * n, Bytes: 16 << 30}, InFlight: limits.InFlight{Timeout: time.Hour},
					Restore: &Restore{Name: "second", Open: func() (io.ReadCloser, error) { return open("second") }, File: open},
				})
				require.NoError(b, err)
				for r.Stats().Restored.Entries < n {
					time.Sleep(100 * time.Microsecond)
				}
				ours += time.Since(start)
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				left, _ := r.Close(ctx)
				left.Close()

				start = time.Now()
				f, err := open("first")
				require.NoError(b, err)
				k, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, buf)
				require.NoError(b, err)
				plain += time.Since(start)
				bytes += k
				require.NoError(b, f.Close())
			}
			b.ReportMetric(float64(bytes)/ours.Seconds()/1e9, "GB/s")
			b.ReportMetric(ours.Seconds()/plain.Seconds(), "of-read-x")
			b.ReportMetric(0, "ns/op")
		})
	}
}
