package kinesistest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest/kinesissuite"
)

var alice = kinesistest.Credentials{AccessKeyID: "ALICE", SecretAccessKey: "wonderland", SessionToken: "token-1"}

// guarded is a server that lets in these credentials only.
func guarded(t *testing.T, c ...kinesistest.Credentials) *kinesistest.Server {
	return kinesistest.NewServer(t, kinesistest.Config{Streams: []kinesistest.StreamConfig{{Name: "s"}}, Credentials: c})
}

func as(id, secret, token string) func(*kinesis.Options) {
	return func(o *kinesis.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(id, secret, token) }
}

func TestTheSDKsSignatureIsVerifiedOnBothTransports(t *testing.T) {
	bob := kinesistest.Credentials{AccessKeyID: "BOB", SecretAccessKey: "builder"}
	srv := guarded(t, alice, bob)
	ts := httptest.NewServer(srv)
	defer ts.Close()
	for name, client := range map[string]func(...func(*kinesis.Options)) *kinesis.Client{
		"memory": func(o ...func(*kinesis.Options)) *kinesis.Client { return inMemory(srv, o...) },
		"socket": func(o ...func(*kinesis.Options)) *kinesis.Client { return kinesissuite.NewClient(ts.URL, o...) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				what              string
				id, secret, token string
				want              string
			}{
				{"with a session token", "ALICE", "wonderland", "token-1", ""},
				{"without one", "BOB", "builder", "", ""},
				{"wrong secret", "ALICE", "looking-glass", "token-1", "InvalidSignatureException"},
				{"wrong token", "ALICE", "wonderland", "token-2", "UnrecognizedClientException"},
				{"no token", "ALICE", "wonderland", "", "UnrecognizedClientException"},
				{"a token that nobody asked for", "BOB", "builder", "x", "UnrecognizedClientException"},
				{"unknown key", "CAROL", "singer", "", "UnrecognizedClientException"},
			} {
				_, err := put(t, client(as(c.id, c.secret, c.token)), entries("k", c.what))
				if c.want == "" {
					require.NoError(t, err, c.what)
				} else {
					requireCode(t, c.want, err)
				}
			}
		})
	}
	require.Equal(t, []string{"with a session token", "without one", "with a session token", "without one"}, stored(srv))
	require.EqualValues(t, 10, srv.Counts()["PutRecords"].Refused)
}

func TestEveryPartOfTheRequestIsCoveredByTheSignature(t *testing.T) {
	for what, change := range map[string]func(*http.Request){
		"target": func(r *http.Request) { r.Header.Set("X-Amz-Target", "Kinesis_20131202.ListStreams") },
		"host":   func(r *http.Request) { r.Host = "elsewhere" },
		"path":   func(r *http.Request) { r.URL.Path = "/other" },
		"query":  func(r *http.Request) { r.URL.RawQuery = "a=b" },
		"date": func(r *http.Request) {
			r.Header.Set("X-Amz-Date", time.Now().UTC().Add(time.Second).Format("20060102T150405Z"))
		},
		"scope": func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "us-east-1", "us-east-2", 1))
		},
		"body": func(r *http.Request) { r.Body = http.NoBody },
	} {
		t.Run(what, func(t *testing.T) {
			srv := guarded(t, alice)
			tamper := httpClient(func(r *http.Request) (*http.Response, error) {
				change(r)
				return srv.Do(r)
			})
			_, err := inMemory(srv, as("ALICE", "wonderland", "token-1"), func(o *kinesis.Options) { o.HTTPClient = tamper }).
				ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: new("s")})
			requireCode(t, "InvalidSignatureException", err)
		})
	}
}

type httpClient func(*http.Request) (*http.Response, error)

func (f httpClient) Do(r *http.Request) (*http.Response, error) { return f(r) }

func TestAHeaderThatIsNoSignatureIsRefused(t *testing.T) {
	srv := guarded(t, alice)
	const v4 = "AWS4-HMAC-SHA256 Credential="
	for header, want := range map[string]string{
		"":                         "MissingAuthenticationTokenException",
		"Basic YWxpY2U6":           "IncompleteSignatureException",
		"AWS4-HMAC-SHA256 nothing": "IncompleteSignatureException",
		v4 + "ALICE/20260101/us-east-1/kinesis, SignedHeaders=host, Signature=x":                    "IncompleteSignatureException",
		v4 + "ALICE/20260101/us-east-1/firehose/aws4_request, SignedHeaders=host, Signature=x":      "InvalidSignatureException",
		v4 + "ALICE/20260101/us-east-1/kinesis/aws4_request, SignedHeaders=x-amz-date, Signature=x": "InvalidSignatureException",
		v4 + "ALICE/20260101/us-east-1/kinesis/aws4_request, SignedHeaders=host, Signature=x":       "IncompleteSignatureException", // no date
		v4 + "NOBODY/20260101/us-east-1/kinesis/aws4_request, SignedHeaders=host, Signature=x":      "UnrecognizedClientException",
		v4 + "ALICE/20260101/us-east-1/kinesis/aws4_request, SignedHeaders=host":                    "IncompleteSignatureException",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", "Kinesis_20131202.ListStreams")
		r.Header.Set("X-Amz-Security-Token", "token-1")
		if strings.Contains(header, "NOBODY") {
			r.Header.Del("X-Amz-Security-Token")
		}
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), `"__type":"`+want+`"`, header)
	}
}

func TestCredentialsExpireAndRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := alice
		first.Expires = time.Now().Add(15 * time.Minute)
		second := alice
		second.SessionToken, second.Expires = "token-2", time.Now().Add(30*time.Minute)
		srv := guarded(t, first)
		try := func(token string) error {
			_, err := put(t, inMemory(srv, as("ALICE", "wonderland", token)), entries("k", token))
			return err
		}
		require.NoError(t, try("token-1"))
		requireCode(t, "UnrecognizedClientException", try("token-2"))

		time.Sleep(15*time.Minute - time.Second)
		srv.SetCredentials(first, second)
		require.NoError(t, try("token-1"), "the old one lives for a second yet")
		require.NoError(t, try("token-2"))

		time.Sleep(time.Second)
		e := requireCode(t, "ExpiredTokenException", try("token-1"))
		require.Equal(t, "The security token included in the request is expired", e.ErrorMessage())
		require.NoError(t, try("token-2"))

		srv.SetCredentials(second)
		requireCode(t, "UnrecognizedClientException", try("token-1"))
		srv.SetCredentials()
		require.NoError(t, try("token-3"), "without credentials everybody may pass")
	})
}

func TestARequestOfAnotherTimeIsRefused(t *testing.T) {
	for skew, want := range map[time.Duration]string{
		4 * time.Minute: "", -4 * time.Minute: "", 6 * time.Minute: "Signature expired", -6 * time.Minute: "Signature not yet current",
	} {
		srv := kinesistest.NewServer(t, kinesistest.Config{
			Credentials: []kinesistest.Credentials{alice}, Clock: func() time.Time { return time.Now().Add(skew) },
		})
		_, err := inMemory(srv, as("ALICE", "wonderland", "token-1")).ListStreams(t.Context(), &kinesis.ListStreamsInput{})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.Contains(t, requireCode(t, "InvalidSignatureException", err).ErrorMessage(), want)
	}
}
