package kinesissuite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

// writing is about records that are taken.
func writing(t *testing.T, e *env) {
	t.Run("entries are answered in the order of the request", func(t *testing.T) {
		name := e.stream(t, 3)
		in := &kinesis.PutRecordsInput{StreamName: &name}
		for i := range 100 {
			in.Records = append(in.Records, entry(fmt.Sprintf("key-%d", i), fmt.Sprintf("data-%d", i)))
		}
		out, err := e.client.PutRecords(t.Context(), in)
		require.NoError(t, err)
		require.EqualValues(t, 0, *out.FailedRecordCount)
		require.Len(t, out.Records, len(in.Records))

		stored := map[string]string{} // shard and number, to data
		for _, sh := range e.shards(t, name) {
			want := 0
			for _, r := range out.Records {
				if *r.ShardId == *sh.ShardId {
					want++
				}
			}
			records, _ := e.drain(t, e.iterator(t, horizon(name, *sh.ShardId)), want)
			for _, r := range records {
				stored[*sh.ShardId+*r.SequenceNumber] = string(r.Data)
			}
		}
		for i, r := range out.Records {
			require.Nil(t, r.ErrorCode)
			require.Equal(t, string(in.Records[i].Data), stored[*r.ShardId+*r.SequenceNumber], "entry %d", i)
		}
		require.Len(t, stored, len(in.Records))
	})
	t.Run("numbers grow within a shard", func(t *testing.T) {
		name := e.stream(t, 1)
		last := ""
		for i := range 30 {
			n := *e.put(t, name, "k", fmt.Sprint(i)).SequenceNumber
			require.Greater(t, fmt.Sprintf("%060s", n), fmt.Sprintf("%060s", last))
			last = n
		}
	})
	t.Run("any bytes and any characters survive", func(t *testing.T) {
		name := e.stream(t, 1)
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		cases := []struct{ key, data string }{
			{"empty", ""}, {"bytes", string(all)}, {`quote " and \ backslash`, "1"}, {"tab\tand\nline", "2"}, {"Grüße, 世界", "3"}, {"</script>", "4"},
		}
		for _, c := range cases {
			e.put(t, name, c.key, c.data)
		}
		records, _ := e.drain(t, e.iterator(t, horizon(name, "shardId-000000000000")), len(cases))
		require.Len(t, records, len(cases))
		for i, c := range cases {
			require.Equal(t, c.key, *records[i].PartitionKey)
			require.Equal(t, c.data, string(records[i].Data))
			require.NotNil(t, records[i].ApproximateArrivalTimestamp)
		}
	})
	t.Run("a dry run stores nothing", func(t *testing.T) {
		e.need(t, DryRun)
		name := e.stream(t, 1)
		_, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
			StreamName: &name, DryRun: aws.Bool(true), Records: []types.PutRecordsRequestEntry{entry("k", "dry")},
		})
		requireCode(t, "DryRunOperationException", err)
		e.put(t, name, "k", "wet")
		records, _ := e.drain(t, e.iterator(t, horizon(name, "shardId-000000000000")), 1)
		require.Equal(t, []string{"wet"}, data(records))
	})
	t.Run("a stream with AUTO distribution ignores keys", func(t *testing.T) {
		e.need(t, AutoDistribution)
		name := e.stream(t, 4, func(in *kinesis.CreateStreamInput) {
			in.ShardCount = nil
			in.StreamModeDetails = &types.StreamModeDetails{StreamMode: types.StreamModeOnDemand}
			in.RecordDistributionStrategy = types.RecordDistributionStrategyAuto
		})
		require.Equal(t, types.RecordDistributionStrategyAuto, e.summary(t, name).RecordDistributionStrategy)
		in := &kinesis.PutRecordsInput{StreamName: &name}
		for range 40 {
			in.Records = append(in.Records, entry("the same key", "x"))
		}
		in.Records[0].PartitionKey = nil
		out, err := e.client.PutRecords(t.Context(), in)
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, r := range out.Records {
			seen[*r.ShardId] = true
		}
		require.Greater(t, len(seen), 1)
	})
}

