package kinesis

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// environment gives the test an AWS environment of its own, in pairs of name and value.
func environment(t *testing.T, vars ...string) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KINESIS", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CA_BUNDLE"} {
		t.Setenv(name, "")
	}
	none := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	for i := 0; i < len(vars); i += 2 {
		t.Setenv(vars[i], vars[i+1])
	}
}

// The usual environment variables and an endpoint are all that an emulator needs. Over a socket.
func TestNewClientTakesItsCredentialsFromTheEnvironment(t *testing.T) {
	environment(t, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "SECRET")
	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams:     []kinesistest.StreamConfig{{Name: "s"}},
		Credentials: []kinesistest.Credentials{{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}},
	})
	socket := httptest.NewServer(srv)
	defer socket.Close()
	c := Config{Stream: "s", Region: "us-east-1", Endpoint: socket.URL}
	client, err := NewClient(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 1, client.Options().RetryMaxAttempts)
	require.Equal(t, 1, client.Options().Retryer.MaxAttempts())
	w, err := NewWriter(t.Context(), client, c, asyncsink.Config{})
	require.NoError(t, err)
	want := numbered(100, 10)
	write(t, w, want...)
	finish(t, w)
	storedOnce(t, srv, want)
}

func TestNewClientWithoutCredentialsSaysWhatToSet(t *testing.T) {
	environment(t)
	_, err := NewClient(t.Context(), Config{Stream: "s", Region: "us-east-1", Endpoint: "http://127.0.0.1:4567"})
	require.ErrorContains(t, err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	require.Equal(t, 1, strings.Count(err.Error(), "set AWS_ACCESS_KEY_ID"))
}

func TestNewClientWithoutARegionSaysWhereToSetIt(t *testing.T) {
	environment(t, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "SECRET")
	_, err := NewClient(t.Context(), Config{Stream: "s", Endpoint: "http://127.0.0.1:4567"})
	require.EqualError(t, err, "region: none: must be set here, in AWS_REGION or in the profile")
	require.ErrorAs(t, err, new(*limits.Fault))
}

func TestNewClientFindsTheRegion(t *testing.T) {
	environment(t, "AWS_ACCESS_KEY_ID", "AKID", "AWS_SECRET_ACCESS_KEY", "SECRET", "AWS_REGION", "ap-south-1")
	for want, c := range map[string]Config{
		"ap-south-1": {Stream: "s"}, "us-east-1": {Stream: "s", Region: "us-east-1"}, "eu-west-1": {Stream: someARN},
	} {
		client, err := NewClient(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, want, client.Options().Region)
	}
}

// A writer that reads its credentials from a source of its own needs none in the environment.
func TestNewClientMayBeAnonymous(t *testing.T) {
	environment(t)
	_, err := NewClient(t.Context(), Config{Stream: "s", Region: "us-east-1", Endpoint: "http://127.0.0.1:4567"},
		func(o *sdk.Options) { o.Credentials = aws.AnonymousCredentials{} })
	require.NoError(t, err)
}

func TestNewClientRefusesAFaultyConfig(t *testing.T) {
	_, err := NewClient(t.Context(), Config{})
	require.ErrorAs(t, err, new(*limits.Fault))
}

func TestAnEndpointOnThisMachineIsKnown(t *testing.T) {
	for endpoint, local := range map[string]bool{
		"http://127.0.0.1:4567": true, "http://localhost": true, "https://[::1]:1": true, "http://127.9.9.9": true,
		"": false, "https://kinesis.us-east-1.amazonaws.com": false, "http://10.0.0.1": false, ":": false,
	} {
		require.Equal(t, local, Config{Endpoint: endpoint}.local(), endpoint)
	}
}
