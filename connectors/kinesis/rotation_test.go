package kinesis

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spillway-go/spillway/asyncsink"
	"github.com/spillway-go/spillway/connectors/kinesis/kinesistest"
)

// A token in a file, as a cluster mounts it for a container, is read again for each refresh: who rotates it
// restarts nothing. Over sockets, through the SDK's own chain of providers.
func TestARotatedTokenFileIsPickedUp(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	rotate := func(content string) { require.NoError(t, os.WriteFile(token, []byte(content), 0o600)) }
	rotate("first")
	logins := map[string]string{"first": "old", "second": "new"} // what the agent gives for a token
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := logins[r.Header.Get("Authorization")]
		if id == "" {
			http.Error(w, "no such token", http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":"secret of %s","Token":"token","Expiration":"2100-01-01T00:00:00Z"}`, id, id)
	}))
	defer agent.Close()
	environment(t, "AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)

	srv := kinesistest.NewServer(t, kinesistest.Config{
		Streams:     []kinesistest.StreamConfig{{Name: "s"}},
		Credentials: []kinesistest.Credentials{login("old", time.Time{})},
	})
	socket := httptest.NewServer(srv)
	defer socket.Close()
	c := Config{Stream: "s", Region: "us-east-1", Endpoint: socket.URL}
	client, err := NewClient(t.Context(), c)
	require.NoError(t, err)
	w, err := NewWriter(t.Context(), client, c, asyncsink.Config{})
	require.NoError(t, err)
	want := numbered(20, 10)
	write(t, w, want[:10]...)
	_, err = w.Flush(t.Context())
	require.NoError(t, err)

	rotate("second")
	srv.SetCredentials(login("old", time.Now().Add(-time.Hour)), login("new", time.Time{}))
	write(t, w, want[10:]...)
	s := finish(t, w)
	storedOnce(t, srv, want)
	require.EqualValues(t, 1, s.Connector["credentials_expired"])
	require.Zero(t, s.PossibleDuplicates.Entries)
}
