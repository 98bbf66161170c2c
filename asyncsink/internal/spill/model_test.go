package spill

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files"
	"github.com/spillway-go/spillway/internal/files/crashfs"
	"github.com/spillway-go/spillway/statecodec"
)

// model drives a log by a source of choices and knows what must come out of it.
type model struct {
	t      testing.TB
	choose func(n int) int // 0 to n-1
	disk   *crashfs.FS
	log    *Log

	outage int // 1: it is one
	seq    uint64
	forced bool
	faulty bool
	fail   func(crashfs.Op) error
	queue  []statecodec.Entry              // taken, not handed out
	fed    map[*Segment][]statecodec.Entry // handed out, and belongs to a segment
	later  []handed                        // handed out, not read yet
	shots  []shot
	merge  *Merge
	ran    bool

	did map[string]int // how often what happened
}

type handed struct {
	block Block
	want  []statecodec.Entry
}

// shot is a snapshot that is being written.
type shot struct {
	segments []*Segment
	blocks   []Block
	want     []statecodec.Entry
}

const modelDir = "/var/spill"

func newModel(t testing.TB, choose func(int) int) *model {
	m := &model{t: t, choose: choose, disk: crashfs.New("/var"), fed: map[*Segment][]statecodec.Entry{}, did: map[string]int{}}
	log, err := Open(Config{
		FS: m.disk, Dir: modelDir, Header: testHeader, Section: testSection, block: 256,
		Bytes: []int64{8 << 10, 32 << 10, 1 << 20, 1 << 20}[choose(4)], Segment: []int64{1, 2 << 10, 64 << 10, 64 << 10}[choose(4)],
	})
	require.NoError(t, err)
	m.log, m.outage = log, choose(2)
	return m
}

// steps have a weight while entries come and go, and another in an outage.
var steps = []struct {
	name   string
	weight [2]int
	do     func(*model)
}{
	{"append", [2]int{12, 20}, (*model).appendSome},
	{"force", [2]int{1, 1}, (*model).force},
	{"next", [2]int{8, 1}, (*model).next},
	{"read", [2]int{4, 1}, (*model).readLater},
	{"free", [2]int{6, 1}, (*model).free},
	{"cut", [2]int{4, 12}, (*model).cut},
	{"write a snapshot", [2]int{3, 8}, (*model).write},
	{"merge", [2]int{6, 12}, (*model).mergeStep},
	{"suspect", [2]int{1, 1}, (*model).suspect},
	{"fault", [2]int{2, 1}, (*model).fault},
	{"retry", [2]int{2, 1}, (*model).retry},
}

func (m *model) step() {
	total := 0
	for _, s := range steps {
		total += s.weight[m.outage]
	}
	n := m.choose(total)
	for _, s := range steps {
		if n -= s.weight[m.outage]; n < 0 {
			s.do(m)
			m.check(s.name)
			return
		}
	}
}

func (m *model) entry() statecodec.Entry {
	m.seq += 1 + uint64(m.choose(3)/2)
	x := statecodec.Entry{
		Writer: [16]byte{byte(m.choose(2))}, Seq: m.seq, KeyGroup: uint32(m.choose(4)),
		Born: int64(m.choose(3)), Attempts: uint16(m.choose(3)), Unsure: m.choose(4) == 0,
	}
	if m.choose(8) == 0 {
		x.Class, x.Cause, x.DeadAt = "rejected", strings.Repeat("c", m.choose(4)), 7
	}
	size := m.choose(60)
	if m.choose(16) == 0 {
		size *= 20
	}
	x.Data = bytes.Repeat([]byte{byte(m.seq)}, size)
	return x
}

func (m *model) appendSome() {
	for range 1 + m.choose(12) {
		if !m.offer(false) {
			return
		}
	}
}

func (m *model) force() { require.True(m.t, m.offer(true)) }

func (m *model) offer(force bool) bool {
	x := m.entry()
	given := x
	given.Data = slices.Clone(x.Data)
	err := m.log.Append(&given, force)
	for i := range given.Data {
		given.Data[i]++ // it is the caller's again
	}
	if err != nil {
		m.refusal(err)
		return false
	}
	m.queue = append(m.queue, x)
	m.forced = m.forced || force
	return true
}

func (m *model) refusal(err error) {
	disk := (*DiskError)(nil)
	if errors.As(err, &disk) {
		require.True(m.t, m.faulty, err)
		m.did["refused by the disk"]++
		return
	}
	require.ErrorIs(m.t, err, ErrFull)
	m.did["full"]++
}

