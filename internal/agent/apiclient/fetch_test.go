package apiclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
)

func TestFetch_TheTimeoutOfARequestDoesNotLimitADownload(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 8<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(large)) }))
	t.Cleanup(server.Close)
	line, err := apiclient.New(apiclient.Config{APIURL: server.URL, SandboxID: "box", Timeout: 1})
	require.NoError(t, err)
	t.Cleanup(line.Close)
	_, err = line.Get(t.Context(), "/messages", 0)
	require.Error(t, err)
	var got strings.Builder
	answer, err := line.Fetch(t.Context(), "/checkpoints/1.1/pack", &got)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status)
	require.Equal(t, len(large), got.Len())
}
