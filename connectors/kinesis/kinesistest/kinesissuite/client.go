package kinesissuite

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/spillway-go/spillway/connectors/kinesis/internal/steady"
)

// NewClient is an SDK client for an endpoint such as http://127.0.0.1:4567, as the suite likes it: no retries,
// any credentials, and without the SDK's race that package steady mends.
func NewClient(endpoint string, change ...func(*kinesis.Options)) *kinesis.Client {
	return kinesis.New(kinesis.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		BaseEndpoint: &endpoint, HTTPClient: steady.Body(&http.Client{Transport: &http.Transport{}}), RetryMaxAttempts: 1,
	}, change...)
}
