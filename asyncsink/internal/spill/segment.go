package spill

import (
	"io"
	"io/fs"
	"sync"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/statecodec"
)

// Segment is one file of the log: a snapshot of package statecodec with one section. Blocks are added to the newest one;
// [Log.Cut] and its size end it, and then it does not change but for the trailer.
//
// Path, and what is said of the entries of a segment that is ended, any goroutine may read; Seal, Pin and Unpin as well.
type Segment struct {
	in   *folder
	path string

	// The owner's.
	first, last uint64
	entries     int
	places      []place // of its blocks that were not handed out
	placed      int     // blocks there were
	fed         int     // blocks that were handed out
	closing     bool    // no other block joins
	space       int64   // bytes reserved for it
	level       int     // of merges that its entries have been through
	broken      bool    // a merge could not read it

	// The owner's until it is ended, then Seal's.
	sealing sync.Mutex
	file    files.File // nil: closed
	rest    []byte     // to be written before anything else: what was begun of start or trailer
	frame   statecodec.Frame
	written int64
	crc     uint32 // once it is ended

	// Under in.mu.
	ended   bool
	sealed  bool
	pins    int
	freed   bool
	refused error // by the disk, when it was written last
	doubt   error // the system may have lost some of it
	stuck   error // it could not be removed
}

// place is where a block lies in its file.
type place struct {
	first, last uint64
	at          int64
	size        int32 // head included
	entries     int32
}

// Path is the file's.
func (s *Segment) Path() string { return s.path }

// Open opens the file for reading, which any goroutine may do until the segment is freed.
func (s *Segment) Open() (io.ReadCloser, error) {
	f, err := s.in.fs.Open(s.path)
	if err != nil {
		return nil, diskError("open", s.path, err)
	}
	return f, nil
}

// First is the sequence of its first entry.
func (s *Segment) First() uint64 { return s.first }

// Last is the sequence of its last entry.
func (s *Segment) Last() uint64 { return s.last }

// Entries is how many there are in it.
func (s *Segment) Entries() int { return s.entries }

// Size is the file's, in bytes; 0 before Seal has returned nil.
func (s *Segment) Size() int64 {
	if !s.is(&s.sealed) {
		return 0
	}
	return s.written
}

// CRC32C is that of the whole file; 0 before Seal has returned nil.
func (s *Segment) CRC32C() uint32 {
	if !s.is(&s.sealed) {
		return 0
	}
	return s.crc
}

func (s *Segment) is(flag *bool) bool {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return *flag
}

// Pin keeps the file, whatever happens to its entries, until Unpin. The owner pins what it gives to a snapshot.
func (s *Segment) Pin() {
	s.in.mu.Lock()
	s.pins++
	s.in.mu.Unlock()
}

// Unpin takes back a Pin. After the last one the file is removed if the log has no use for it.
func (s *Segment) Unpin() {
	s.in.mu.Lock()
	s.pins--
	gone := s.pins == 0 && s.freed
	s.in.mu.Unlock()
	if gone {
		s.in.remove(s)
	}
}

// Suspect says that a sync of the file failed, outside the log. The system may have dropped what it could not write, and
// another sync would find nothing to do: Seal fails from now on, and a merge copies what can still be read to another file.
func (s *Segment) Suspect(err error) { s.suspect("sync", err) }

func (s *Segment) suspect(op string, err error) error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.doubt = diskError(op, s.path, err)
	s.in.last = s.doubt
	return s.doubt
}

func (s *Segment) doubtful() error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	return s.doubt
}

// Seal completes the file of a segment that is ended: from then on it is a whole snapshot, with a size and a checksum. A
// *[DiskError] says that the disk refuses, also one that it refused to the owner in the middle of the last block; Seal may
// then be called again, unless it was a sync that failed. What is sealed already is no error.
func (s *Segment) Seal() error {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	s.in.mu.Lock()
	ended, sealed, doubt, refused := s.ended, s.sealed, s.doubt, s.refused
	s.in.mu.Unlock()
	switch {
	case doubt != nil:
		return doubt
	case sealed:
		return nil
	case !ended && refused != nil:
		return refused
	case !ended:
		return errNotEnded
	case s.file == nil:
		return diskError("write", s.path, fs.ErrClosed) // after its removal
	}
	if err := s.writeRest(); err != nil {
		return err
	}
	return s.finish()
}

// finish closes the file, all of which is written.
func (s *Segment) finish() error {
	if s.in.policy == Steady {
		if err := s.file.Sync(); err != nil {
			return s.suspect("sync", err)
		}
	}
	err := s.file.Close()
	s.file = nil
	if err != nil { // of what was written before
		return s.suspect("close", err)
	}
	s.in.mu.Lock()
	s.sealed = true
	s.in.mu.Unlock()
	return nil
}

// sync is what Steady does.
func (s *Segment) sync() {
	if s.is(&s.ended) {
		_ = s.Seal() // whoever needs it asks again
		return
	}
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if s.file == nil {
		return // sealed meanwhile, which syncs
	}
	if err := s.file.Sync(); err != nil {
		s.Suspect(err)
	}
}

// letGo closes the file as it is.
func (s *Segment) letGo() {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if s.file != nil {
		_ = s.file.Close() // nobody needs its bytes
		s.file = nil
	}
}

// write writes b or, when the disk refuses, a part of it. Who goes on does so behind that part.
func (s *Segment) write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if n < len(b) && err == nil {
		err = io.ErrShortWrite
	}
	s.written += int64(n)
	if err != nil {
		err = diskError("write", s.path, err)
	}
	s.in.mu.Lock()
	s.refused, s.in.last = err, err
	s.in.mu.Unlock()
	return n, err
}

// cutBack drops what was written of a block that the disk broke off.
func (s *Segment) cutBack(size int64) error {
	if err := s.file.Truncate(size); err != nil {
		return err
	}
	s.written = size
	return nil
}

func (s *Segment) writeRest() error {
	if len(s.rest) == 0 {
		return nil
	}
	n, err := s.write(s.rest)
	s.rest = s.rest[n:]
	return err
}

// join notes a block that is about to be in the file.
func (s *Segment) join(p place) {
	if s.placed == 0 {
		s.first = p.first
	}
	s.last = p.last
	s.entries += int(p.entries)
	s.places = append(s.places, p)
	s.placed++
}

// end says that all blocks are in the file, and the trailer comes next.
func (s *Segment) end() {
	s.rest, s.crc = s.frame.End()
	s.in.mu.Lock()
	s.ended = true
	s.in.mu.Unlock()
}
