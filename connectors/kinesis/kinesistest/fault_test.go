package kinesistest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is texts in the form that String prints, and what they mean.
var script = map[string]Fault{
	"PutRecords entries fail InternalFailure": {Op: "PutRecords", Do: FailEntries, Code: "InternalFailure"},
	"PutRecords share=0.1 seed=7 entries fail InternalFailure": {
		Op: "PutRecords", Share: 0.1, Seed: 7, Do: FailEntries, Code: "InternalFailure",
	},
	`PutRecords seed=7 entries index=0,2 share=0.25 key="a \"hot\" key\xff" fail ProvisionedThroughputExceededException after applying`: {
		Op: "PutRecords", Seed: 7, Do: FailEntries, Code: throttledCode, After: true,
		Entries: Entries{Index: []int{0, 2}, Share: 0.25, Key: "a \"hot\" key\xff"},
	},
	"PutRecords nth=3 cut after applying": {Op: "PutRecords", From: 3, To: 3, Do: Cut, After: true},
	"PutRecords every=10 delay 200ms":     {Op: "PutRecords", Every: 10, Do: DelayReply, Delay: 200 * time.Millisecond},
	"PutRecords stream=orders from=5 times=2 fail ServiceUnavailable status=503": {
		Op: "PutRecords", Stream: "orders", From: 5, Times: 2, Do: FailRequest, Code: "ServiceUnavailable", Status: 503,
	},
	"* from=2 to=9 every=2 share=1e-05 hang": {From: 2, To: 9, Every: 2, Share: 1e-5, Do: Hang},
	"GetRecords to=4 truncate":               {Op: "GetRecords", To: 4, Do: TruncateReply},
	"PutRecords short 1":                     {Op: "PutRecords", Do: ShortReply, Missing: 1},
}

func TestAFaultPrintsWhatParseReads(t *testing.T) {
	for text, want := range script {
		f, err := ParseFault(text)
		require.NoError(t, err)
		require.Equal(t, want, f, text)
		require.Equal(t, text, f.String())
	}
}

func TestAFaultMayBeWrittenInOtherWays(t *testing.T) {
	for text, canonical := range map[string]string{
		"  PutRecords   entries  share=0.1 seed=7 fail InternalFailure ": "PutRecords seed=7 entries share=0.1 fail InternalFailure",
		"PutRecords entries key=hot fail InternalFailure":                `PutRecords entries key="hot" fail InternalFailure`,
		"PutRecords from=3 to=3 cut before applying":                     "PutRecords nth=3 cut",
		"PutRecords delay 1500ms":                                        "PutRecords delay 1.5s",
	} {
		f, err := ParseFault(text)
		require.NoError(t, err)
		require.Equal(t, canonical, f.String())
	}
}

func TestATextThatIsNoFaultIsRefusedByItsWord(t *testing.T) {
	for text, word := range map[string]string{
		"":                                                    "begin with an operation",
		"PutRecord":                                           "want entries",
		"Nonsense cut":                                        "Nonsense",
		"PutRecords nht=3 cut":                                "nht=3",
		"PutRecords nth=0 cut":                                "nth=0",
		"PutRecords nth=-1 cut":                               "nth=-1",
		"PutRecords from=4 to=3 cut":                          "from 4, to 3",
		"PutRecords share=0 cut":                              "share=0",
		"PutRecords share=1.1 cut":                            "share=1.1",
		"PutRecords share=NaN cut":                            "share=NaN",
		"PutRecords seed=-1 cut":                              "seed=-1",
		"PutRecords times=x cut":                              "times=x",
		"PutRecords stream=a/b cut":                           "a/b",
		"PutRecords explode":                                  "explode",
		"PutRecords fail":                                     "code",
		"PutRecords fail 7":                                   "code",
		"PutRecords fail X status=99":                         "status 99",
		"PutRecords fail X status=no":                         "status",
		"PutRecords delay soon":                               "delay soon",
		"PutRecords delay -1s":                                "delay -1s",
		"PutRecords short 0":                                  "short 0",
		"PutRecords cut after":                                "after",
		"PutRecords cut at once":                              "at once",
		"PutRecords cut after applying twice":                 "after applying",
		"PutRecords truncate after applying":                  "leave it out",
		"PutRecords entries":                                  "want index=",
		"PutRecords entries all fail X":                       "all",
		"PutRecords entries index= fail X":                    "index=",
		"PutRecords entries index=500 fail X":                 "500",
		"PutRecords entries key= fail X":                      "key=",
		`PutRecords entries key="" fail X`:                    "must not be empty",
		`PutRecords entries key="a fail X`:                    "does not end",
		"GetRecords entries fail X":                           "PutRecords only",
		"* short 1":                                           "PutRecords only",
		`PutRecords entries key="a"b fail X`:                  "b",
		"PutRecords entries share=2 fail X":                   "share=2",
		"PutRecords entries seed=99999999999999999999 fail X": "seed=",
	} {
		_, err := ParseFault(text)
		require.ErrorContains(t, err, word, "%q", text)
	}
}

func TestAFaultThatCannotBeDoesNotValidateAndIsNotInjected(t *testing.T) {
	for _, f := range []Fault{
		{}, {Do: 99}, {Do: Cut, Code: "X"}, {Do: Cut, Delay: 1}, {Do: Cut, Missing: 1}, {Do: Cut, Status: 500}, {Do: DelayReply, Delay: -1},
		{Do: Cut, Share: math.NaN()}, {Do: Cut, Share: -1}, {Do: Cut, Every: -1}, {Do: Cut, Times: -1}, {Do: Cut, From: -1},
		{Do: Cut, Entries: Entries{Key: "k"}}, {Op: "PutRecords", Do: FailEntries, Code: "X", Entries: Entries{Share: math.Inf(1)}},
	} {
		require.Error(t, f.Validate(), "%#v", f)
		s := NewServer(t, Config{})
		require.Panics(t, func() { s.Inject(f) })
		require.Empty(t, s.Faults())
	}
	err := Fault{Op: "X", Every: -1, Times: -1, Do: Cut}.Validate()
	require.ErrorContains(t, err, `"X"`)
	require.ErrorContains(t, err, "every -1")
	require.ErrorContains(t, err, "times -1")
	require.Panics(t, func() { MustParseFault("no") })
}

func FuzzWhatAFaultPrintsReadsBackToItself(f *testing.F) {
	for text := range script {
		f.Add(text)
	}
	f.Add("PutRecords entries share=0.1 seed=7 key=x fail InternalFailure before applying")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := ParseFault(text)
		if err != nil {
			return
		}
		got, err := ParseFault(want.String())
		require.NoError(t, err, "%q prints %q", text, want)
		require.Equal(t, want, got)
	})
}
