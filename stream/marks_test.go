package stream

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAMarkMovesOverWhatIsSettledWithAllBeforeIt(t *testing.T) {
	var m Marks
	m.Assign(Split{ID: "a"}, Split{ID: "b", Position: []byte("start")})
	require.Equal(t, []Split{{ID: "a"}, {ID: "b", Position: []byte("start")}}, m.Positions(), "before a record is settled")

	for seq, position := range []string{"1", "2", "3", "4"} {
		m.Add(uint64(seq+1), "a", []byte(position))
	}
	m.Add(10, "b", []byte("beyond"))
	m.Settle(2, 3)
	require.Equal(t, []Split{{ID: "a"}, {ID: "b", Position: []byte("start")}}, m.Positions(), "1 holds 2 and 3 back")
	m.Settle(10, 10)
	require.Equal(t, []Split{{ID: "a"}, {ID: "b", Position: []byte("beyond")}}, m.Positions(), "and not another split")
	m.Settle(1, 1)
	require.Equal(t, []Split{{ID: "a", Position: []byte("3")}, {ID: "b", Position: []byte("beyond")}}, m.Positions())
	m.Settle(0, 100)
	require.Equal(t, []Split{{ID: "a", Position: []byte("4")}, {ID: "b", Position: []byte("beyond")}}, m.Positions())
}

func TestAnOriginIsKnownUntilItSettles(t *testing.T) {
	var m Marks
	long := []byte("a position of more than eight bytes")
	m.Add(5, "a", []byte("5"))
	m.Add(7, "a", long)
	m.Add(9, "a", long)
	m.Settle(9, 9)
	m.Revoke("a")
	for seq, want := range map[uint64]string{5: "5", 7: string(long)} {
		split, position, ok := m.Origin(seq)
		require.True(t, ok)
		require.Equal(t, "a", split)
		require.Equal(t, want, string(position))
	}
	for _, seq := range []uint64{0, 4, 6, 8, 9, 10} {
		_, _, ok := m.Origin(seq)
		require.False(t, ok, "%d", seq)
	}
	_, _, ok := new(Marks).Origin(1)
	require.False(t, ok)
}

func TestASplitThatComesAgainStartsAnew(t *testing.T) {
	var m Marks
	m.Add(1, "a", []byte("1"))
	m.Add(2, "a", []byte("2"))
	m.Settle(1, 1)
	m.Revoke("a")
	require.Empty(t, m.Positions())
	m.Assign(Split{ID: "a", Position: []byte("1")})
	m.Add(3, "a", []byte("2"))
	m.Settle(2, 2)
	require.Equal(t, []Split{{ID: "a", Position: []byte("1")}}, m.Positions(), "2 was of the first time")
	m.Settle(3, 3)
	require.Equal(t, []Split{{ID: "a", Position: []byte("2")}}, m.Positions())
	m.Revoke("never known")
}

func TestAPositionMayBeEmptyAndIsCopied(t *testing.T) {
	var m Marks
	position := []byte{}
	m.Add(1, "a", position)
	m.Settle(1, 1)
	require.Equal(t, []Split{{ID: "a", Position: []byte{}}}, m.Positions(), "empty is not nil: something is settled")

	position = []byte("longer than eight bytes")
	m.Assign(Split{ID: "b", Position: position})
	m.Add(2, "a", position)
	clear(position)
	want := []Split{{ID: "a", Position: []byte("longer than eight bytes")}, {ID: "b", Position: []byte("longer than eight bytes")}}
	m.Settle(2, 2)
	got := m.Positions()
	require.Equal(t, want, got)
	clear(got[0].Position)
	require.Equal(t, want, m.Positions())
}

func TestSequencesThatDoNotAscendAreAMistake(t *testing.T) {
	var m Marks
	require.Panics(t, func() { m.Add(0, "a", nil) })
	m.Add(5, "a", nil)
	require.PanicsWithValue(t, "stream: Marks.Add: sequence 5 after 5: sequences ascend", func() { m.Add(5, "a", nil) })
}

// naive is what Marks does, without a thought for time and memory.
type naive struct {
	records []*naiveRecord
	starts  map[string][]byte
	life    map[string]int // of a split: counts its assignments
}

type naiveRecord struct {
	seq      uint64
	split    string
	life     int
	position []byte
	settled  bool
}

func (n *naive) assign(id string, position []byte) {
	n.life[id]++
	n.starts[id] = position
}

func (n *naive) positions() []Split {
	all := []Split{}
	for id, start := range n.starts {
		s := Split{ID: id, Position: start}
		for _, r := range n.records {
			if r.split == id && r.life == n.life[id] {
				if !r.settled {
					break
				}
				s.Position = r.position
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Split) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) })
	return all
}

