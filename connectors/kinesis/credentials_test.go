package kinesis

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/asyncsink/limits"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// series is a provider that hands out one of its credentials after the other, the last
// one for ever; "" means an error.
type series struct {
	mu    sync.Mutex
	ids   []string
	calls int
}

func (s *series) Retrieve(context.Context) (aws.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.ids[min(s.calls, len(s.ids)-1)]
	s.calls++
	if id == "" {
		return aws.Credentials{}, errors.New("the provider is out of order")
	}
	return aws.Credentials{AccessKeyID: id, SecretAccessKey: "secret of " + id, SessionToken: "token"}, nil
}

func login(id string, expires time.Time) kinesistest.Credentials {
	return kinesistest.Credentials{AccessKeyID: id, SecretAccessKey: "secret of " + id, SessionToken: "token", Expires: expires}
}

// signedBy is a client whose credentials come from a provider through the SDK's cache, as usual.
func signedBy(srv *kinesistest.Server, p aws.CredentialsProvider) *sdk.Client {
	return inMemory(srv, func(o *sdk.Options) { o.Credentials = aws.NewCredentialsCache(p) })
}

// Expired on the wire: the cache is invalidated once however many requests were refused, they
// go again for free, and nothing is lost.
func TestExpiredCredentialsAreRefreshedOnceAndNothingIsLost(t *testing.T) {
	bubble(t, unthrottled(2), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		srv.SetCredentials(login("old", time.Now().Add(time.Second)), login("new", time.Time{}))
		provider := &series{ids: []string{"old", "new"}}
		client := inMemory(srv, func(o *sdk.Options) {
			o.Credentials = aws.NewCredentialsCache(provider)
			o.HTTPClient = slow{srv}
		})
		w := open(t, client, asyncsink.Config{
			Batch: limits.Batch{Entries: 10}, InFlight: limits.InFlight{Floor: 160, Requests: 16},
			Retry: limits.Retry{Attempts: 1}, // a retry that cost an attempt would stop the writer
		})
		want := numbered(2000, 100)
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.Equal(t, 2, provider.calls)
		require.Greater(t, s.Connector["credentials_expired"], int64(1), "several requests were refused")
		require.Zero(t, s.PossibleDuplicates.Entries)
	})
}

// slow takes a while to reach the server, so that requests signed alike are on their way together.
type slow struct{ srv *kinesistest.Server }

func (s slow) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(300 * time.Millisecond) // virtual
	return s.srv.Do(r)
}

// Permanent only when what was obtained anew fails too, be it the same or another.
func TestCredentialsThatStayExpiredAreFatal(t *testing.T) {
	for name, ids := range map[string][]string{"the same again": {"old"}, "others, expired too": {"old", "new", "newer", "newest"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
				end := time.Now().Add(time.Second)
				srv.SetCredentials(login("old", end), login("new", end), login("newer", end), login("newest", end))
				provider := &series{ids: ids}
				w := open(t, signedBy(srv, provider), asyncsink.Config{})
				time.Sleep(2 * time.Second) // virtual
				write(t, w, numbered(10, 10)...)
				left, err := stop(t, w)
				require.Equal(t, 10, left)
				var failed *RequestError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, asyncsink.Fatal, failed.Kind)
				require.Equal(t, "ExpiredTokenException", failed.Code)
				require.ErrorContains(t, err, "renew what they come from")
				require.Equal(t, 2, provider.calls)
			})
		})
	}
}

// Read once, expired after six hours: providers are asked again, each time.
func TestCredentialsMayExpireAgainAndAgain(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		ids := []string{"a", "b", "c", "d", "e"}
		var logins []kinesistest.Credentials
		for i, id := range ids {
			logins = append(logins, login(id, time.Now().Add(time.Duration(i+1)*6*time.Hour)))
		}
		srv.SetCredentials(logins...)
		provider := &series{ids: ids}
		w := open(t, signedBy(srv, provider), asyncsink.Config{})
		want := numbered(60, 60)
		for _, r := range want[:] {
			write(t, w, r)
			time.Sleep(29 * time.Minute) // virtual; 29 hours in all
		}
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.Equal(t, 5, provider.calls)
		require.EqualValues(t, 4, s.Connector["credentials_expired"])
	})
}

// Expired when the writer starts, from a cache: refreshed as well.
func TestCredentialsThatAreExpiredAtStartAreRefreshed(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		srv.SetCredentials(login("old", time.Now()), login("new", time.Time{}))
		w := open(t, signedBy(srv, &series{ids: []string{"old", "new"}}), asyncsink.Config{})
		write(t, w, numbered(10, 10)...)
		finish(t, w)
	})
}

// A provider that fails for a while: nothing was sent, so nothing is lost and nothing is in doubt.
func TestAProviderThatFailsIsAskedAgain(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		srv.SetCredentials(login("old", time.Now().Add(time.Second)), login("new", time.Time{}))
		w := open(t, signedBy(srv, &series{ids: []string{"old", "", "", "", "new"}}), asyncsink.Config{})
		time.Sleep(2 * time.Second) // virtual
		want := numbered(10, 10)
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.Zero(t, s.PossibleDuplicates.Entries)
		require.EqualValues(t, 5, s.Requests)
	})
}

