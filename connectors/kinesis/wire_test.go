package kinesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// wire is an HTTP client that measures each PutRecords request as it leaves.
type wire struct {
	srv *kinesistest.Server
	mu  sync.Mutex
	out []measured
}

type measured struct {
	entries int
	weight  int // as the service counts: data before base64, and keys in UTF-8
	body    int
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutRecords") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var in struct {
			Records []struct {
				Data         []byte
				PartitionKey string
			}
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		m := measured{entries: len(in.Records), body: len(body)}
		for _, e := range in.Records {
			m.weight += len(e.Data) + len(e.PartitionKey)
		}
		w.mu.Lock()
		w.out = append(w.out, m)
		w.mu.Unlock()
	}
	return w.srv.Do(r)
}

// Property: the encoded request, measured on the wire, never exceeds the cap. Nor do retries,
// which are packed anew with what else waits.
func TestARequestOnTheWireNeverExceedsTheCap(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, unthrottled(2), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
				inject(srv, fmt.Sprintf("PutRecords entries share=0.3 seed=%d fail InternalFailure", seed+1))
				rnd := rand.New(rand.NewPCG(seed, 0))
				limit := limits.Batch{Entries: limits.Entries(1 + rnd.IntN(500)), Bytes: limits.Bytes(1024 + rnd.IntN(64<<10))}
				wire := &wire{srv: srv}
				client := inMemory(srv, func(o *sdk.Options) { o.HTTPClient = wire })
				w := open(t, client, asyncsink.Config{Batch: limit})
				want := randomRecords(rnd, 300, int(limit.Bytes))
				write(t, w, want...)
				finish(t, w)
				storedOnce(t, srv, want)
				require.NotEmpty(t, wire.out)
				for _, m := range wire.out {
					require.LessOrEqual(t, m.entries, int(limit.Entries))
					require.LessOrEqual(t, m.weight, int(limit.Bytes))
				}
			})
		})
	}
}

// randomRecords is records of keys from several scripts, with data of up to the whole limit.
func randomRecords(rnd *rand.Rand, n, limit int) (all []Record) {
	letters := []rune("az09é鍵😀\"\\\n<&")
	for range n {
		var key strings.Builder
		for range 1 + rnd.IntN(maxKeyCharacters) {
			key.WriteRune(letters[rnd.IntN(len(letters))])
		}
		k := key.String()
		if len(k) > limit {
			k = "short"
		}
		data := bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(1+(limit-len(k))>>rnd.IntN(12)))
		r := Record{PartitionKey: k, Data: data}
		if rnd.IntN(4) == 0 {
			r.ExplicitHashKey = fmt.Sprint(rnd.Uint64())
		}
		all = append(all, r)
	}
	return all
}
