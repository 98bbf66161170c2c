package kinesistest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func post(ctx context.Context, body string) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://kinesis.test", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Amz-Target", targetPrefix+"ListStreams")
	return r
}

func TestTheMemoryTransportAnswersLikeASocket(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	srv := NewServer(t, Config{Streams: []StreamConfig{{Name: "s"}}})
	resp, err := srv.Client().Do(post(t.Context(), "{}"))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"StreamNames":["s"],"HasMoreStreams":false}`, string(body))
	require.Equal(t, "200 OK", resp.Status)
	require.EqualValues(t, len(body), resp.ContentLength)
	require.Equal(t, contentType, resp.Header.Get("Content-Type"))
	require.NotEmpty(t, resp.Header.Get("x-amzn-RequestId"))
	require.NoError(t, resp.Body.Close())
}

func TestARequestWhoseContextHasEndedIsNotServed(t *testing.T) {
	srv := NewServer(t, Config{})
	reason := errors.New("a reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	_, err := srv.Do(post(ctx, "{}"))
	require.ErrorIs(t, err, reason)
	require.Zero(t, srv.Counts()["ListStreams"].Requests)
}

// A defect of a handler must not look like a broken connection.
func TestAPanicOfAHandlerIsSeen(t *testing.T) {
	tr := memoryTransport{http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("defect") })}
	require.PanicsWithValue(t, "defect", func() { _, _ = tr.RoundTrip(post(t.Context(), "{}")) })
}

func TestAHandlerThatWritesNothingAnswersWith200(t *testing.T) {
	tr := memoryTransport{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	resp, err := tr.RoundTrip(post(t.Context(), "{}"))
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
}

func TestWhatIsNotKinesisIsRefused(t *testing.T) {
	srv := NewServer(t, Config{})
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
		code   string
	}{
		"a GET":              {func(r *http.Request) { r.Method = http.MethodGet }, 400, "AccessDeniedException"},
		"CBOR":               {func(r *http.Request) { r.Header.Set("Content-Type", "application/x-amz-cbor-1.1") }, 400, "SerializationException"},
		"another service":    {func(r *http.Request) { r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables") }, 400, "UnknownOperationException"},
		"another operation":  {func(r *http.Request) { r.Header.Set("X-Amz-Target", targetPrefix+"SubscribeToShard") }, 400, "UnknownOperationException"},
		"no operation":       {func(r *http.Request) { r.Header.Del("X-Amz-Target") }, 400, "UnknownOperationException"},
		"no JSON":            {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("<xml/>")) }, 400, "SerializationException"},
		"a number for text":  {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"StreamName":1}`)) }, 400, "SerializationException"},
		"far too many bytes": {func(r *http.Request) { r.Body = io.NopCloser(io.LimitReader(zeros{}, maxBody+1)) }, 413, ""},
		"a charset is fine":  {func(r *http.Request) { r.Header.Set("Content-Type", contentType+"; charset=utf-8") }, 200, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header = post(t.Context(), "").Header
		c.change(r)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, name)
		require.Contains(t, w.Body.String(), c.code, name)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestABodyThatBreaksOffIsNotAnswered(t *testing.T) {
	srv := NewServer(t, Config{})
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), brokenOff{}))
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { srv.ServeHTTP(httptest.NewRecorder(), r) })
}
