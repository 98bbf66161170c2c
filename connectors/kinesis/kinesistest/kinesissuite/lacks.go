package kinesissuite

import "testing"

// Capability is something that an endpoint may lack.
type Capability string

// The capabilities in which endpoints are known to differ.
const (
	Addressing       Capability = "a stream is named by its ARN alone"
	AutoDistribution Capability = "on-demand streams with the AUTO distribution strategy"
	CharacterLimit   Capability = "keys are measured in Unicode code points"
	ChildShards      Capability = "GetRecords names the children at the end of a closed shard"
	DryRun           Capability = "the DryRun parameter"
	HashKeyForm      Capability = "an explicit hash key that is no plain number is refused"
	KeyInRecordSize  Capability = "the partition key counts towards the size of a record"
	LargeRecords     Capability = "MaxRecordSizeInKiB and UpdateMaxRecordSize"
	Paging           Capability = "pages and filters of DescribeStream and ListShards"
	RequestSize      Capability = "a PutRecords request may have 10 MiB, and not a byte more"
	ShardEligibility Capability = "a closed shard is refused by SplitShard and MergeShards"
	UpdateShardCount Capability = "UpdateShardCount"
)

// Lacks is what an endpoint cannot do, with the reason for each; nil is nothing.
type Lacks map[Capability]string

// Kinesalite is what kinesalite 3.3.3 lacks, an emulator that was made by measuring the service of some years
// ago. It needs to be started with a shard limit of ten or more, its default.
func Kinesalite() Lacks {
	return Lacks{
		Addressing:       "demands StreamName",
		AutoDistribution: "older than on-demand streams",
		CharacterLimit:   "counts UTF-16 units",
		ChildShards:      "older than the field",
		DryRun:           "older than the parameter, which it ignores",
		HashKeyForm:      "does not anchor its pattern: -1, 01 and 1e3 pass",
		KeyInRecordSize:  "measures the data alone",
		LargeRecords:     "has 1 MiB built in",
		Paging:           "always answers with all shards",
		RequestSize:      "answers 413 to bodies above 7 MiB and does not add up records",
		ShardEligibility: "does not look whether a shard is open",
		UpdateShardCount: "does not know the operation",
	}
}

// need skips the test if the endpoint lacks c.
func (e *env) need(t *testing.T, c Capability) {
	t.Helper()
	if reason, lacks := e.lacks[c]; lacks {
		t.Skipf("this endpoint lacks: %s (%s)", c, reason)
	}
}
