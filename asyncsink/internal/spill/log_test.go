package spill

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files/crashfs"
	"github.com/spillway-go/spillway/statecodec"
)

func TestEntriesComeOutAsTheyWentIn(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, Segment: 4 << 10, block: 512})
	want := []statecodec.Entry{
		{Seq: 1, Data: []byte{}},
		{Writer: [16]byte{1, 2}, Seq: 1 << 60, KeyGroup: 3, Attempts: 65535, Born: -5, Unsure: true, Data: []byte("x")},
		{Writer: [16]byte{1, 2}, Seq: 1<<60 + 1, Class: "age", Cause: "too old", DeadAt: 9, Data: bytes.Repeat([]byte{7}, 5000)},
	}
	want = append(want, numbered(1<<61, 300, 30)...)
	n, err := put(l, want)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	require.Greater(t, l.Stats().Segments, 3)
	require.Equal(t, want, drain(t, l))
	require.NoError(t, l.Close())
}

func TestLargeEntriesStandAlone(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, Segment: 4 << 20})
	want := numbered(1, 3, 100)
	want = append(want, numbered(4, 2, 10<<20)...)
	want = append(want, numbered(6, 3000, 100)...)
	_, err := put(l, want)
	require.NoError(t, err)
	require.LessOrEqual(t, cap(l.open.Seal()), spareBytes, "their memory is not kept")
	require.Len(t, l.Cut(), 1)
	var sizes []int
	for b, ok := l.Next(); ok; b, ok = l.Next() {
		list, err := entriesOf(b)
		require.NoError(t, err)
		for _, x := range list {
			require.True(t, x.Seq == want[0].Seq && bytes.Equal(x.Data, want[0].Data))
			want = want[1:]
		}
		sizes = append(sizes, b.Entries)
	}
	require.Equal(t, []int{3, 1, 1}, sizes[:3])
	require.Empty(t, want)
	require.NoError(t, l.Close())
}

func TestAnEntryThatNoReaderTakesIsRefused(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir})
	for _, force := range []bool{false, true} {
		require.ErrorIs(t, l.Append(&statecodec.Entry{Data: make([]byte, statecodec.DefaultEntryBytes+1)}, force), statecodec.ErrTooLarge)
		require.ErrorContains(t, l.Append(&statecodec.Entry{KeyGroup: 4}, force), "key group 4")
	}
	_, ok := l.Next()
	require.False(t, ok)
	require.NoError(t, l.Close())
}

func TestARefusalAtTheEndOfABlockLosesNothing(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, block: 256})
	want := numbered(1, 50, 40)
	n := 0
	for ; l.open.Fits(&want[n]); n++ {
		require.NoError(t, l.Append(&want[n], false))
	}
	require.Error(t, l.Append(&statecodec.Entry{KeyGroup: 4, Data: want[n].Data}, false))
	require.Equal(t, want[:n], entries(t, l), "all is in the file, and nothing in memory")
	_, err := put(l, want[n:])
	require.NoError(t, err)
	require.Equal(t, want[n:], entries(t, l))
	require.NoError(t, l.Close())
}

// A segment holds all entries from its first to its last: what was fed from memory lies in none of them, nor between its blocks.
func TestASegmentHasNoHoles(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, block: 256})
	for _, x := range numbered(1, 500, 40) {
		require.NoError(t, l.Append(&x, false))
		if x.Seq%17 == 0 {
			entries(t, l)
		}
	}
	_, err := put(l, numbered(501, 20, 40))
	require.NoError(t, err)
	list, err := disk.List(modelDir)
	require.NoError(t, err)
	var used int64
	for _, i := range list {
		used += i.Size
	}
	disk.SetSpace(used) // not a byte more
	s := l.current
	n, err := put(l, numbered(521, 20, 40))
	require.ErrorIs(t, err, syscall.ENOSPC)
	for {
		b, ok := l.Next()
		require.True(t, ok)
		if b.Segment == nil { // the block that waits, and not the one behind it
			break
		}
	}
	disk.SetSpace(0)
	_, err = put(l, numbered(521+n, 20, 40))
	require.NoError(t, err)
	require.NotEqual(t, s, l.current)
	require.Greater(t, len(l.Segments()), 10)
	for _, s := range l.Segments() {
		require.EqualValues(t, s.Entries(), s.Last()-s.First()+1)
	}
	require.NoError(t, l.Close())
}

