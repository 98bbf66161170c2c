package spill

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/internal/files/crashfs"
	"github.com/spillway-go/spillway/statecodec"
)

// cuts makes n segments, each of one entry of some size.
func cuts(t *testing.T, l *Log, first, n, size int) []statecodec.Entry {
	t.Helper()
	list := numbered(first, n, size)
	for i := range list {
		require.NoError(t, l.Append(&list[i], false))
		write(t, l)
		l.Cut()
	}
	return list
}

// write writes the open block, as if it were full.
func write(t *testing.T, l *Log) {
	t.Helper()
	if l.open.Entries() > 0 {
		l.seal()
		require.NoError(t, l.flush())
		l.reset()
	}
}

func merge(t *testing.T, l *Log) bool {
	t.Helper()
	m := l.PlanMerge()
	if m == nil {
		return false
	}
	require.Nil(t, l.PlanMerge(), "one at a time")
	require.NoError(t, m.Run(context.Background()))
	require.True(t, l.EndMerge(m))
	return true
}

func TestEightSegmentsOfALevelBecomeOneOfTheNext(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir})
	want := cuts(t, l, 1, 7, 10)
	require.False(t, merge(t, l))
	for n := 8; n <= 64; n++ {
		want = append(want, cuts(t, l, n, 1, 10)...)
		for merge(t, l) {
		}
		require.Len(t, l.Segments(), n%8+n/8%8+n/64, n)
	}
	require.Equal(t, want, seal(t, l))
	list, err := disk.List(modelDir)
	require.NoError(t, err)
	require.Len(t, list, 2, "the lock and one segment")
	require.EqualValues(t, list[0].Size, l.Stats().Disk)
	require.Equal(t, want, drain(t, l))
	require.NoError(t, l.Close())
}

func TestLargeSegmentsAreLeftAloneAndThoseBetweenThemBecomeOne(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir, Segment: 8000})
	large := func(first int) { cuts(t, l, first, 1, 1200) }
	large(1)
	cuts(t, l, 2, 3, 10)
	require.False(t, merge(t, l), "others may follow")
	large(5)
	require.True(t, merge(t, l))
	require.False(t, merge(t, l))
	require.Len(t, l.Segments(), 3)
	large(6)
	cuts(t, l, 7, 1, 10)
	large(8)
	require.False(t, merge(t, l))
	require.Len(t, seal(t, l), 8)
	require.NoError(t, l.Close())
}

func TestSegmentsThatAreFedMeanwhileStay(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir})
	want := cuts(t, l, 1, 8, 10)
	m := l.PlanMerge()
	require.NoError(t, m.Run(context.Background()))
	b, _ := l.Next()
	require.False(t, l.EndMerge(m))
	require.False(t, merge(t, l), "seven are left")
	require.Len(t, l.Segments(), 8)
	first, err := entriesOf(b)
	require.NoError(t, err)
	require.Equal(t, want, append(first, drain(t, l)...))
	require.Zero(t, l.Stats().Disk)
	require.Zero(t, l.Stats().Copied)
	require.NoError(t, l.Close())
}

func TestACopyOfASuspectIsMergedAsTheSuspectWouldHaveBeen(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir})
	want := cuts(t, l, 1, 7, 10)
	l.Segments()[3].Suspect(syscall.EIO)
	require.True(t, merge(t, l))
	require.Len(t, l.Segments(), 7)
	want = append(want, cuts(t, l, 8, 1, 10)...)
	require.True(t, merge(t, l))
	require.Len(t, l.Segments(), 1)
	require.Equal(t, want, seal(t, l))
	require.NoError(t, l.Close())
}