func (m *model) next() {
	for range 1 + m.choose(3) {
		b, ok := m.log.Next()
		if !ok {
			require.Empty(m.t, m.queue)
			return
		}
		require.LessOrEqual(m.t, b.Entries, len(m.queue))
		want := slices.Clone(m.queue[:b.Entries])
		m.queue = m.queue[b.Entries:]
		require.Equal(m.t, want[0].Seq, b.First)
		require.Equal(m.t, want[len(want)-1].Seq, b.Last)
		switch s := b.Segment; {
		case s == nil:
			require.NotNil(m.t, b.Payload)
			m.did["fed from memory"]++
		case b.Payload != nil:
			m.did["fed while half written"]++
			fallthrough
		default:
			m.fed[s] = append(m.fed[s], want...)
		}
		m.later = append(m.later, handed{b, want})
		if m.choose(4) > 0 {
			m.readLater()
		}
	}
}

// readLater reads one of the blocks that were handed out.
func (m *model) readLater() {
	if len(m.later) == 0 {
		return
	}
	i := m.choose(len(m.later))
	h := m.later[i]
	got, err := entriesOf(h.block)
	if err != nil {
		disk := (*DiskError)(nil)
		require.ErrorAs(m.t, err, &disk)
		require.True(m.t, m.faulty, err)
		return
	}
	require.Equal(m.t, h.want, got)
	m.later = slices.Delete(m.later, i, i+1)
}

func (m *model) free() {
	for _, s := range m.log.Segments() {
		unread := slices.ContainsFunc(m.later, func(h handed) bool { return h.block.Segment == s && h.block.Payload == nil })
		if len(m.fed[s]) == s.Entries() && !unread && m.choose(2) == 0 {
			if s == m.log.current {
				m.did["freed the newest"]++
			}
			m.log.Free(s)
			delete(m.fed, s)
		}
	}
}

func (m *model) cut() {
	s := shot{blocks: m.log.Cut(), segments: m.log.Segments()}
	for _, g := range s.segments {
		g.Pin()
		s.want = append(s.want, m.fed[g]...)
	}
	s.want = append(s.want, m.queue...)
	m.shots = append(m.shots, s)
}

// write completes a snapshot and reads it back.
func (m *model) write() {
	if len(m.shots) == 0 {
		return
	}
	i := m.choose(len(m.shots))
	s := m.shots[i]
	for _, g := range s.segments {
		if err := g.Seal(); err != nil {
			disk := (*DiskError)(nil)
			require.ErrorAs(m.t, err, &disk)
			m.did["not sealed"]++
			if m.choose(2) == 0 {
				m.drop(i)
			}
			return
		}
	}
	m.pause(func() {
		var got []statecodec.Entry
		for _, g := range s.segments {
			got = append(got, m.file(g)...)
		}
		for _, b := range s.blocks {
			in, err := entriesOf(b)
			require.NoError(m.t, err)
			got = append(got, in...)
		}
		require.Equal(m.t, s.want, got)
	})
	m.did["snapshots"]++
	m.drop(i)
}

func (m *model) drop(i int) {
	for _, g := range m.shots[i].segments {
		g.Unpin()
	}
	m.shots = slices.Delete(m.shots, i, i+1)
}

// file reads the file of a sealed segment as any snapshot is read.
func (m *model) file(s *Segment) []statecodec.Entry {
	raw := content(m.t, m.disk, s.Path())
	require.EqualValues(m.t, len(raw), s.Size())
	require.Equal(m.t, crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli)), s.CRC32C())
	_, totals, err := statecodec.Verify(bytes.NewReader(raw), statecodec.Caps{})
	require.NoError(m.t, err)
	require.EqualValues(m.t, s.Entries(), totals.Entries)
	got := decode(m.t, raw)
	require.Equal(m.t, s.First(), got[0].Seq)
	require.Equal(m.t, s.Last(), got[len(got)-1].Seq)
	return got
}

func (m *model) mergeStep() {
	switch {
	case m.merge == nil:
		m.merge, m.ran = m.log.PlanMerge(), false
	case !m.ran:
		if err := m.merge.Run(context.Background()); err != nil {
			require.True(m.t, m.faulty, err)
			m.did["failed merges"]++
		}
		m.ran = true
	default:
		m.endMerge()
	}
}

func (m *model) endMerge() {
	if m.merge == nil {
		return
	}
	for _, s := range m.merge.from {
		s.broken = false // a fault of the disk goes by
	}
	if m.log.EndMerge(m.merge) {
		m.did["merges"]++
	} else {
		m.did["useless merges"]++
	}
	m.merge = nil
}

// suspect has a sync of a segment failed.
func (m *model) suspect() {
	if len(m.shots) > 0 && len(m.shots[0].segments) > 0 && m.choose(4) == 0 {
		s := m.shots[0].segments
		s[m.choose(len(s))].Suspect(syscall.EIO)
	}
}

