package kinesis

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// overheard is a submitter whose outcomes are listened to.
type overheard struct {
	*Submitter
	mu       sync.Mutex
	outcomes []asyncsink.Outcome
}

func (o *overheard) Submit(ctx context.Context, b *asyncsink.Batch[Record]) error {
	err := o.Submitter.Submit(ctx, b)
	if out, ok := errors.AsType[asyncsink.Outcome](err); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.outcomes = append(o.outcomes, out)
	}
	return err
}

func TestARefusalSaysWhichGenerationOfCredentialsWasRefused(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		client := inMemory(srv, func(o *sdk.Options) { o.Credentials = aws.AnonymousCredentials{} })
		o := &overheard{Submitter: New(client, Config{Stream: "s"}, asyncsink.Unordered)}
		w, err := asyncsink.New(t.Context(), o, Traits(), asyncsink.Config{Credentials: &source{ids: []string{"old", "new"}}})
		require.NoError(t, err)
		inject(srv, "PutRecords times=1 fail ExpiredTokenException")
		inject(srv, "PutRecords nth=2 fail ThrottlingException")
		write(t, w, numbered(10, 10)...)
		finish(t, w)
		require.Len(t, o.outcomes, 2)
		require.Equal(t, asyncsink.CredentialExpired, o.outcomes[0].Kind)
		require.EqualValues(t, 7, o.outcomes[0].Generation)
		require.Equal(t, asyncsink.Throttled, o.outcomes[1].Kind)
		require.EqualValues(t, 8, o.outcomes[1].Generation, "that of the refreshed one")
	})
}