func TestAMergeThatFailsChangesNothing(t *testing.T) {
	for n := 1; ; n++ {
		disk := crashfs.New("/var")
		l := open(t, Config{FS: disk, Dir: modelDir, block: 256})
		want := cuts(t, l, 1, 8, 10)
		space := l.Stats().Disk
		m := l.PlanMerge()
		require.EqualValues(t, 2*space-7*l.in.overhead, l.Stats().Disk, "space is taken for the copy")
		disk.FailAt(disk.Ops()+n, syscall.EIO)
		err := m.Run(context.Background())
		if err == nil {
			require.Greater(t, n, 20)
			require.True(t, l.EndMerge(m))
			require.NoError(t, l.Close())
			break
		}
		require.ErrorIs(t, err, syscall.EIO)
		require.ErrorAs(t, err, new(*DiskError))
		require.False(t, l.EndMerge(m))
		require.Equal(t, space, l.Stats().Disk)
		require.Len(t, l.Segments(), 8)
		list, err := disk.List(modelDir)
		require.NoError(t, err)
		require.Len(t, list, 9)
		require.Equal(t, want, seal(t, l))
		require.NoError(t, l.Close())
	}
}

func TestADamagedSegmentIsMergedNoMore(t *testing.T) {
	dir := t.TempDir() + "/spill"
	l := open(t, Config{Dir: dir})
	cuts(t, l, 1, 20, 10)
	path := l.Segments()[3].Path()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	raw[len(raw)-2]++
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	m := l.PlanMerge()
	err = m.Run(context.Background())
	damage := (*DamagedError)(nil)
	require.ErrorAs(t, err, &damage)
	require.Equal(t, path, damage.Path)
	require.False(t, l.EndMerge(m))
	for merge(t, l) {
	}
	require.Len(t, l.Segments(), 4, "the three before it, itself, and twice eight behind it")
	require.Equal(t, path, l.Segments()[1].Path())
	require.NoError(t, l.Close())
}

func TestAMergeEndsWithItsContextAndAfterTheLog(t *testing.T) {
	disk := crashfs.New("/var")
	l := open(t, Config{FS: disk, Dir: modelDir})
	cuts(t, l, 1, 8, 10)
	m := l.PlanMerge()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, m.Run(ctx), context.Canceled)
	require.False(t, l.EndMerge(m))

	for _, run := range []bool{true, false} {
		m := l.PlanMerge()
		require.NotNil(t, m)
		require.NoError(t, l.Close())
		if run {
			require.NoError(t, m.Run(context.Background()), "what it reads is pinned")
		}
		require.False(t, l.EndMerge(m))
		list, err := disk.List(modelDir)
		require.NoError(t, err)
		require.Len(t, list, 1)
		l = open(t, Config{FS: disk, Dir: modelDir})
		cuts(t, l, 1, 8, 10)
	}
	require.NoError(t, l.Close())
}

func TestWithoutSpaceForACopyNothingIsMerged(t *testing.T) {
	l := open(t, Config{FS: crashfs.New("/var"), Dir: modelDir})
	cuts(t, l, 1, 8, 10)
	used := l.Stats().Disk
	l.in.cap = 2*used - 7*l.in.overhead - 1
	require.Nil(t, l.PlanMerge())
	require.Equal(t, used, l.Stats().Disk)
	l.in.cap++
	require.True(t, merge(t, l))
	require.NoError(t, l.Close())
}

func TestADayOfCutsLeavesFewFiles(t *testing.T) {
	for size, seconds := range map[int]int{10: 86_400, 2000: 20_000} { // the second is only a part of a day, which says as much
		t.Run(fmt.Sprint(size, " bytes a second"), func(t *testing.T) {
			l := open(t, Config{FS: &memFS{}, Dir: modelDir, Segment: 8 << 20})
			most := 0
			var bytes int64
			x := statecodec.Entry{Data: make([]byte, size)}
			for range seconds {
				x.Seq++
				require.NoError(t, l.Append(&x, false))
				write(t, l)
				l.Cut()
				s := l.Segments()
				require.NoError(t, s[len(s)-1].Seal())
				bytes += s[len(s)-1].Size()
				for merge(t, l) {
				}
				most = max(most, l.Stats().Segments)
			}
			copies := float64(l.Stats().Copied) / float64(bytes)
			t.Logf("at most %d files, %.1f copies of each byte", most, copies)
			levels := 0
			for n := int64(size + 100); n < l.segment/bigPart; n *= fanIn {
				levels++
			}
			require.LessOrEqual(t, copies, float64(levels+1))
			require.LessOrEqual(t, most, (fanIn-1)*levels+2*int(bytes/(l.segment/bigPart))+2)
			require.NoError(t, l.Close())
		})
	}
}