// limits is about records that are not taken, and those that are just so.
func limits(t *testing.T, e *env) {
	name := e.stream(t, 1)
	refused := func(t *testing.T, want string, entries ...types.PutRecordsRequestEntry) {
		t.Helper()
		_, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &name, Records: entries})
		requireCode(t, want, err)
	}
	taken := func(t *testing.T, entries ...types.PutRecordsRequestEntry) {
		t.Helper()
		out, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &name, Records: entries})
		require.NoError(t, err)
		require.EqualValues(t, 0, *out.FailedRecordCount)
	}
	many := func(n int, e types.PutRecordsRequestEntry) []types.PutRecordsRequestEntry {
		return slices.Repeat([]types.PutRecordsRequestEntry{e}, n)
	}
	t.Run("1 to 500 records a request", func(t *testing.T) {
		refused(t, "ValidationException", many(0, entry("k", "v"))...)
		taken(t, entry("k", "v"))
		taken(t, many(500, entry("k", "v"))...)
		refused(t, "ValidationException", many(501, entry("k", "v"))...)
	})
	t.Run("keys of 1 to 256 characters", func(t *testing.T) {
		refused(t, "ValidationException", entry("", "v"))
		taken(t, entry(strings.Repeat("k", 255), "v"), entry(strings.Repeat("k", 256), "v"), entry(strings.Repeat("ü", 256), "v"))
		refused(t, "ValidationException", entry(strings.Repeat("k", 257), "v"))
		refused(t, "ValidationException", entry(strings.Repeat("ü", 257), "v"))
	})
	t.Run("characters are code points", func(t *testing.T) {
		e.need(t, CharacterLimit)
		taken(t, entry(strings.Repeat("😀", 256), "v"))
		refused(t, "ValidationException", entry(strings.Repeat("😀", 257), "v"))
	})
	t.Run("1 MiB a record at first", func(t *testing.T) {
		taken(t, entry("k", strings.Repeat("d", 1<<20-1)))
		_, err := e.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
			StreamName: &name, PartitionKey: aws.String("k"), Data: make([]byte, 1<<20+1),
		})
		require.Contains(t, []string{"ValidationException", "InvalidArgumentException"}, code(err))
	})
	t.Run("the key counts", func(t *testing.T) {
		e.need(t, KeyInRecordSize)
		for _, key := range []string{"k", "ü", "世界"} {
			taken(t, entry(key, strings.Repeat("d", 1<<20-len(key))))
			refused(t, "InvalidArgumentException", entry(key, strings.Repeat("d", 1<<20-len(key)+1)))
		}
	})
	t.Run("as large a record as the stream allows", func(t *testing.T) {
		e.need(t, LargeRecords)
		large := e.stream(t, 1, func(in *kinesis.CreateStreamInput) { in.MaxRecordSizeInKiB = aws.Int32(1025) })
		put := func(size int) error {
			_, err := e.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
				StreamName: &large, PartitionKey: aws.String("k"), Data: make([]byte, size-1),
			})
			return err
		}
		require.EqualValues(t, 1025, *e.summary(t, large).MaxRecordSizeInKiB)
		require.NoError(t, put(1025<<10))
		requireCode(t, "InvalidArgumentException", put(1025<<10+1))
		_, err := e.client.UpdateMaxRecordSize(t.Context(), &kinesis.UpdateMaxRecordSizeInput{
			StreamARN: e.summary(t, large).StreamARN, MaxRecordSizeInKiB: aws.Int32(1026),
		})
		require.NoError(t, err)
		e.waitActive(t, large)
		require.NoError(t, put(1026<<10))
		requireCode(t, "InvalidArgumentException", put(1026<<10+1))
		_, err = e.client.UpdateMaxRecordSize(t.Context(), &kinesis.UpdateMaxRecordSizeInput{
			StreamARN: e.summary(t, large).StreamARN, MaxRecordSizeInKiB: aws.Int32(10241),
		})
		requireCode(t, "ValidationException", err)
	})
	t.Run("10 MiB a request, keys included", func(t *testing.T) {
		e.need(t, RequestSize)
		full := many(10, entry("1234", strings.Repeat("d", 1<<20-4)))
		taken(t, full...)
		refused(t, "InvalidArgumentException", append(full[:9:9], entry("1234", strings.Repeat("d", 1<<20-4-1)), entry("k", "v"))...)
	})
	t.Run("a request that is refused stores nothing", func(t *testing.T) {
		fresh := e.stream(t, 1)
		_, err := e.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{
			StreamName: &fresh, Records: []types.PutRecordsRequestEntry{entry("k", "good"), entry("", "bad")},
		})
		requireCode(t, "ValidationException", err)
		e.put(t, fresh, "k", "after")
		records, _ := e.drain(t, e.iterator(t, horizon(fresh, "shardId-000000000000")), 1)
		require.Equal(t, []string{"after"}, data(records))
	})
}
