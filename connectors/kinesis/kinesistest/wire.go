package kinesistest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// input is the union of what the operations take. The service's field names do not clash, so one struct and one
// decode serve all; an operation reads the fields that it knows, and nil is "not given".
type input struct {
	StreamName, StreamARN              *string
	StreamCreationTimestamp            *float64
	ShardCount, TargetShardCount       *int64
	MaxRecordSizeInKiB                 *int64
	StreamModeDetails                  *struct{ StreamMode *string }
	RecordDistributionStrategy         *string
	Limit, MaxResults                  *int64
	ExclusiveStartStreamName           *string
	ExclusiveStartShardID              *string `json:"ExclusiveStartShardId"`
	NextToken                          *string
	ShardFilter                        *shardFilter
	ShardToSplit, NewStartingHashKey   *string
	ShardToMerge, AdjacentShardToMerge *string
	ScalingType                        *string
	ShardID                            *string `json:"ShardId"`
	ShardIteratorType                  *string
	StartingSequenceNumber             *string
	Timestamp                          *float64
	ShardIterator                      *string
	DryRun                             bool
	PartitionKey, ExplicitHashKey      *string
	SequenceNumberForOrdering          *string
	Data                               []byte
	Records                            []wireEntry
}

type wireEntry struct {
	Data                          []byte
	PartitionKey, ExplicitHashKey *string
}

type shardFilter struct {
	Type      *string
	ShardID   *string `json:"ShardId"`
	Timestamp *float64
}

// epoch is a time on the wire: seconds since 1970, with milliseconds behind the point.
type epoch int64 // Unix milliseconds

func (e epoch) MarshalJSON() ([]byte, error) { return appendEpoch(nil, int64(e)), nil }

func appendEpoch(dst []byte, millis int64) []byte {
	return strconv.AppendFloat(dst, float64(millis)/1000, 'f', 3, 64)
}

// millisOf reads a time of the wire. Rounded, since 1459799926.480 has no exact binary form.
func millisOf(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

type wireShard struct {
	ShardID             string        `json:"ShardId"`
	Parent              string        `json:"ParentShardId,omitempty"`
	Adjacent            string        `json:"AdjacentParentShardId,omitempty"`
	HashKeyRange        wireRange     `json:"HashKeyRange"`
	SequenceNumberRange wireSequences `json:"SequenceNumberRange"`
}

type wireRange struct {
	Starting string `json:"StartingHashKey"`
	Ending   string `json:"EndingHashKey"`
}

type wireSequences struct {
	Starting string `json:"StartingSequenceNumber"`
	Ending   string `json:"EndingSequenceNumber,omitempty"`
}

type wireChild struct {
	ShardID      string    `json:"ShardId"`
	Parents      []string  `json:"ParentShards"`
	HashKeyRange wireRange `json:"HashKeyRange"`
}

// apiError is an answer of the service other than 200.
type apiError struct {
	status        int
	code, message string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) *apiError {
	return &apiError{status: statusOf(code), code: code, message: fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status that goes with an error code: the service blames the client for all but its own
// failures.
func statusOf(code string) int {
	switch code {
	case "InternalFailure", "InternalFailureException":
		return 500
	case "ServiceUnavailable", "ServiceUnavailableException":
		return 503
	}
	return 400
}

func (e *apiError) body() []byte {
	b, _ := json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{e.code, e.message}) // two strings always encode
	return b
}

// appendString appends s as a JSON string.
func appendString(dst, s []byte) []byte {
	plain := true
	for _, c := range s {
		if c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, _ := json.Marshal(string(s)) // a string always encodes
	return append(dst, quoted...)
}