func TestTheFilesNeverPassTheCapAndSpaceComesBackSegmentBySegment(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, Bytes: 16 << 10, block: 256})
	require.EqualValues(t, 2<<10, l.segment, "an eighth of the cap")
	want := numbered(1, 4000, 40)
	taken, err := put(l, want)
	require.Equal(t, ErrFull, err)
	require.Equal(t, err, l.Retry())
	require.NoError(t, l.Stats().Err, "the disk is well")
	var got []statecodec.Entry
	for taken < len(want) {
		s := l.Segments()[0]
		for s.fed < s.placed {
			b, ok := l.Next()
			require.True(t, ok)
			list, err := entriesOf(b)
			require.NoError(t, err)
			got = append(got, list...)
		}
		before := l.Stats().Disk
		l.Free(s)
		require.Less(t, l.Stats().Disk, before-1<<10)
		n, err := put(l, want[taken:])
		if taken += n; taken < len(want) {
			require.Equal(t, ErrFull, err)
		}
		require.Positive(t, n, "as much as came back")
		list, err := disk.List(modelDir)
		require.NoError(t, err)
		var size int64
		for _, i := range list {
			size += i.Size
		}
		require.LessOrEqual(t, size, l.Stats().Disk)
		require.LessOrEqual(t, l.Stats().Disk, l.Stats().Cap)
	}
	require.Equal(t, want, append(got, drain(t, l)...))
	require.Zero(t, l.Stats().Disk)
	require.NoError(t, l.Close())
}

func TestWhatPassesThroughWhileFeedingKeepsUpTouchesNoDisk(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, block: 4 << 10})
	ops := disk.Ops()
	for i, x := range numbered(1, 5000, 100) {
		require.NoError(t, l.Append(&x, false))
		if i%30 == 29 {
			require.Len(t, drain(t, l), 30)
		}
	}
	require.Equal(t, ops, disk.Ops())
	require.NoError(t, l.Close())
}

func TestForcedEntriesAreTakenWhateverTheDiskSays(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir, Bytes: 1 << 10, block: 256})
	want := numbered(1, 300, 40)
	taken, err := put(l, want)
	require.ErrorIs(t, err, ErrFull)
	for i := range want[taken:] {
		require.NoError(t, l.Append(&want[taken+i], true))
	}
	require.ErrorIs(t, l.Append(&want[0], false), ErrFull)
	require.Equal(t, want, seal(t, l))
	require.Equal(t, want, drain(t, l))
	require.NoError(t, l.Close())
}

func TestWithoutADiskOnlyForcedEntriesAreTaken(t *testing.T) {
	l := open(t, Config{block: 256})
	want := numbered(1, 100, 40)
	require.ErrorIs(t, l.Append(&want[0], false), ErrFull)
	require.NoError(t, l.Retry())
	for i := range want {
		require.NoError(t, l.Append(&want[i], true))
	}
	require.ErrorIs(t, l.Retry(), ErrFull)
	require.Nil(t, l.PlanMerge())
	require.Empty(t, l.Segments())
	require.Equal(t, Stats{Entries: 100, Bytes: l.Stats().Bytes}, l.Stats())
	require.Equal(t, want, seal(t, l))
	require.Equal(t, want, drain(t, l))
	require.NoError(t, l.Close())
}

