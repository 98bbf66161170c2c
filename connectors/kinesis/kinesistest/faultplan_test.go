package kinesistest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// struck are the numbers of the requests, out of n, that a fault strikes.
func struck(text string, n int) (out []int) {
	var l faultList
	l.all = []*injected{{Fault: MustParseFault(text)}}
	for i := 1; i <= n; i++ {
		if p := l.plan("PutRecords", "s", nil); p.ending != nil {
			out = append(out, i)
		}
	}
	return out
}

func TestAFaultStrikesTheRequestsThatItNames(t *testing.T) {
	for text, want := range map[string][]int{
		"PutRecords cut":                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"* nth=3 cut":                         {3},
		"* from=8 cut":                        {8, 9, 10},
		"* to=2 cut":                          {1, 2},
		"* from=4 to=6 cut":                   {4, 5, 6},
		"* every=4 cut":                       {4, 8},
		"* from=5 every=4 cut":                {8},
		"* times=2 cut":                       {1, 2},
		"* every=3 times=2 cut":               {3, 6},
		"* share=1 cut":                       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		"GetRecords cut":                      nil,
		"PutRecords stream=other cut":         nil,
		"PutRecords stream=s from=9 cut":      {9, 10},
		"PutRecords stream=s share=1e-12 cut": nil,
	} {
		require.Equal(t, want, struck(text, 10), text)
	}
}

func TestAShareIsKeptAndRepeatsWithItsSeed(t *testing.T) {
	for _, share := range []float64{0.01, 0.1, 0.5, 0.9} {
		text := fmt.Sprintf("* share=%g seed=7 cut", share)
		hits := struck(text, 20000)
		require.InDelta(t, share, float64(len(hits))/20000, 0.01)
		require.Equal(t, hits, struck(text, 20000))
		require.NotEqual(t, hits, struck(fmt.Sprintf("* share=%g seed=8 cut", share), 20000))
	}
}

func TestEntriesAreChosenByPlaceKeyAndShare(t *testing.T) {
	request := []entry{{key: []byte("a")}, {key: []byte("b")}, {key: []byte("a")}, {key: []byte("c")}}
	for text, want := range map[string]string{
		"PutRecords entries fail X":                     "XXXX",
		"PutRecords entries index=1,3 fail X":           "-X-X",
		"PutRecords entries index=3,400 fail X":         "---X",
		"PutRecords entries key=a fail X":               "X-X-",
		"PutRecords entries key=a index=1,2 fail X":     "--X-",
		"PutRecords entries share=1e-12 fail X":         "----",
		"PutRecords entries key=z fail X":               "----",
		"PutRecords entries key=a share=1 fail X":       "X-X-",
		"PutRecords nth=2 entries key=a share=1 fail X": "----",
	} {
		l := faultList{all: []*injected{{Fault: MustParseFault(text)}}}
		p := l.plan("PutRecords", "s", request)
		got := ""
		for i := range request {
			if p.fate(i).code == "" {
				got += "-"
			} else {
				got += "X"
			}
		}
		require.Equal(t, want, got, text)
		require.Equal(t, want != "----", l.all[0].hits == 1, "%s: a fault that finds no entry has not struck", text)
	}
	l := faultList{all: []*injected{{Fault: MustParseFault("PutRecords entries share=0.1 seed=3 fail X")}}}
	failed := 0
	for range 100 {
		p := l.plan("PutRecords", "s", make([]entry, 100))
		for i := range 100 {
			if p.fate(i).code != "" {
				failed++
			}
		}
	}
	require.InDelta(t, 1000, failed, 100)
}

func TestFaultsAddUp(t *testing.T) {
	var l faultList
	for _, text := range []string{
		"PutRecords delay 1s", "PutRecords delay 2s", "PutRecords delay 4s after applying", "PutRecords short 2", "PutRecords short 1",
		"PutRecords entries index=0 fail A", "PutRecords entries fail B after applying", "PutRecords cut after applying", "PutRecords hang",
	} {
		l.all = append(l.all, &injected{Fault: MustParseFault(text)})
	}
	p := l.plan("PutRecords", "s", make([]entry, 2))
	require.Equal(t, 3*time.Second, p.delayBefore)
	require.Equal(t, 4*time.Second, p.delayAfter)
	require.Equal(t, 2, p.missing)
	require.Equal(t, []fate{{"A", false}, {"B", true}}, p.fates, "the first fault that names an entry")
	require.Equal(t, Cut, p.ending.Do, "the first that takes the place of the answer")
}

func TestClearedFaultsStrikeNoMore(t *testing.T) {
	s := NewServer(t, Config{})
	s.Inject(MustParseFault("* cut"), MustParseFault("PutRecords nth=2 hang"))
	s.faults.plan("PutRecords", "s", nil)
	require.Equal(t, []FaultStatus{
		{Fault: Fault{Do: Cut}, Seen: 1, Hits: 1}, {Fault: Fault{Op: "PutRecords", From: 2, To: 2, Do: Hang}, Seen: 1},
	}, s.Faults())
	s.ClearFaults()
	require.Empty(t, s.Faults())
	require.Nil(t, s.faults.plan("PutRecords", "s", nil).ending)
}
