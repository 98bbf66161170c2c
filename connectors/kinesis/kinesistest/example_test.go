package kinesistest_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// The real SDK against a server in memory, the second entry of whose first request is made to fail.
func Example() {
	srv, err := kinesistest.New(kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "orders"}}})
	if err != nil {
		panic(err)
	}
	srv.Inject(kinesistest.MustParseFault("PutRecords nth=1 entries index=1 fail InternalFailure"))
	client := kinesis.New(kinesis.Options{
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		HTTPClient:       srv,
		RetryMaxAttempts: 1,
	})
	out, err := client.PutRecords(context.Background(), &kinesis.PutRecordsInput{
		StreamName: new("orders"),
		Records: []types.PutRecordsRequestEntry{
			{PartitionKey: new("alice"), Data: []byte("1 book")},
			{PartitionKey: new("bob"), Data: []byte("2 pens")},
		},
	})
	fmt.Println("failed:", *out.FailedRecordCount, *out.Records[1].ErrorCode, err)
	for r := range srv.All("orders") {
		fmt.Printf("stored: %s %s\n", r.PartitionKey, r.Data)
	}
	fmt.Println("struck:", srv.Faults()[0].Hits)
	// Output:
	// failed: 1 InternalFailure <nil>
	// stored: alice 1 book
	// struck: 1
}

func ExampleParseFault() {
	f, err := kinesistest.ParseFault("PutRecords  entries share=0.1 seed=7 fail InternalFailure")
	fmt.Println(f, err)
	_, err = kinesistest.ParseFault("PutRecords nht=3 cut")
	fmt.Println(err)
	// Output:
	// PutRecords seed=7 entries share=0.1 fail InternalFailure <nil>
	// kinesistest: fault "PutRecords nht=3 cut": nht=3: no such condition on requests
}
