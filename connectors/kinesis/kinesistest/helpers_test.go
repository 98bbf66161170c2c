package kinesistest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// inMemory is the real SDK's client over the server's own transport, without retries.
func inMemory(srv *kinesistest.Server, change ...func(*kinesis.Options)) *kinesis.Client {
	return kinesis.New(kinesis.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		HTTPClient: srv, RetryMaxAttempts: 1,
	}, change...)
}

// one is a server with a stream "s" of so many shards and no throttling.
func one(t *testing.T, shards int) *kinesistest.Server {
	return kinesistest.NewServer(t, kinesistest.Config{
		Streams:          []kinesistest.StreamConfig{{Name: "s", Shards: shards}},
		RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited,
	})
}

func entries(keysAndData ...string) (out []types.PutRecordsRequestEntry) {
	for i := 0; i < len(keysAndData); i += 2 {
		out = append(out, types.PutRecordsRequestEntry{PartitionKey: &keysAndData[i], Data: []byte(keysAndData[i+1])})
	}
	return out
}

func put(t *testing.T, c *kinesis.Client, e []types.PutRecordsRequestEntry) (*kinesis.PutRecordsOutput, error) {
	t.Helper()
	return c.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: aws.String("s"), Records: e})
}

func split(t *testing.T, c *kinesis.Client, shard, at string) error {
	_, err := c.SplitShard(t.Context(), &kinesis.SplitShardInput{
		StreamName: aws.String("s"), ShardToSplit: &shard, NewStartingHashKey: &at,
	})
	return err
}

func merge(t *testing.T, c *kinesis.Client, shard, adjacent string) error {
	_, err := c.MergeShards(t.Context(), &kinesis.MergeShardsInput{
		StreamName: aws.String("s"), ShardToMerge: &shard, AdjacentShardToMerge: &adjacent,
	})
	return err
}

func scale(t *testing.T, c *kinesis.Client, stream string, shards int32) error {
	_, err := c.UpdateShardCount(t.Context(), &kinesis.UpdateShardCountInput{
		StreamName: &stream, TargetShardCount: &shards, ScalingType: types.ScalingTypeUniformScaling,
	})
	return err
}

// codes are the error codes of an answer, "" for entries that were taken.
func codes(out *kinesis.PutRecordsOutput) (all []string) {
	for _, r := range out.Records {
		all = append(all, aws.ToString(r.ErrorCode))
	}
	return all
}

func stored(srv *kinesistest.Server) (all []string) {
	for r := range srv.All("s") {
		all = append(all, string(r.Data))
	}
	return all
}

func requireCode(t *testing.T, want string, err error) smithy.APIError {
	t.Helper()
	var api smithy.APIError
	require.True(t, errors.As(err, &api), "%v", err)
	require.Equal(t, want, api.ErrorCode(), "%v", err)
	return api
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
