// Package kinesissuite is one set of tests for anything that claims to be Amazon Kinesis: package kinesistest,
// an emulator that others wrote, the service.
//
//	kinesissuite.Exercise(t, client, nil)                       // everything
//	kinesissuite.Exercise(t, client, kinesissuite.Kinesalite()) // what kinesalite can do
//
// What an endpoint cannot do is named, with the reason, in its [Lacks]; the tests that need it are skipped and
// say so. The tests are about behaviour that clients build on: where records go, what order they have, what is
// refused and with which code. They are not about throughput: the endpoint must not throttle.
package kinesissuite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
)

// Exercise runs the suite. The client should not retry; [NewClient] makes one for an address. At most ten
// shards are open at a time; the streams are deleted in the end.
func Exercise(t *testing.T, client *kinesis.Client, lacks Lacks) {
	for _, topic := range []struct {
		name string
		run  func(*testing.T, *env)
	}{
		{"control", control},
		{"writing", writing},
		{"limits", limits},
		{"routing", routing},
		{"reading", reading},
		{"resharding", resharding},
	} {
		t.Run(topic.name, func(t *testing.T) { topic.run(t, &env{client: client, lacks: lacks}) })
	}
}

// env is what a topic works with.
type env struct {
	client *kinesis.Client
	lacks  Lacks
}

var streams atomic.Int64

// patience bounds the wait for a change of status. Endpoints that change at once never wait.
const patience = 20 * time.Second

// stream makes a stream of the given shards, waits until it is ACTIVE and deletes it after the test.
func (e *env) stream(t *testing.T, shards int32, change ...func(*kinesis.CreateStreamInput)) string {
	t.Helper()
	name := fmt.Sprintf("suite-%d-%d", os.Getpid(), streams.Add(1))
	in := &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &shards}
	for _, c := range change {
		c(in)
	}
	_, err := e.client.CreateStream(t.Context(), in)
	require.NoError(t, err)
	t.Cleanup(func() { e.delete(t, name) })
	e.waitActive(t, name)
	return name
}

func (e *env) delete(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := e.client.DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: &name}); err != nil && code(err) != "ResourceNotFoundException" {
		t.Errorf("delete %s: %v", name, err)
	}
	e.until(t, "the stream is gone", func() bool {
		_, err := e.client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
		return code(err) == "ResourceNotFoundException"
	})
}

func (e *env) waitActive(t *testing.T, name string) {
	t.Helper()
	e.until(t, "the stream is ACTIVE", func() bool { return e.summary(t, name).StreamStatus == types.StreamStatusActive })
}

func (e *env) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("not after %s: %s", patience, what)
		}
	}
}

func (e *env) summary(t *testing.T, name string) *types.StreamDescriptionSummary {
	t.Helper()
	out, err := e.client.DescribeStreamSummary(t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &name})
	require.NoError(t, err)
	return out.StreamDescriptionSummary
}

func (e *env) shards(t *testing.T, name string) []types.Shard {
	t.Helper()
	out, err := e.client.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &name})
	require.NoError(t, err)
	require.Nil(t, out.NextToken)
	return out.Shards
}

// put writes one record and returns its shard and number.
func (e *env) put(t *testing.T, stream, key, data string) *kinesis.PutRecordOutput {
	t.Helper()
	out, err := e.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
		StreamName: &stream, PartitionKey: &key, Data: []byte(data),
	})
	require.NoError(t, err)
	return out
}

// drain reads from an iterator until it has seen want records or the shard's end.
func (e *env) drain(t *testing.T, it *string, want int) (records []types.Record, end *kinesis.GetRecordsOutput) {
	t.Helper()
	e.until(t, fmt.Sprintf("%d records are there", want), func() bool {
		out, err := e.client.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: it})
		require.NoError(t, err)
		records = append(records, out.Records...)
		it, end = out.NextShardIterator, out
		return it == nil || len(records) >= want
	})
	return records, end
}

func (e *env) iterator(t *testing.T, in kinesis.GetShardIteratorInput) *string {
	t.Helper()
	out, err := e.client.GetShardIterator(t.Context(), &in)
	require.NoError(t, err)
	return out.ShardIterator
}

func horizon(stream, shard string) kinesis.GetShardIteratorInput {
	return kinesis.GetShardIteratorInput{
		StreamName: &stream, ShardId: &shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	}
}

// code is the error code of the service in err, or "".
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func requireCode(t *testing.T, want string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, code(err), "%v", err)
}

func entry(key, data string) types.PutRecordsRequestEntry {
	return types.PutRecordsRequestEntry{PartitionKey: aws.String(key), Data: []byte(data)}
}

func data(records []types.Record) (out []string) {
	for _, r := range records {
		out = append(out, string(r.Data))
	}
	return out
}
