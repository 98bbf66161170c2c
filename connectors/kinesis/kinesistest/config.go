package kinesistest

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Unlimited, as a limit of [Config], turns the limit off.
const Unlimited = -1

// The service's limits of today, from the documentation of the AWS SDK.
const (
	MaxEntries          = 500      // entries of a PutRecords request
	MaxRequestBytes     = 10 << 20 // data and keys of a PutRecords request
	MaxKeyChars         = 256      // Unicode code points of a partition key
	DefaultMaxRecordKiB = 1024     // data and key of a record, unless the stream says more
	LargestMaxRecordKiB = 10240    // the most that a stream may say
	ShardRecords        = 1000     // records a second and shard
	ShardBytes          = 1 << 20  // bytes a second and shard, data and keys
)

// Config describes a Server. The zero value is the service as it is: real limits, any credentials, no stream yet.
type Config struct {
	// Region and Account appear in ARNs and messages; Account has twelve digits. Defaults: us-east-1 and
	// 000000000000.
	Region, Account string
	// Streams exist from the start, ACTIVE whatever StatusDelay says.
	Streams []StreamConfig
	// RecordsPerSecond limits each shard. 0: [ShardRecords]. Negative ([Unlimited]): no limit.
	RecordsPerSecond int
	// BytesPerSecond limits each shard; data and key count. 0: [ShardBytes]. Negative ([Unlimited]): no limit.
	BytesPerSecond int
	// ShardLimit is the account's limit of open shards over all streams. Past it, CreateStream, SplitShard and
	// UpdateShardCount answer LimitExceededException. 0: no limit.
	ShardLimit int
	// StatusDelay is how long a stream stays CREATING after CreateStream and UPDATING after a reshard. 0: it is
	// ACTIVE at once. A stream that is CREATING refuses reads and writes; one that is UPDATING takes them, and
	// shows its new shards already.
	StatusDelay time.Duration
	// Credentials, when given, are the only ones that are let in: each request's signature (AWS Signature Version 4),
	// session token, expiry and date are checked. None: every request is let in, signed or not.
	Credentials []Credentials
	// Clock is asked for the time once a request, and again after a delay. nil: [time.Now], which inside a
	// synctest bubble is the bubble's time. Delays of faults do not use it: they wait for real, or in the
	// bubble's time.
	Clock func() time.Time
}

// StreamConfig describes a stream.
type StreamConfig struct {
	// Name: 1 to 128 letters, digits and _ . -
	Name string
	// Shards is the number of open shards, equal in size. 0: 1.
	Shards int
	// MaxRecordKiB is the largest record, data and key, in KiB: 1024 to 10240. 0: 1024.
	MaxRecordKiB int
	// Auto makes an on-demand stream with the AUTO distribution strategy: partition keys and explicit hash keys
	// are ignored, and the shards take records in turn.
	Auto bool
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kinesistest: "+format, args...)) }
	if c.Region != "" && !regionRegexp.MatchString(c.Region) {
		add("Region: %q: must be letters, digits and hyphens", c.Region)
	}
	if c.Account != "" && !accountRegexp.MatchString(c.Account) {
		add("Account: %q: must be twelve digits", c.Account)
	}
	if c.ShardLimit < 0 {
		add("ShardLimit: %d: must not be negative", c.ShardLimit)
	}
	if c.StatusDelay < 0 {
		add("StatusDelay: %s: must not be negative", c.StatusDelay)
	}
	seen := map[string]bool{}
	shards := 0
	for i, s := range c.Streams {
		if err := s.validate(fmt.Sprintf("kinesistest: Streams[%d]", i)); err != nil {
			errs = append(errs, err)
		}
		if seen[s.Name] {
			add("Streams[%d].Name: %q: there are two of that name", i, s.Name)
		}
		seen[s.Name] = true
		shards += max(s.Shards, 1)
	}
	if c.ShardLimit > 0 && shards > c.ShardLimit {
		add("Streams: %d shards: more than ShardLimit, %d", shards, c.ShardLimit)
	}
	for i, cr := range c.Credentials {
		if cr.AccessKeyID == "" || cr.SecretAccessKey == "" {
			add("Credentials[%d]: needs an AccessKeyID and a SecretAccessKey", i)
		}
	}
	return errors.Join(errs...)
}

// Validate reports every fault at once.
func (s StreamConfig) Validate() error { return s.validate("kinesistest: stream") }

func (s StreamConfig) validate(where string) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(where+format, args...)) }
	if !validName(s.Name) {
		add(".Name: %q: must be 1 to 128 letters, digits and _ . -", s.Name)
	}
	if s.Shards < 0 || s.Shards > maxShards {
		add(".Shards: %d: must be 0 (for 1) to %d", s.Shards, maxShards)
	}
	if s.MaxRecordKiB != 0 && (s.MaxRecordKiB < DefaultMaxRecordKiB || s.MaxRecordKiB > LargestMaxRecordKiB) {
		add(".MaxRecordKiB: %d: must be 0 (for %d) or %d to %d",
			s.MaxRecordKiB, DefaultMaxRecordKiB, DefaultMaxRecordKiB, LargestMaxRecordKiB)
	}
	return errors.Join(errs...)
}

const maxShards = 10000 // of a stream

var (
	nameRegexp    = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)
	regionRegexp  = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)
	accountRegexp = regexp.MustCompile(`^\d{12}$`)
)

func validName(s string) bool { return len(s) <= 128 && nameRegexp.MatchString(s) }

func orDefault(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