func (m *model) fault() {
	m.faulty = true
	switch m.choose(4) {
	case 0:
		m.disk.SetSpace(m.used() + 1 + int64(m.choose(512)))
	case 1:
		n := m.choose(3)
		m.failing(func(o crashfs.Op) error {
			if strings.HasSuffix(o.Path, extension) && o.Name != "close" && m.choose(4) <= n {
				return syscall.EIO
			}
			return nil
		})
	case 2:
		m.failing(nil)
		m.disk.SetSpace(0)
		m.faulty = false
	default:
		m.failing(func(o crashfs.Op) error {
			if o.Name == "remove" || o.Name == "create" {
				return syscall.EACCES
			}
			return nil
		})
	}
}

func (m *model) failing(f func(crashfs.Op) error) {
	m.fail = f
	m.disk.FailOn(f)
}

// pause runs f while nothing fails.
func (m *model) pause(f func()) {
	m.disk.FailOn(nil)
	f()
	m.disk.FailOn(m.fail)
}

func (m *model) retry() {
	if err := m.log.Retry(); err != nil {
		m.refusal(err)
	}
}

// used is how many bytes the segments' files take.
func (m *model) used() (n int64) {
	m.pause(func() {
		list, err := m.disk.List(modelDir)
		require.NoError(m.t, err)
		for _, i := range list {
			n += i.Size
		}
	})
	return n
}

// check says what holds after each step.
func (m *model) check(name string) {
	m.did[name]++
	s := m.log.Stats()
	require.Equal(m.t, len(m.queue), s.Entries)
	require.LessOrEqual(m.t, s.Disk, s.Cap)
	if !m.forced {
		require.LessOrEqual(m.t, len(m.log.waiting), 1, "blocks in memory")
	}
}

// end heals the disk and takes out all that is in the log.
func (m *model) end() {
	m.failing(nil)
	m.disk.SetSpace(0)
	m.faulty = false
	require.LessOrEqual(m.t, m.used(), m.log.Stats().Disk)
	if m.choose(2) == 0 { // else in the middle of it all
		m.cut()
		for len(m.shots) > 0 {
			m.log.Retry()
			m.write()
		}
		for len(m.queue) > 0 {
			m.next()
		}
		for len(m.later) > 0 {
			m.readLater()
		}
		m.endMerge()
		for s := m.log.Segments(); len(s) > 0; s = m.log.Segments() {
			m.free()
		}
		m.log.Retry()
		if m.log.current == nil {
			require.Zero(m.t, m.log.Stats().Disk-m.reserved())
		}
	}
	require.NoError(m.t, m.log.Close())
	for len(m.shots) > 0 {
		if len(m.shots[0].segments) > 0 {
			_, err := m.disk.Lock(modelDir + "/LOCK")
			require.ErrorAs(m.t, err, new(*files.LockedError), "a snapshot reads it")
		}
		m.drop(0)
	}
	m.endMerge()
	list, err := m.disk.List(modelDir)
	require.NoError(m.t, err)
	require.Len(m.t, list, 1, "only the lock is left")
	lock, err := m.disk.Lock(modelDir + "/LOCK")
	require.NoError(m.t, err)
	require.NoError(m.t, lock.Close())
}

// reserved is what blocks that wait have of the space.
func (m *model) reserved() (n int64) {
	for _, b := range m.log.waiting {
		if b.reserved {
			n += int64(b.size)
		}
	}
	return n
}

var seeds = flag.Uint64("seeds", 60, "how many ways the log is driven")

func TestTheLogDoesWhatAQueueDoes(t *testing.T) {
	did := map[string]int{}
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			m := newModel(t, r.IntN)
			for range 300 {
				m.step()
			}
			m.end()
			for k, n := range m.did {
				did[k] += n
			}
		})
	}
	t.Log(did)
	for _, k := range []string{
		"full", "refused by the disk", "fed from memory", "fed while half written", "freed the newest", "snapshots",
		"not sealed", "merges", "useless merges", "failed merges",
	} {
		require.NotZero(t, did[k], k)
	}
}

func FuzzLog(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		m := newModel(t, func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		})
		for len(choices) > 0 {
			m.step()
		}
		m.end()
	})
}

// entriesOf reads a block.
func entriesOf(b Block) ([]statecodec.Entry, error) {
	var r statecodec.BlockReader
	if err := b.Read(&r); err != nil {
		return nil, err
	}
	var list []statecodec.Entry
	for {
		var x statecodec.Entry
		switch err := r.Entry(&x); err {
		case nil:
			x.Data = append([]byte{}, x.Data...)
			list = append(list, x)
		case io.EOF:
			return list, nil
		default:
			return nil, err
		}
	}
}
