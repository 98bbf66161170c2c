package kinesis_test

import (
	"context"
	"fmt"
	"strings"

	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// A writer that keeps the order of each key, over a service that fails a fifth of the records.
func ExampleNewWriter() {
	ctx := context.Background()
	srv, client := service()
	srv.Inject(kinesistest.MustParseFault("PutRecords entries share=0.2 seed=1 fail InternalFailure"))

	w, err := kinesis.NewWriter(ctx, client, kinesis.Config{Stream: "orders"}, asyncsink.Config{Order: asyncsink.PerKey})
	if err != nil {
		panic(err)
	}
	for i := range 6 {
		r, err := kinesis.NewRecord([]string{"alice", "bob"}[i%2], fmt.Appendf(nil, "order %d", i))
		if err != nil {
			panic(err) // a key that the service would refuse
		}
		if _, err := w.Write(ctx, r); err != nil {
			panic(err)
		}
	}
	if _, err := w.Close(ctx); err != nil {
		panic(err)
	}

	got := map[string][]string{}
	for r := range srv.All("orders") {
		got[r.PartitionKey] = append(got[r.PartitionKey], string(r.Data))
	}
	fmt.Println("alice:", got["alice"])
	fmt.Println("bob:", got["bob"])
	fmt.Println("retried some:", w.Stats().Retried.Entries > 0)
	// Output:
	// alice: [order 0 order 2 order 4]
	// bob: [order 1 order 3 order 5]
	// retried some: true
}

// Records without a key are spread over the shards by random ones.
func ExampleRandomKeys() {
	ctx := context.Background()
	srv, client := service()
	w, err := kinesis.NewWriter(ctx, client, kinesis.Config{Stream: "orders"}, asyncsink.Config{})
	if err != nil {
		panic(err)
	}
	keys := kinesis.NewRandomKeys(0)
	for range 400 {
		if _, err := w.Write(ctx, keys.Record([]byte("data"))); err != nil {
			panic(err)
		}
	}
	if _, err := w.Close(ctx); err != nil {
		panic(err)
	}
	shards := map[string]int{}
	for r := range srv.All("orders") {
		shards[r.ShardID]++
	}
	fmt.Println(len(shards), "shards have records")
	// Output: 2 shards have records
}

// A key that the service would refuse is found when the record is made.
func ExampleNewRecord() {
	_, err := kinesis.NewRecord(strings.Repeat("k", 257), nil)
	fmt.Println(strings.Replace(err.Error(), strings.Repeat("k", 64), "kkk", 1))
	// Output: kinesis record: partition_key: "kkk"... (257 characters): must be 1 to 256 Unicode characters
}

// service is a stream of two shards in memory, and the real SDK's client for it. A
// program calls NewClient instead, and gets one for the AWS environment that it runs in.
func service() (*kinesistest.Server, *sdk.Client) {
	srv, err := kinesistest.New(kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "orders", Shards: 2}}})
	if err != nil {
		panic(err)
	}
	return srv, sdk.New(sdk.Options{
		Region: "us-east-1", Credentials: awscredentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), HTTPClient: srv,
	})
}
