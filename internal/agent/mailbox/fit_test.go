package mailbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/mailbox"
)

// TestFit_CutsTranscript checks that the last event of a legacy worker is sent, however long its transcript is.
func TestFit_CutsTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	said := bytes.Repeat([]byte("a line of what was said\n"), 1<<20)
	coded := base64.StdEncoding.EncodeToString(said)
	body := `{"event_type":"agent.completed","event_data":{"transcript_b64":"` + coded + `","success":true}}`
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://omoi/api/v1/sandboxes/x/events?a=b", strings.NewReader(body))
		if err == nil {
			req.ContentLength = -1 // as of a worker that streams
			_, err = c.Do(req)     //nolint:bodyclose // the request is cancelled
		}
		over <- err
	}()
	carried, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(asks(t, dir, 1)[0].Request)))
	require.NoError(t, err)
	var got struct {
		Type string `json:"event_type"`
		Data struct {
			Transcript []byte `json:"transcript_b64"`
			Success    bool   `json:"success"`
		} `json:"event_data"`
	}
	require.NoError(t, json.NewDecoder(carried.Body).Decode(&got))
	require.Equal(t, "agent.completed", got.Type)
	require.True(t, got.Data.Success)
	require.True(t, bytes.HasSuffix(said, got.Data.Transcript), "the newest part")
	require.Greater(t, len(got.Data.Transcript), 10<<20)
	require.Equal(t, "b", carried.URL.Query().Get("a"))
	require.Equal(t, strconv.Itoa(len(said)-len(got.Data.Transcript)), carried.URL.Query().Get("transcript_cut_bytes"), "and the missing bytes are reported")
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
}

func TestFit_RefusesLongEvent(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	body := `{"event_type":"x","event_data":{"a":"` + strings.Repeat("x", mailbox.MaxOutbox) + `"}}`
	resp, err := c.Post("http://omoi/api/v1/sandboxes/x/events", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}
