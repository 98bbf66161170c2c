package statecodec

import "io"

const readSize = 16 << 10 // least that is asked of a reader: many blocks of a quiet job are small

// window is what of a reader is in memory. A block is looked at where it was read: nothing is copied but the few bytes
// that were read beyond it.
type window struct {
	r      io.Reader
	mem    []byte // mem[from:] has been read and not been taken
	from   int
	offset int64 // of mem[from], from the reader's start
	usual  int   // bytes that a usual block needs
	most   int   // that are asked for: a block's, and a head
	ended  error // what the reader has ended with
}

// fill reads until n bytes are there, or returns the reader's error. What take returned is no longer valid then. Memory
// doubles as bytes arrive, so that an n that is only claimed costs nothing.
func (w *window) fill(n int) error {
	if w.there() >= n {
		return nil
	}
	if w.ended != nil {
		return w.ended
	}
	if w.from > 0 {
		w.mem = w.mem[:copy(w.mem, w.mem[w.from:])]
		w.from = 0
	}
	for len(w.mem) < n {
		if len(w.mem) == cap(w.mem) {
			w.grow(n)
		}
		have := len(w.mem)
		room := w.mem[have:min(cap(w.mem), max(n+headSize, readSize))] // the head of the next block comes along
		got, err := io.ReadAtLeast(w.r, room, min(n-have, len(room)))
		w.mem = w.mem[:have+got]
		if err != nil {
			w.ended = err
			return err
		}
	}
	return nil
}

// grow makes room for n bytes, or for some of them: a usual block's, or twice what there was.
func (w *window) grow(n int) {
	size := min(max(w.usual, 2*cap(w.mem)), max(w.most, n))
	grown := make([]byte, len(w.mem), size)
	copy(grown, w.mem)
	w.mem = grown
}

// there is how many bytes have been read and not been taken.
func (w *window) there() int { return len(w.mem) - w.from }

// ahead is what has been read and not been taken.
func (w *window) ahead() []byte { return w.mem[w.from:] }

// take goes on by n bytes that are there and returns them.
func (w *window) take(n int) []byte {
	b := w.mem[w.from : w.from+n : w.from+n]
	w.from += n
	w.offset += int64(n)
	return b
}

// read copies what comes next, as io.ReadFull does.
func (w *window) read(b []byte) (int, error) {
	err := w.fill(len(b))
	return copy(b, w.take(min(len(b), w.there()))), err
}
