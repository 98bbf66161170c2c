package pipeline

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/stream"
)

// letters is the dead letters of a job: those of its writer, to which it adds
// where they came from, and those of records that never became entries.
type letters struct {
	out DeadLetters
	log *slog.Logger

	mu    sync.Mutex // guards what follows: the writer's letters are written beside the loop
	added *sync.Cond
	marks stream.Marks
	last  asyncsink.Seq
	ended bool

	// Touched by the loop's owner only.
	pending []DeadLetter // of records, to be written
	writing []DeadLetter // of records, being written
	wanted  func()       // to be called when all letters of records are durable
	err     error
}

func newLetters(out DeadLetters, log *slog.Logger) *letters {
	l := &letters{out: out, log: log}
	l.added = sync.NewCond(&l.mu)
	return l
}

// add notes where an entry came from.
func (l *letters) add(seq asyncsink.Seq, rec *stream.Record) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks.Add(uint64(seq), rec.Split, rec.Position)
	l.last = seq
	l.added.Broadcast()
}

// settle forgets the origins of what the writer has settled.
func (l *letters) settle(ranges []asyncsink.Range) {
	if l == nil || len(ranges) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range ranges {
		l.marks.Settle(uint64(r.First), uint64(r.Last))
	}
}

// origin is where an entry came from. An entry may be given up before the loop
// has come round to add it, so origin waits for that.
func (l *letters) origin(seq asyncsink.Seq) (split string, position []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq > l.last && !l.ended {
		l.added.Wait()
	}
	split, position, _ = l.marks.Origin(uint64(seq))
	return split, position
}

// end lets those go that wait for an origin that will not come.
func (l *letters) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.added.Broadcast()
}

// Write implements asyncsink.DeadLetters.
func (l *letters) Write(ctx context.Context, in []asyncsink.DeadLetter) error {
	out := make([]DeadLetter, len(in))
	for i, d := range in {
		out[i] = DeadLetter{Time: d.Time, Class: d.Class, Err: d.Err, Attempts: d.Attempts, Key: d.Key, Data: d.Data}
		if !d.Restored {
			out[i].Split, out[i].Position = l.origin(d.Seq)
		}
	}
	return l.out.Write(ctx, out)
}

// runner is what letters need of a Runner, whatever its entries are.
type runner interface {
	execute(name string, mail func())
	yield() error
	context() context.Context
	buried(records int)
}

// reject sends a record that can't become an entry to the output.
func (l *letters) reject(r runner, rec *stream.Record, class string, err error) {
	l.pending = append(l.pending, DeadLetter{
		Time: time.Now(), Class: class, Err: err, Split: rec.Split, Position: bytes.Clone(rec.Position),
		Key: string(rec.Key), Data: bytes.Clone(rec.Value),
	})
	l.flush(r)
}

// flush writes what is pending, one lot at a time.
func (l *letters) flush(r runner) {
	if len(l.writing) > 0 || len(l.pending) == 0 || l.err != nil {
		return
	}
	lot := l.pending
	l.pending, l.writing = nil, lot
	go func() {
		err := asyncsink.WriteLetters(r.context(), l.log, len(lot), func(ctx context.Context) error {
			return l.out.Write(ctx, lot)
		})
		r.execute("rejected records written", func() { l.written(r, err) })
	}()
}

func (l *letters) written(r runner, err error) {
	lot := l.writing
	l.writing = nil
	if err != nil {
		l.err, l.pending = err, append(lot, l.pending...) // no checkpoint may pass them
		return
	}
	r.buried(len(lot))
	if l.flush(r); len(l.writing) == 0 && l.wanted != nil {
		wanted := l.wanted
		l.wanted = nil
		wanted()
	}
}

// whenDurable calls do once every record given up so far is durable. Until
// then no more are taken, so that it comes soon.
func (l *letters) whenDurable(do func()) {
	if l.len() == 0 || l.err != nil {
		do()
		return
	}
	l.wanted = do
}

// hold waits while records must not be taken: a checkpoint waits for letters,
// or too many of them wait to be written.
func (l *letters) hold(r runner) error {
	if l == nil {
		return nil
	}
	for l.err == nil && (l.wanted != nil || len(l.pending) >= lotLen) {
		if err := r.yield(); err != nil {
			return err
		}
	}
	return l.err
}

// len is how many letters of records are not durable.
func (l *letters) len() int {
	if l == nil {
		return 0
	}
	return len(l.pending) + len(l.writing)
}

func (l *letters) failed() error {
	if l == nil {
		return nil
	}
	return l.err
}
