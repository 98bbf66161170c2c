package spill

import "sync"

// syncer is the goroutine of Steady.
type syncer struct {
	since int64         // bytes written since it was last asked: the owner's
	wake  chan struct{} // holds one
	done  chan struct{}

	mu    sync.Mutex
	queue []*Segment // to be synced, each pinned
}

func newSyncer() *syncer {
	y := &syncer{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go y.run()
	return y
}

func (y *syncer) run() {
	defer close(y.done)
	for range y.wake {
		for s := y.next(); s != nil; s = y.next() {
			s.sync()
			s.Unpin()
		}
	}
}

// wrote has s synced when enough was written.
func (y *syncer) wrote(s *Segment, n int64) {
	if y.since += n; y.since >= syncBytes {
		y.ask(s)
	}
}

// ask has s synced, or sealed and synced once it is ended.
func (y *syncer) ask(s *Segment) {
	y.since = 0
	s.Pin()
	y.mu.Lock()
	y.queue = append(y.queue, s)
	y.mu.Unlock()
	select {
	case y.wake <- struct{}{}:
	default: // it has not slept since
	}
}

// next takes the oldest segment; asked for several times, it is synced once.
func (y *syncer) next() *Segment {
	y.mu.Lock()
	defer y.mu.Unlock()
	for len(y.queue) > 0 {
		s := y.queue[0]
		y.queue = y.queue[1:]
		if len(y.queue) == 0 || y.queue[0] != s {
			return s
		}
		s.Unpin()
	}
	return nil
}

// stop ends it, after the sync that it is at.
func (y *syncer) stop() {
	y.mu.Lock()
	queue := y.queue
	y.queue = nil
	y.mu.Unlock()
	close(y.wake)
	<-y.done
	for _, s := range queue {
		s.Unpin()
	}
}
