package kinesis

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unthrottled is a server with a stream "s" whose shards take everything.
func unthrottled(shards int) kinesistest.Config {
	return kinesistest.Config{
		Streams:          []kinesistest.StreamConfig{{Name: "s", Shards: shards}},
		RecordsPerSecond: kinesistest.Unlimited, BytesPerSecond: kinesistest.Unlimited,
	}
}

// bubble runs a test in virtual time, with the real SDK's client over a server in
// memory. The client is as an app would make it: with the SDK's retries on.
func bubble(t *testing.T, c kinesistest.Config, f func(t *testing.T, srv *kinesistest.Server, client *sdk.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv := kinesistest.NewServer(t, c)
		f(t, srv, inMemory(srv))
	})
}

func inMemory(srv *kinesistest.Server, change ...func(*sdk.Options)) *sdk.Client {
	return sdk.New(sdk.Options{
		Region: "us-east-1", Credentials: awscredentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), HTTPClient: srv,
	}, change...)
}

// open makes a writer to stream "s".
func open(t *testing.T, client API, w asyncsink.Config) *asyncsink.Writer[Record] {
	t.Helper()
	if w.Seed == 0 {
		w.Seed = 1
	}
	writer, err := NewWriter(t.Context(), client, Config{Stream: "s"}, w)
	require.NoError(t, err)
	return writer
}

func write(t *testing.T, w *asyncsink.Writer[Record], records ...Record) {
	t.Helper()
	for _, r := range records {
		_, err := w.Write(t.Context(), r)
		require.NoError(t, err)
	}
}

// finish closes a writer, which must have nothing left, and returns what it did.
func finish(t *testing.T, w *asyncsink.Writer[Record]) asyncsink.Stats {
	t.Helper()
	left, err := w.Close(t.Context())
	require.NoError(t, err)
	require.Nil(t, left)
	s := w.Stats()
	require.Equal(t, s.Accepted.Entries+s.Restored.Entries, s.Delivered.Entries+s.Dead.Entries, "%+v", s)
	return s
}

// stop closes a writer that can't finish.
func stop(t *testing.T, w *asyncsink.Writer[Record]) (left int, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	snapshot, err := w.Close(ctx)
	if snapshot != nil {
		left = snapshot.Len()
		snapshot.Close()
	}
	return left, err
}

// numbered is n records with the keys k0 to k(keys-1) in turn, and their number as data.
func numbered(n, keys int) []Record {
	all := make([]Record, n)
	for i := range all {
		all[i] = Record{PartitionKey: fmt.Sprintf("k%d", i%keys), Data: fmt.Appendf(nil, "%06d", i)}
	}
	return all
}

// storedOnce requires that the stream holds each record once and nothing else.
func storedOnce(t *testing.T, srv *kinesistest.Server, want []Record) {
	t.Helper()
	require.Empty(t, surplus(t, srv, want))
}

// surplus requires that the stream holds each record, and returns how many copies too many there are.
func surplus(t *testing.T, srv *kinesistest.Server, want []Record) map[string]int {
	t.Helper()
	count := map[string]int{}
	for r := range srv.All("s") {
		count[r.PartitionKey+" "+r.ExplicitHashKey+" "+string(r.Data)]++
	}
	for _, r := range want {
		k := r.PartitionKey + " " + r.ExplicitHashKey + " " + string(r.Data)
		require.Positive(t, count[k], "not stored: %s", k)
		if count[k]--; count[k] == 0 {
			delete(count, k)
		}
	}
	return count
}

// graveyard is a dead-letter output in memory.
type graveyard struct {
	mu      sync.Mutex
	letters []asyncsink.DeadLetter
}

func (g *graveyard) Write(_ context.Context, l []asyncsink.DeadLetter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letters = append(g.letters, l...)
	return nil
}

func inject(srv *kinesistest.Server, faults ...string) {
	for _, f := range faults {
		srv.Inject(kinesistest.MustParseFault(f))
	}
}

// struck requires that every fault has struck.
func struck(t *testing.T, srv *kinesistest.Server) {
	t.Helper()
	for _, f := range srv.Faults() {
		require.Positive(t, f.Hits, "%v has not struck", f.Fault)
	}
}
