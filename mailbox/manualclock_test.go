package mailbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAManualClockStandsStillUntilMoved(t *testing.T) {
	c := NewManualClock(noon)
	require.Equal(t, noon, c.Now())
	c.Advance(time.Minute)
	require.Equal(t, noon.Add(time.Minute), c.Now())
	c.Set(noon.Add(time.Hour))
	require.Equal(t, noon.Add(time.Hour), c.Now())
	require.True(t, new(ManualClock).Now().IsZero())
}

func TestAlarmsRunInOrderWithTheClockShowingTheirTime(t *testing.T) {
	c := NewManualClock(noon)
	var j journal
	alarm := func(name string, d time.Duration) Alarm {
		return c.AfterFunc(d, func() { j.add(name + " " + c.Now().Sub(noon).String()) })
	}
	alarm("c", 2*time.Second)
	alarm("a", time.Second)
	alarm("b", time.Second)
	alarm("d", time.Minute)
	c.AfterFunc(3*time.Second, func() { alarm("set on the way", time.Second) })
	c.Advance(5 * time.Second)
	require.Equal(t, []string{"a 1s", "b 1s", "c 2s", "set on the way 4s"}, j.read())
	require.Equal(t, 5*time.Second, c.Now().Sub(noon))
	at, set := c.Next()
	require.True(t, set)
	require.Equal(t, noon.Add(time.Minute), at)
}

func TestAnAlarmThatIsDueAtOnceRunsAtTheNextMove(t *testing.T) {
	c := NewManualClock(noon)
	n := 0
	c.AfterFunc(0, func() { n++ })
	c.AfterFunc(-time.Hour, func() {
		n++
		require.Equal(t, noon, c.Now(), "an alarm of the past does not turn the clock back")
	})
	require.Zero(t, n)
	c.Advance(0)
	require.Equal(t, 2, n)
	require.Equal(t, noon, c.Now())
}

func TestAManualAlarmIsStoppedAndResetAsATimeTimerIs(t *testing.T) {
	c := NewManualClock(noon)
	n := 0
	a := c.AfterFunc(time.Second, func() { n++ })
	require.True(t, a.Stop())
	require.False(t, a.Stop())
	c.Advance(time.Minute)
	require.Zero(t, n)
	require.False(t, a.Reset(time.Second))
	require.True(t, a.Reset(time.Minute))
	c.Advance(time.Second)
	require.Zero(t, n)
	c.Advance(time.Minute)
	require.Equal(t, 1, n)
	require.False(t, a.Stop())
	_, set := c.Next()
	require.False(t, set)
}

func TestAManualClockCanBeSetBack(t *testing.T) {
	c := NewManualClock(noon)
	n := 0
	c.AfterFunc(time.Second, func() { n++ })
	c.Set(noon.Add(-time.Hour))
	require.Equal(t, noon.Add(-time.Hour), c.Now())
	require.Zero(t, n)
	c.Set(noon.Add(time.Second))
	require.Equal(t, 1, n)
}

func TestMovingAManualClockFromAnAlarmNeverTurnsItBack(t *testing.T) {
	c := NewManualClock(noon)
	c.AfterFunc(time.Second, func() { c.Advance(time.Hour) })
	c.Advance(time.Minute)
	require.Equal(t, noon.Add(time.Hour+time.Second), c.Now())
}