func TestAClosedLogTakesAndGivesNothing(t *testing.T) {
	disk := crashfs.New("/var")
	for _, c := range []Config{{}, {FS: disk, Dir: modelDir, block: 256}} {
		l := open(t, c)
		for _, x := range numbered(1, 50, 40) {
			require.NoError(t, l.Append(&x, true))
		}
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Append(&statecodec.Entry{}, true), ErrClosed)
		require.ErrorIs(t, l.Retry(), ErrClosed)
		_, ok := l.Next()
		require.False(t, ok)
		require.Empty(t, l.Cut())
		require.Empty(t, l.Segments())
		require.Nil(t, l.PlanMerge())
		require.NoError(t, l.Close())
	}
	list, err := disk.List(modelDir)
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// What a snapshot was given of the block that is being filled stays, and needs no second encoding.
func TestTheBlocksThatCutReturnsGoIntoASnapshotAsTheyAre(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, block: 1 << 10})
	want := numbered(1, 40, 40)
	_, err := put(l, want[:15])
	require.NoError(t, err)
	first := l.Cut()
	_, err = put(l, want[15:])
	require.NoError(t, err)
	drain(t, l)
	for _, x := range numbered(100, 100, 40) {
		require.NoError(t, l.Append(&x, false))
	}

	var b bytes.Buffer
	e, err := statecodec.NewEncoder(&b, testHeader)
	require.NoError(t, err)
	require.NoError(t, e.Begin(testSection))
	for _, f := range first {
		require.NoError(t, e.Block(f.Payload, f.Entries))
	}
	require.NoError(t, e.Close())
	require.Equal(t, want[:15], decode(t, b.Bytes()))
	require.NoError(t, l.Close())
}

func TestAppendAllocatesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, Config{Dir: dir + "/spill"})
	x := statecodec.Entry{Data: make([]byte, 1<<10)}
	var r statecodec.BlockReader
	read := 0
	round := func() { // a block
		for range 256 {
			x.Seq++
			if err := l.Append(&x, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	round()
	require.LessOrEqual(t, testing.AllocsPerRun(100, round), 1.0, "now and then for the list of blocks")
	feed := func() {
		b, ok := l.Next()
		require.True(t, ok)
		r.Use(nil, 0, testSection)
		if err := b.Read(&r); err != nil {
			t.Fatal(err)
		}
		var e statecodec.Entry
		for r.Entry(&e) == nil {
			read++
		}
	}
	require.LessOrEqual(t, testing.AllocsPerRun(50, feed), 6.0, "os.Open")
	require.Positive(t, read)
	require.NoError(t, l.Close())
}

func TestMemoryIsAFewBlocks(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir})
	disk.SetSpace(1 << 20)
	_, err := put(l, numbered(1, 5000, 1<<10))
	require.Error(t, err)
	memory := cap(l.spare) + len(l.open.Payload())
	for _, b := range l.waiting {
		memory += cap(b.raw)
	}
	require.Less(t, memory, 3*(256<<10))
	require.NoError(t, l.Close())
}

func TestAllThatIsWrongWithAConfigIsSaidAtOnce(t *testing.T) {
	_, err := Open(Config{Bytes: -1, Segment: -2, Sync: 7})
	for _, part := range []string{"Bytes: -1: at least 1", "Segment: -2: at least 1", "Sync: 7: OnCheckpoint (0) or Steady (1)", "needs an operator"} {
		require.ErrorContains(t, err, part)
	}
	require.Equal(t, 3, strings.Count(err.Error(), "\n"))
	c, err := Config{Section: testSection}.orDefaults()
	require.NoError(t, err)
	require.Equal(t, []int64{10 << 30, 64 << 20}, []int64{c.Bytes, c.Segment})
}

func TestAPolicyIsATextInAConfiguration(t *testing.T) {
	for _, p := range []Policy{OnCheckpoint, Steady} {
		text, err := p.MarshalText()
		require.NoError(t, err)
		got := Policy(7)
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, p, got)
	}
	require.Equal(t, "steady", Steady.String())
	require.Equal(t, "policy(7)", Policy(7).String())
	require.EqualError(t, new(Policy).UnmarshalText([]byte("never")), "must be on_checkpoint or steady")
}

func TestFreeingWhatIsNotFedIsAProgrammersError(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, block: 256})
	_, err := put(l, numbered(1, 50, 40))
	require.NoError(t, err)
	s := l.Segments()[0]
	require.Panics(t, func() { l.Free(s) })
	drain(t, l)
	l.Free(s) // again
	require.NoError(t, l.Close())
}
