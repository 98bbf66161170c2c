package kinesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

// Open asks the service about the stream: whether it is there and active, what a
// record may weigh, and whether it can keep the writer's order. Someone who may
// write but not describe gets the limits that every stream has, and no order.
func (s *Submitter) Open(ctx context.Context, env asyncsink.Env) error {
	if s.client == nil {
		return errors.New("kinesis: no client: make one with NewClient")
	}
	if err := s.config.Validate(); err != nil {
		return err
	}
	s.log, s.count, s.credentials.source = env.Logger, env.Count, env.Credentials
	d, err := s.describe(ctx)
	if re, ok := errors.AsType[*RequestError](err); ok && codes[re.Code] == denied && s.order == asyncsink.Unordered {
		s.log.Warn("the stream's own limits are not known: allow kinesis:DescribeStreamSummary", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if st := d.StreamStatus; st != types.StreamStatusActive && st != types.StreamStatusUpdating {
		return fmt.Errorf("kinesis stream %s is %s: start again when it is %s", s.config.Stream, st, types.StreamStatusActive)
	}
	if err := s.keepsOrder(d); err != nil {
		return err
	}
	entry := defaultRecordBytes
	if kib := aws.ToInt32(d.MaxRecordSizeInKiB); kib > 0 {
		entry = min(limits.Bytes(kib)*limits.KiB, MaxRecordBytes)
	}
	env.Tune(limits.Batch{Entries: MaxEntries, Bytes: MaxRequestBytes, EntryBytes: entry})
	s.log.Debug("stream found", "stream", s.config.Stream, "open_shards", aws.ToInt32(d.OpenShardCount), "record_limit", entry)
	return nil
}

// keepsOrder refuses an order that the stream would not keep.
func (s *Submitter) keepsOrder(d *types.StreamDescriptionSummary) error {
	refuse := func(reason string) error { return &OrderError{s.config.Stream, s.order, reason} }
	switch shards := aws.ToInt32(d.OpenShardCount); {
	case s.order == asyncsink.Unordered:
		return nil
	case d.RecordDistributionStrategy == types.RecordDistributionStrategyAuto:
		return refuse("the stream's distribution is AUTO, which ignores keys: use order unordered, or change it to USER_PARTITION_KEY")
	case s.order == asyncsink.Total && shards != 1:
		return refuse(fmt.Sprintf("it has %d open shards, which have no order among them: use order per_key, or a stream of one shard", shards))
	}
	return nil
}

// describeAttempts and describeBackoff are for the SDK's own retries, which are
// harmless here: a description may be asked for twice. The service allows 20 a second to
// all of an account's programs, so that many starts at once meet throttling.
const (
	describeAttempts = 5
	describeBackoff  = 4 * time.Second
)

func (s *Submitter) describe(ctx context.Context) (*types.StreamDescriptionSummary, error) {
	in := &sdk.DescribeStreamSummaryInput{}
	in.StreamName, in.StreamARN = s.config.names()
	for {
		ctx, a := s.credentials.begin(ctx)
		out, err := s.client.DescribeStreamSummary(ctx, in, s.signed, patient)
		if err != nil {
			if re := s.judge(err, a); re.Kind != asyncsink.CredentialExpired { // which it is once, before the refresh
				return nil, re
			}
			continue
		}
		s.credentials.proved(a)
		if out.StreamDescriptionSummary == nil {
			return nil, fmt.Errorf("kinesis stream %s: %s: its description is empty", s.config.Stream, notKinesis.advice)
		}
		return out.StreamDescriptionSummary, nil
	}
}

func patient(o *sdk.Options) {
	o.Retryer = retry.NewStandard(func(so *retry.StandardOptions) {
		so.MaxAttempts, so.MaxBackoff = describeAttempts, describeBackoff
	})
}

// watch notices, under total order, that the stream was resharded while the writer
// ran: the first record on another shard still stands behind all before it, the
// next one might not.
type watch struct {
	mu      sync.Mutex
	shard   string
	refused error
}

func (w *watch) see(stream, shard string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shard != "" && shard != w.shard {
		w.refused = &OrderError{stream, asyncsink.Total, fmt.Sprintf("it was resharded, from %s to %s: use order per_key, or a stream of one shard", w.shard, shard)}
	}
	w.shard = shard
}

func (w *watch) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}