// source is a CredentialSource whose secret is the generation's.
type source struct {
	mu          sync.Mutex
	ids         []string
	generation  uint64
	invalidated []uint64
}

func (s *source) Credential(context.Context) (asyncsink.Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.ids[s.generation]
	return asyncsink.Credential{ID: id, Secret: "secret of " + id, Session: "token", Generation: s.generation + 7}, nil
}

func (s *source) Invalidate(generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidated = append(s.invalidated, generation)
	s.generation++
}

// A writer's credential source takes the place of the client's own, and learns which
// generation has expired.
func TestAWritersCredentialSourceSignsItsRequests(t *testing.T) {
	for name, own := range map[string]aws.CredentialsProvider{"none": aws.AnonymousCredentials{}, "others": &series{ids: []string{"wrong"}}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
				srv.SetCredentials(login("old", time.Now().Add(time.Second)), login("new", time.Time{}))
				src := &source{ids: []string{"old", "new"}}
				client := inMemory(srv, func(o *sdk.Options) { o.Credentials = own })
				w := open(t, client, asyncsink.Config{Credentials: src})
				time.Sleep(2 * time.Second) // virtual
				want := numbered(10, 10)
				write(t, w, want...)
				finish(t, w)
				storedOnce(t, srv, want)
				require.Equal(t, []uint64{7}, src.invalidated)
			})
		})
	}
}

// A clock that is hours wrong: the SDK learns the service's from the first refusal.
func TestAWrongClockIsCorrectedFromTheAnswer(t *testing.T) {
	c := unthrottled(1)
	var ahead time.Duration
	c.Clock = func() time.Time { return time.Now().Add(ahead) }
	bubble(t, c, func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		srv.SetCredentials(login("id", time.Time{}))
		client := inMemory(srv, func(o *sdk.Options) {
			o.Credentials = &series{ids: []string{"id"}}
			o.HTTPClient = dated{srv, c.Clock}
		})
		log := &logged{}
		w := open(t, client, asyncsink.Config{Logger: log.logger()})
		ahead = 3 * time.Hour
		want := numbered(10, 10)
		write(t, w, want...)
		s := finish(t, w)
		storedOnce(t, srv, want)
		require.EqualValues(t, 2, s.Requests)
		require.Zero(t, s.PossibleDuplicates.Entries)
		require.Len(t, log.with("this machine's clock is wrong"), 1)
	})
}

// dated adds the header that a server on a socket adds.
type dated struct {
	srv   *kinesistest.Server
	clock func() time.Time
}

func (d dated) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.srv.Do(r)
	if err == nil {
		resp.Header.Set("Date", d.clock().UTC().Format(http.TimeFormat))
	}
	return resp, err
}

// Refused while running: the writer stops, keeps what it holds and says what to do.
func TestLostPermissionStopsTheWriterWithAdvice(t *testing.T) {
	for _, tc := range []struct {
		code, says string
		requests   int
	}{
		{"AccessDeniedException", "allow kinesis:PutRecords", 1},
		{"UnrecognizedClientException", "check AWS_ACCESS_KEY_ID", 2}, // once more with credentials obtained anew
		{"InvalidSignatureException", "check AWS_SECRET_ACCESS_KEY", 1},
		{"ResourceNotFoundException", "there is no such stream", 1},
		{"KMSAccessDeniedException", "KMS key", 1},
	} {
		t.Run(tc.code, func(t *testing.T) {
			bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, client *sdk.Client) {
				inject(srv, "PutRecords fail "+tc.code)
				w := open(t, client, asyncsink.Config{})
				write(t, w, numbered(10, 10)...)
				left, err := stop(t, w)
				require.Equal(t, 10, left)
				var stopped *asyncsink.StoppedError
				require.ErrorAs(t, err, &stopped)
				require.ErrorContains(t, err, tc.says)
				require.EqualValues(t, tc.requests, srv.Counts()["PutRecords"].Requests)
			})
		})
	}
}

// A rotation that deletes the old access key is no end: the new one is asked for first.
func TestADeletedAccessKeyIsReplacedByItsSuccessor(t *testing.T) {
	bubble(t, unthrottled(1), func(t *testing.T, srv *kinesistest.Server, _ *sdk.Client) {
		srv.SetCredentials(login("old", time.Time{}), login("new", time.Time{}))
		provider := &series{ids: []string{"old", "new"}}
		w := open(t, signedBy(srv, provider), asyncsink.Config{})
		write(t, w, numbered(10, 10)...)
		_, err := w.Flush(t.Context())
		require.NoError(t, err)
		srv.SetCredentials(login("new", time.Time{})) // rotation is complete: the provider would give "new"
		write(t, w, numbered(10, 10)...)
		left, err := stop(t, w)
		require.NoError(t, err)
		require.Zero(t, left)
	})
}
