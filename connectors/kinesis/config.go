package kinesis

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/spillway-go/spillway/asyncsink/limits"
)

// Config says which stream to write to and where it is: what YAML calls
// sink.kinesis, without writer.
type Config struct {
	// Stream is the name of the stream, or its ARN, which another account's stream needs. Required.
	Stream string `yaml:"stream"`
	// Region such as us-east-1. Default: the ARN's; else what the AWS environment
	// says (AWS_REGION, or the profile).
	Region string `yaml:"region"`
	// Endpoint is a URL that takes the place of the service's own: a VPC endpoint, or
	// an emulator such as http://127.0.0.1:4567. Default: the region's.
	Endpoint string `yaml:"endpoint"`
}

var (
	streamName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`)
	streamARN  = regexp.MustCompile(`^arn:aws[a-z-]*:kinesis:([a-z0-9-]+):\d{12}:stream/[a-zA-Z0-9_.-]{1,128}$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

// Validate reports every fault that can be seen without the service, each as a
// [*limits.Fault], joined.
func (c Config) Validate() error {
	var errs []error
	fault := func(field, value, bound string) {
		if value == "" {
			value = "none"
		}
		errs = append(errs, &limits.Fault{Field: field, Value: value, Bound: bound})
	}
	inARN := ""
	switch {
	case !c.isARN():
		if !streamName.MatchString(c.Stream) {
			fault("stream", c.Stream, "the name of a stream (1 to 128 letters, digits, _ . -) or its ARN")
		}
	case streamARN.MatchString(c.Stream):
		inARN = streamARN.FindStringSubmatch(c.Stream)[1]
	default:
		fault("stream", c.Stream, "an ARN such as arn:aws:kinesis:us-east-1:123456789012:stream/orders")
	}
	switch {
	case c.Region == "":
	case !regionName.MatchString(c.Region):
		fault("region", c.Region, "the name of a region, such as us-east-1")
	case inARN != "" && inARN != c.Region:
		fault("region", c.Region, fmt.Sprintf("%s, the region of the stream's ARN, or left out", inARN))
	}
	if c.Endpoint != "" {
		if u, err := url.Parse(c.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			fault("endpoint", c.Endpoint, "a URL such as http://127.0.0.1:4567")
		}
	}
	return errors.Join(errs...)
}

func (c Config) isARN() bool { return strings.HasPrefix(c.Stream, "arn:") }

// names are the two ways in which a request may name the stream; one of them is nil.
func (c Config) names() (name, arn *string) {
	if c.isARN() {
		return nil, &c.Stream
	}
	return &c.Stream, nil
}

// region is the one that the configuration names, or "".
func (c Config) region() string {
	if m := streamARN.FindStringSubmatch(c.Stream); c.Region == "" && m != nil {
		return m[1]
	}
	return c.Region
}
