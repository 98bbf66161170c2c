package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest/kinesissuite"
)

const kinesaliteVersion = "3.3.3"

// kinesalite installs the emulator once, starts it on loopback, and gives its address.
func kinesalite(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"npm", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "kinesalite needs %s, which is not installed", tool)
		}
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "spillway-integration", "kinesalite-"+kinesaliteVersion)
	cli := filepath.Join(dir, "node_modules", "kinesalite", "cli.js")
	if _, err := os.Stat(cli); err != nil {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		out, err := exec.Command("npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "kinesalite@"+kinesaliteVersion).CombinedOutput()
		if err != nil {
			missing(t, "kinesalite can't be installed: %v\n%s", err, out)
		}
	}
	port := freePort(t)
	cmd := exec.Command("node", "--require", "./testdata/loopback.cjs", cli, "--port", port,
		"--createStreamMs", "10", "--deleteStreamMs", "10", "--updateStreamMs", "10", "--shardLimit", "50")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
			return "http://127.0.0.1:" + port
		}
		require.True(t, time.Now().Before(deadline), "kinesalite does not listen: %v", err)
	}
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// TestTheSuiteHoldsForKinesalite: what kinesistest claims of the service, an
// emulator that others made by measuring the service does too.
func TestTheSuiteHoldsForKinesalite(t *testing.T) {
	kinesissuite.Exercise(t, kinesissuite.NewClient(kinesalite(t)), kinesissuite.Kinesalite())
}

// TestTheSinkWritesToKinesalite: everything arrives, first occurrences in order by key.
func TestTheSinkWritesToKinesalite(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	ctx := context.Background()
	config := kinesis.Config{Stream: "sink", Region: "us-east-1", Endpoint: kinesalite(t)}
	client, err := kinesis.NewClient(ctx, config)
	require.NoError(t, err)
	_, err = client.CreateStream(ctx, &sdk.CreateStreamInput{StreamName: &config.Stream, ShardCount: aws.Int32(4)})
	require.NoError(t, err)
	require.NoError(t, sdk.NewStreamExistsWaiter(client).Wait(ctx, &sdk.DescribeStreamInput{StreamName: &config.Stream}, time.Minute,
		func(o *sdk.StreamExistsWaiterOptions) {
			o.MinDelay, o.MaxDelay = 20*time.Millisecond, 50*time.Millisecond
		}))

	// Kinesalite has the limits of some years ago: 5 MiB a request, and no description of a smaller one.
	w, err := kinesis.NewWriter(ctx, client, config, asyncsink.Config{
		Order: asyncsink.PerKey, Batch: limits.Batch{Bytes: 4 * limits.MiB},
	})
	require.NoError(t, err)
	const records, keys = 20_000, 1000
	for n := range records {
		r, err := kinesis.NewRecord(fmt.Sprintf("schlüssel-%d", n%keys), fmt.Appendf(nil, `{"n":%d}`, n))
		require.NoError(t, err)
		_, err = w.Write(ctx, r)
		require.NoError(t, err)
	}
	left, err := w.Close(ctx)
	require.NoError(t, err)
	require.Nil(t, left)
	stats := w.Stats()

	copies, newestOf := map[int]int{}, map[string]int{}
	for _, shard := range shards(t, client, config.Stream) {
		for _, r := range read(t, client, config.Stream, shard) {
			n := number(t, r.Data)
			if copies[n]++; copies[n] > 1 {
				continue
			}
			if last, ok := newestOf[*r.PartitionKey]; ok {
				require.Greater(t, n, last, "first occurrences of %s", *r.PartitionKey)
			}
			newestOf[*r.PartitionKey] = n
		}
	}
	require.Len(t, copies, records, "lost")
	extra := -records
	for _, c := range copies {
		extra += c
	}
	require.LessOrEqual(t, int64(extra), stats.PossibleDuplicates.Entries)
	t.Logf("%d records, lost 0, %d copies too many of %d possible, order by key kept", records, extra, stats.PossibleDuplicates.Entries)
}

func shards(t *testing.T, client *sdk.Client, stream string) (ids []string) {
	out, err := client.ListShards(context.Background(), &sdk.ListShardsInput{StreamName: &stream})
	require.NoError(t, err)
	for _, s := range out.Shards {
		ids = append(ids, *s.ShardId)
	}
	return ids
}

func read(t *testing.T, client *sdk.Client, stream, shard string) (all []types.Record) {
	ctx := context.Background()
	it, err := client.GetShardIterator(ctx, &sdk.GetShardIteratorInput{
		StreamName: &stream, ShardId: &shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	require.NoError(t, err)
	for next := it.ShardIterator; next != nil; {
		out, err := client.GetRecords(ctx, &sdk.GetRecordsInput{ShardIterator: next})
		require.NoError(t, err)
		if len(out.Records) == 0 {
			return all
		}
		all = append(all, out.Records...)
		next = out.NextShardIterator
	}
	return all
}
