package kinesis

import (
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/spillway-go/spillway/asyncsink"
)

// request is the memory of one PutRecords call. It is lent from a pool: built
// anew, a request of 500 entries would cost 44 KB of garbage.
type request struct {
	input   sdk.PutRecordsInput
	entries []types.PutRecordsRequestEntry
	keys    []string // the entries point into it, so it is never grown while they do
	index   []int    // of each entry in its batch
}

var requests = sync.Pool{New: func() any { return new(request) }}

func (r *request) giveBack() {
	clear(r.entries)
	clear(r.keys)
	*r = request{entries: r.entries[:0], keys: r.keys[:0], index: r.index[:0]}
	requests.Put(r)
}

// fill takes a batch. A record that breaks a rule is rejected here: the service
// would refuse the other 499 together with it.
func (r *request) fill(b *asyncsink.Batch[Record]) {
	if n := 2 * b.Len(); cap(r.keys) < n {
		r.keys = make([]string, 0, n)
	}
	for i, rec := range b.All() {
		if err := rec.Validate(); err != nil {
			b.Set(i, asyncsink.Outcome{Kind: asyncsink.Rejected, Err: err})
			continue
		}
		e := types.PutRecordsRequestEntry{Data: rec.Data, PartitionKey: r.pointer(rec.PartitionKey)}
		if rec.Data == nil {
			e.Data = noData // the SDK leaves nil out, and the service insists on data
		}
		if rec.ExplicitHashKey != "" {
			e.ExplicitHashKey = r.pointer(rec.ExplicitHashKey)
		}
		r.entries = append(r.entries, e)
		r.index = append(r.index, i)
	}
	r.input.Records = r.entries
}

func (r *request) pointer(s string) *string {
	r.keys = append(r.keys, s)
	return &r.keys[len(r.keys)-1]
}

var noData = []byte{}
