package kinesis

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/internal/steady"
)

// API is the part of the SDK's client that a writer needs; *kinesis.Client of
// aws-sdk-go-v2 has it. PutRecords must not keep its input after it has returned,
// since the memory is used again.
type API interface {
	PutRecords(context.Context, *sdk.PutRecordsInput, ...func(*sdk.Options)) (*sdk.PutRecordsOutput, error)
	DescribeStreamSummary(context.Context, *sdk.DescribeStreamSummaryInput, ...func(*sdk.Options)) (*sdk.DescribeStreamSummaryOutput, error)
}

const (
	connectTimeout = 5 * time.Second // far below a request's time-out, since a connection that fails is known to have sent nothing
	idleConns      = 1024            // the SDK's 10 would close and dial all the time with more requests in flight
)

// NewClient makes a client from the AWS environment: variables, shared files,
// roles, as for every AWS program. Credentials must be there, also for an emulator
// (where AWS_ACCESS_KEY_ID=test and AWS_SECRET_ACCESS_KEY=test will do), since
// every request is signed; they are asked for once, so that an error comes now.
// It sets region and endpoint, speaks HTTP/1.1, which costs less than HTTP/2 here,
// and turns the SDK's retries off, since they would send a request again behind
// the writer's back. Options come last. For a writer that has an
// [asyncsink.CredentialSource] of its own, one of them sets aws.AnonymousCredentials.
func NewClient(ctx context.Context, c Config, options ...func(*sdk.Options)) (*sdk.Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	load := []func(*config.LoadOptions) error{
		config.WithRetryMaxAttempts(1),
		config.WithHTTPClient(httpClient()),
	}
	if r := c.region(); r != "" {
		load = append(load, config.WithRegion(r))
	}
	if c.local() { // a role of this machine is not meant for an emulator, and looking for one takes seconds
		load = append(load, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("kinesis: read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, &limits.Fault{Field: "region", Value: "none", Bound: "set here, in AWS_REGION or in the profile"}
	}
	client := sdk.NewFromConfig(cfg, append([]func(*sdk.Options){func(o *sdk.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = &c.Endpoint
		}
		o.HTTPClient = steady.Body(o.HTTPClient)
	}}, options...)...)
	if p := client.Options().Credentials; p != nil {
		if _, err := p.Retrieve(ctx); err != nil {
			v, _ := classify(&credentialsError{err})
			return nil, fmt.Errorf("kinesis: %s: %w", v.advice, err)
		}
	}
	return client, nil
}

func httpClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP1(true)
		t.ForceAttemptHTTP2 = false
		t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConns, idleConns
	}).WithDialerOptions(func(d *net.Dialer) {
		d.Timeout = connectTimeout
	})
}

// local says whether the endpoint is on this machine.
func (c Config) local() bool {
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