func TestMarksDoWhatTheNaiveOnesDo(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		var m Marks
		n := naive{starts: map[string][]byte{}, life: map[string]int{}}
		seq, gap, stuck := uint64(0), 1+r.IntN(3), r.IntN(4) == 0
		ids := []string{"a", "b", "c", "shard-0001"}[:1+r.IntN(4)]
		random := func() []byte {
			p := make([]byte, r.IntN(30))
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			return p
		}
		for range 300 {
			id := ids[r.IntN(len(ids))]
			switch r.IntN(20) {
			case 0:
				m.Revoke(id)
				delete(n.starts, id)
			case 1:
				var p []byte
				if r.IntN(2) == 0 {
					p = random()
				}
				m.Assign(Split{ID: id, Position: p})
				n.assign(id, p)
			case 2, 3, 4, 5, 6, 7, 8:
				for range r.IntN(20) {
					if _, ok := n.starts[id]; !ok {
						n.assign(id, nil)
					}
					seq += 1 + uint64(r.IntN(gap))
					p := random()
					m.Add(seq, id, p)
					n.records = append(n.records, &naiveRecord{seq: seq, split: id, life: n.life[id], position: p})
				}
			default:
				first := uint64(r.IntN(int(seq + 2)))
				if stuck {
					first = max(first, 3)
				}
				last := first + uint64(r.IntN(15))
				m.Settle(first, last)
				for _, rec := range n.records {
					rec.settled = rec.settled || rec.seq >= first && rec.seq <= last
				}
			}
			require.Equal(t, n.positions(), m.Positions(), "seed %d", seed)
		}
		live := 0
		for _, rec := range n.records {
			split, position, ok := m.Origin(rec.seq)
			require.Equal(t, !rec.settled, ok, "seed %d", seed)
			if ok {
				live++
				require.Equal(t, rec.split, split)
				require.Equal(t, rec.position, position)
			}
		}
		require.Equal(t, live, m.ring.live)
		m.Settle(0, seq)
		require.Equal(t, 0, m.ring.n)
		require.Len(t, m.known.all, len(m.known.byID)+len(m.known.free), "seed %d: no number is lost", seed)
	}
}

func TestARecordThatNeverSettlesKeepsNothingElse(t *testing.T) {
	for _, size := range []int{8, 40} {
		var m Marks
		position := make([]byte, size)
		var seq uint64
		add := func(n int) {
			for range n {
				seq++
				binary.BigEndian.PutUint64(position, seq)
				m.Add(seq, "a", position)
			}
		}
		add(2) // 1 stays
		for range 2000 {
			add(100)
			m.Settle(seq-99, seq)
		}
		require.Len(t, m.ring.slots, minSlots)
		require.LessOrEqual(t, cap(m.long.bytes)+cap(m.long.spare), 2*minArena)
		require.Equal(t, []Split{{ID: "a"}}, m.Positions())
		m.Settle(1, 2)
		binary.BigEndian.PutUint64(position, seq)
		require.Equal(t, []Split{{ID: "a", Position: position}}, m.Positions())
	}
}

func TestWhatABurstTookIsGivenBack(t *testing.T) {
	const burst = 1 << 17
	for _, size := range []int{8, 40} {
		var m Marks
		position := make([]byte, size)
		for seq := range uint64(burst) {
			m.Add(seq+1, fmt.Sprint(seq%10), position)
		}
		require.Len(t, m.ring.slots, burst)
		for seq := uint64(1); seq < burst; seq += 512 { // one in a chunk stays
			m.Settle(seq+1, seq+511)
		}
		require.LessOrEqual(t, len(m.ring.slots), keptSlots)
		require.LessOrEqual(t, cap(m.long.bytes)+cap(m.long.spare), 10*keptSlots*8)
		require.Equal(t, burst/512, m.ring.live)
	}
}

func TestSplitsThatComeAndGoLeaveNothing(t *testing.T) {
	var m Marks
	for seq := range uint64(10_000) {
		id := fmt.Sprint("shard-", seq)
		m.Add(seq+1, id, nil)
		m.Revoke(id)
		if seq >= 10 {
			m.Settle(seq-9, seq-9) // later than its split was revoked
		}
	}
	require.Empty(t, m.Positions())
	require.Less(t, len(m.known.all), 20)
}

func TestASteadyStateAllocatesNothing(t *testing.T) {
	for _, size := range []int{8, 40} {
		for _, stuck := range []uint64{0, 1} {
			var m Marks
			position := make([]byte, size)
			ids := []string{"a", "b", "c"}
			var seq uint64
			add := func() {
				seq++
				m.Add(seq, ids[seq%3], position)
			}
			for range 10_000 { // the ring stays as long as this needs
				add()
			}
			settled := stuck
			round := func() {
				for range 1000 {
					add()
				}
				m.Settle(settled+1, seq-1000)
				settled = seq - 1000
			}
			for range 100 {
				round()
			}
			require.Zero(t, testing.AllocsPerRun(100, round), "%d bytes, %d stuck", size, stuck)
		}
	}
}
