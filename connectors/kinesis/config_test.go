package kinesis

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

const someARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"

func TestConfigsThatAreInOrder(t *testing.T) {
	for _, c := range []Config{
		{Stream: "orders"},
		{Stream: "a.B_c-9", Region: "us-east-1", Endpoint: "http://127.0.0.1:4567"},
		{Stream: strings.Repeat("s", 128), Endpoint: "https://vpce-1.kinesis.eu-west-1.vpce.amazonaws.com"},
		{Stream: someARN},
		{Stream: someARN, Region: "eu-west-1"},
		{Stream: "arn:aws-us-gov:kinesis:us-gov-west-1:123456789012:stream/s"},
	} {
		require.NoError(t, c.Validate(), "%+v", c)
	}
}

func TestEveryFaultOfAConfigIsReported(t *testing.T) {
	for _, tc := range []struct {
		c      Config
		faults []string
	}{
		{Config{}, []string{"stream: none: must be the name"}},
		{Config{Stream: "a/b", Region: "US East", Endpoint: "127.0.0.1:4567"}, []string{"stream: a/b: must", "region: US East: must", "endpoint: 127.0.0.1:4567: must be a URL"}},
		{Config{Stream: strings.Repeat("s", 129)}, []string{"stream: sss"}},
		{Config{Stream: "arn:aws:s3:::bucket"}, []string{"stream: arn:aws:s3:::bucket: must be an ARN such as"}},
		{Config{Stream: someARN, Region: "us-east-1"}, []string{"region: us-east-1: must be eu-west-1"}},
		{Config{Stream: "s", Endpoint: "ftp://host"}, []string{"endpoint: ftp://host"}},
		{Config{Stream: "s", Endpoint: "http://"}, []string{"endpoint: http://: must"}},
	} {
		err := tc.c.Validate()
		require.Error(t, err)
		for _, f := range tc.faults {
			require.ErrorContains(t, err, f)
		}
		require.Len(t, strings.Split(err.Error(), "\n"), len(tc.faults))
		var fault *limits.Fault
		require.ErrorAs(t, err, &fault)
	}
}

func TestConfigReadsYAML(t *testing.T) {
	var c Config
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(`{stream: s, region: us-east-1, endpoint: "http://127.0.0.1:4567"}`), &c, yaml.Strict()))
	require.Equal(t, Config{Stream: "s", Region: "us-east-1", Endpoint: "http://127.0.0.1:4567"}, c)
}

func TestTheRegionComesFromTheConfigOrTheARN(t *testing.T) {
	require.Equal(t, "eu-west-1", Config{Stream: someARN}.region())
	require.Equal(t, "us-east-1", Config{Stream: "s", Region: "us-east-1"}.region())
	require.Empty(t, Config{Stream: "s"}.region())
}
