// Package kinesistest is an honest Amazon Kinesis to test against.
//
// It is a plain [net/http] handler that speaks the service's own wire format (JSON 1.1 over HTTP POST), so the
// real AWS SDK cannot tell it from an endpoint. It keeps the service's
// promises and, unlike other emulators, its refusals: the size limits, the throughput of each shard, partial
// failures, signatures, credentials that expire. On top of those it breaks on request: see [Fault].
//
// # In a test
//
// A [Server] is an HTTP client as well. Given to the SDK, it answers in memory, on the goroutine that calls,
// with no socket and nothing left behind; so the real SDK runs inside a [testing/synctest] bubble and no test
// sleeps:
//
//	srv := kinesistest.NewServer(t, kinesistest.Config{
//		Streams: []kinesistest.StreamConfig{{Name: "orders", Shards: 4}},
//	})
//	client := kinesis.New(kinesis.Options{
//		Region:           "us-east-1",
//		Credentials:      credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
//		HTTPClient:       srv,
//		RetryMaxAttempts: 1,
//	})
//	srv.Inject(kinesistest.MustParseFault("PutRecords nth=3 cut after applying"))
//	...
//	for r := range srv.All("orders") { ... }
//
// Over a socket it is httptest.NewServer(srv), or the command in the folder serve. Faults work the same on both.
//
// Package kinesissuite is the suite that this server passes, and that emulators of other make and the service
// itself can be put to.
//
// # What it keeps of the service
//
//   - CreateStream, DeleteStream, ListStreams, DescribeStream, DescribeStreamSummary, ListShards, UpdateMaxRecordSize,
//     PutRecord, PutRecords, GetShardIterator, GetRecords, SplitShard, MergeShards, UpdateShardCount.
//   - Records go to the shard whose range holds the MD5 of the UTF-8 partition key, or the explicit hash key. A stream with
//     AUTO distribution ignores both and takes the shards in turn.
//   - 1 to 500 records a request; 10 MiB a request, keys included; a record of data and key up to the stream's
//     MaxRecordSizeInKiB (1024 at first, 10240 at most); keys of 1 to 256 characters, counted as Unicode code points.
//   - 1,000 records and 1 MiB a second and shard: next section. A refused entry of PutRecords is answered in its place,
//     with HTTP 200, a FailedRecordCount and an ErrorCode. PutRecord is refused as a whole.
//   - Resharding closes the parents, which keep their records and iterators, and opens children with new ids.
//     UpdateShardCount splits and merges one by one, so that short-lived shards appear, as the service documents.
//   - Shard iterators and list tokens expire after 300 seconds.
//   - DryRun: a request that would be carried out is answered with DryRunOperationException.
//
// # Throughput of a shard
//
// Each shard counts the records and bytes (data and key) that it took in the present window: one second,
// aligned to whole seconds of [Config.Clock]. An entry that would pass either limit is refused with
// ProvisionedThroughputExceededException and costs nothing; later, smaller entries of the same request may
// still fit. A record larger than a second's bytes is taken by a shard that owes nothing and took no bytes in
// this window, and runs it into debt: each window that follows begins with what is still owed and pays off one
// second's bytes. A 10 MiB record on a fresh shard therefore passes, and the nine windows that follow refuse
// everything. (The service's own burst rules for large records are not published.)
//
// # What it leaves out
//
// CBOR and HTTP/2 event streams (SubscribeToShard), tags, encryption, consumers, retention (nothing is
// trimmed), limits on reads and on the rate of control calls, and the 24-hour count of UpdateShardCount. State
// lives in memory and ends with the process. The answer to a record that exceeds the stream's own limit is our
// reading of the documents (InvalidArgumentException); the other codes and messages follow the service's.
//
// # Concurrency and cost
//
// Every method may be called by many goroutines at once. Requests are decoded, hashed and encoded outside the
// lock of a stream. A stored record costs its bytes and about 50 more. The package imports the standard library
// only.
package kinesistest
