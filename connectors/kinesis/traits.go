package kinesis

import (
	"cmp"
	"context"
	"errors"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
)

// What the service allows in one PutRecords request, from the API reference. A
// stream may allow less a record: see [Traits].
const (
	MaxEntries      limits.Entries = 500
	MaxRequestBytes                = 10 * limits.MiB // data and keys
	MaxRecordBytes                 = 10 * limits.MiB // data and key
	// defaultRecordBytes is a record's limit on a stream that does not say otherwise.
	defaultRecordBytes = limits.MiB
)

// Traits describes records and PutRecords to a writer: sizes count the key,
// order goes by the partition key, each entry of a request stands for itself. A
// record may have 1 MiB until the submitter has read the stream's own limit.
func Traits() asyncsink.Traits[Record] {
	return asyncsink.Traits[Record]{
		Size:     Record.Size,
		Key:      func(r Record) string { return r.PartitionKey },
		Codec:    Codec{},
		Data:     func(r Record) []byte { return r.Data },
		Relation: asyncsink.Independent,
		Max:      limits.Batch{Entries: MaxEntries, Bytes: MaxRequestBytes, EntryBytes: defaultRecordBytes},
	}
}

// NewWriter makes a writer for a stream: [New] and [Traits] put together. Zero
// batch limits mean what the service and the stream allow, instead of the writer's
// general defaults. All faults of both configurations come at once.
func NewWriter(ctx context.Context, client API, c Config, w asyncsink.Config) (*asyncsink.Writer[Record], error) {
	b := &w.Batch
	b.Bytes = cmp.Or(b.Bytes, MaxRequestBytes)
	b.EntryBytes = cmp.Or(b.EntryBytes, min(MaxRecordBytes, b.Bytes, cmp.Or(w.Held.Bytes, MaxRecordBytes)))
	if err := errors.Join(c.Validate(), w.Validate()); err != nil {
		return nil, err
	}
	return asyncsink.New(ctx, New(client, c, w.Order), Traits(), w)
}
