package mailbox_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/mailbox"
)

// asks waits until the outbox has n requests, and returns them.
func asks(t *testing.T, dir string, n int) []mailbox.Ask {
	t.Helper()
	var list []mailbox.Ask
	require.Eventually(t, func() bool {
		file, err := os.Open(mailbox.Outbox(dir))
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		list, err = mailbox.Read(file)
		require.NoError(t, err)
		return len(list) == n
	}, time.Minute, time.Millisecond)
	return list
}

func open(t *testing.T, dir string) *http.Client {
	t.Helper()
	transport, err := mailbox.Open(filepath.Join(dir, "post"))
	require.NoError(t, err)
	return &http.Client{Transport: transport}
}

func ask(ctx context.Context, c *http.Client) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://omoi/x", strings.NewReader("question"))
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return string(text), err
}

// TestRoundTrip_IncompleteAnswer checks that an incomplete response is not returned.
func TestRoundTrip_IncompleteAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	heard := make(chan string, 1)
	go func() {
		text, err := ask(t.Context(), c)
		if err != nil {
			text = err.Error()
		}
		heard <- text
	}()
	one := asks(t, dir, 1)[0]
	require.Contains(t, string(one.Request), "question")
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer"
	for n := 10; ; n += 10 {
		part := answer[:min(n, len(answer))]
		path := mailbox.Answer(dir, one.ID)
		require.NoError(t, os.WriteFile(path+".part", []byte(part), 0o600))
		require.NoError(t, os.Rename(path+".part", path))
		if len(part) == len(answer) {
			break
		}
	}
	require.Equal(t, "answer", <-heard)
	require.Empty(t, asks(t, dir, 0))
}

// TestRoundTrip_RemovesAbandonedRequests checks that a cancelled request and a dead process leave no files.
func TestRoundTrip_RemovesAbandonedRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	late := strings.Repeat("L", 26)
	require.NoError(t, os.WriteFile(mailbox.Answer(dir, late), nil, 0o600))
	require.NoError(t, os.WriteFile(mailbox.Answer(dir, ".being-written"), nil, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := ask(ctx, c)
		over <- err
	}()
	asks(t, dir, 1)
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
	require.Empty(t, asks(t, dir, 0))
	require.NoFileExists(t, mailbox.Answer(dir, late))
	require.FileExists(t, mailbox.Answer(dir, ".being-written"))
	open(t, dir)
	require.NoFileExists(t, mailbox.Answer(dir, ".being-written"))
}

// TestRoundTrip_FullOutbox checks that further requests wait.
func TestRoundTrip_FullOutbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	const more = mailbox.MaxAsks + 5
	over := make(chan error, more)
	for range more {
		go func() {
			_, err := ask(ctx, c)
			over <- err
		}()
	}
	asks(t, dir, mailbox.MaxAsks)
	cancel()
	for range more {
		require.ErrorIs(t, <-over, context.Canceled)
	}
}

// TestRoundTrip_TooLong checks that a request which is too long is answered like by the API, and that the outbox stays
// readable.
func TestRoundTrip_TooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := open(t, dir)
	resp, err := c.Post("http://omoi/x", "application/json", strings.NewReader(strings.Repeat("x", mailbox.MaxOutbox)))
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	require.Contains(t, string(text), `"code":"invalid"`)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	half := strings.NewReader(strings.Repeat("x", mailbox.MaxOutbox/3*2))
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://omoi/x", half)
		if err == nil {
			_, err = c.Do(req) //nolint:bodyclose // the request is cancelled
		}
		over <- err
	}()
	asks(t, dir, 1)
	_, err = c.Post("http://omoi/x", "application/json", strings.NewReader(strings.Repeat("x", mailbox.MaxOutbox/3))) //nolint:bodyclose // the request is refused
	require.ErrorContains(t, err, "the outbox is full")
	asks(t, dir, 1)
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
}
