package kinesis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"github.com/spillway-go/spillway/asyncsink"
)

// Submitter sends batches with PutRecords. Make it with [New]; [NewWriter] does
// so. Its methods may be called by many goroutines at once, Open before the others.
type Submitter struct {
	client      API
	config      Config
	order       asyncsink.Order
	credentials credentials
	options     []func(*sdk.Options) // of each PutRecords call
	reshard     watch

	log   *slog.Logger
	count func(name string, n int64)
}

var (
	_ asyncsink.RequestSubmitter[Record] = (*Submitter)(nil)
	_ asyncsink.Opener                   = (*Submitter)(nil)
)

// New returns a submitter for a writer of that order. However the client was
// made, the SDK's retries are off for its PutRecords calls.
func New(client API, c Config, order asyncsink.Order) *Submitter {
	s := &Submitter{
		client: client, config: c, order: order,
		log: slog.New(slog.DiscardHandler), count: func(string, int64) {},
	}
	if c, ok := client.(interface{ Options() sdk.Options }); ok {
		s.credentials.provider = c.Options().Credentials
	}
	s.options = []func(*sdk.Options){s.signed, func(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }}
	return s
}

// signed puts the submitter's credentials in place of the client's.
func (s *Submitter) signed(o *sdk.Options) {
	if s.credentials.provider != nil || s.credentials.source != nil {
		o.Credentials = &s.credentials
	}
}

// Submit sends one PutRecords request, once, and gives each entry its outcome.
// The error, if any, is an [asyncsink.Outcome] around a [*RequestError].
func (s *Submitter) Submit(ctx context.Context, b *asyncsink.Batch[Record]) error {
	if err := s.reshard.err(); err != nil {
		return asyncsink.Outcome{Kind: asyncsink.Fatal, Err: err}
	}
	r := requests.Get().(*request)
	defer r.giveBack()
	if r.fill(b); len(r.entries) == 0 {
		return nil
	}
	r.input.StreamName, r.input.StreamARN = s.config.names()
	ctx, a := s.credentials.begin(ctx)
	out, err := s.client.PutRecords(ctx, &r.input, s.options...)
	if err != nil {
		return s.failed(err, a)
	}
	s.credentials.proved(a)
	return s.book(b, r.index, out)
}

// failed is the outcome of a request that was not answered with success.
func (s *Submitter) failed(err error, a *attempt) error {
	re := s.judge(err, a)
	s.log.Warn("PutRecords failed", "kind", re.Kind, "error", re)
	return asyncsink.Outcome{Kind: re.Kind, Err: re, After: retryAfter(err), Generation: a.generation}
}

// judge classifies a failed call, and has expired credentials obtained anew.
func (s *Submitter) judge(err error, a *attempt) *RequestError {
	v, code := classify(err)
	if v.kind == asyncsink.CredentialExpired {
		s.count("credentials_expired", 1)
		switch known := v != deletedKey; {
		case s.credentials.expired(a):
		case known:
			v = stillExpired
		default:
			v = unknownKey
		}
	}
	return &RequestError{Stream: s.config.Stream, Kind: v.kind, Code: code, Advice: v.advice, Err: err}
}

// book gives each entry the outcome that the answer has for it, by its index.
func (s *Submitter) book(b *asyncsink.Batch[Record], index []int, out *sdk.PutRecordsOutput) error {
	if len(out.Records) != len(index) {
		s.count("unclear_answers", 1)
		err := fmt.Errorf("kinesis stream %s: %w: %d records were sent and %d are answered",
			s.config.Stream, ErrAnswer, len(index), len(out.Records))
		s.log.Error("PutRecords succeeded with an answer that can't be used", "error", err)
		return asyncsink.Outcome{Kind: asyncsink.Ambiguous, Err: err}
	}
	stored, throttled, unclear := 0, 0, 0
	var last error
	for i := range out.Records {
		res := &out.Records[i]
		switch code := aws.ToString(res.ErrorCode); {
		case code != "":
			last = &EntryError{Code: code, Message: aws.ToString(res.ErrorMessage)}
			kind := entryVerdict(code).kind
			if kind == asyncsink.Throttled {
				throttled++
			}
			b.Set(index[i], asyncsink.Outcome{Kind: kind, Err: last})
		case aws.ToString(res.SequenceNumber) == "":
			unclear++
			last = fmt.Errorf("kinesis stream %s: %w: it has neither a sequence number nor an error code", s.config.Stream, ErrAnswer)
			b.Set(index[i], asyncsink.Outcome{Kind: asyncsink.Ambiguous, Err: last})
		default:
			stored++
			if s.order == asyncsink.Total {
				s.reshard.see(s.config.Stream, aws.ToString(res.ShardId))
			}
		}
	}
	if unclear > 0 {
		s.count("unclear_answers", 1)
	}
	if stored == 0 {
		s.count("nothing_stored", 1)
		if throttled < len(index) { // a small request to a throttled shard is nothing to tell
			s.log.Warn("PutRecords succeeded and stored nothing", "entries", len(index), "error", last)
		}
	}
	return nil
}
