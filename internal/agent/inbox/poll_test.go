package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// polls answers the polls of an inbox, and records the name of each.
type polls struct {
	inbox.Line

	answers []apiclient.Answer // status 0: no answer
	names   chan string
}

func (p *polls) Get(ctx context.Context, path string, _ time.Duration) (apiclient.Answer, error) {
	asked, err := url.Parse(path)
	if err != nil {
		return apiclient.Answer{}, err
	}
	p.names <- asked.Query().Get("poll")
	if len(p.answers) == 0 {
		<-ctx.Done()
		return apiclient.Answer{}, ctx.Err()
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	if answer.Status == 0 {
		return answer, errors.New("connection reset")
	}
	return answer, nil
}

// TestRun_RepeatsPoll checks that a poll is repeated under the same name until an answer comes.
func TestRun_RepeatsPoll(t *testing.T) {
	t.Parallel()
	line := &polls{names: make(chan string, 8), answers: []apiclient.Answer{
		{}, {Status: http.StatusBadGateway}, {Status: http.StatusOK, Body: []byte("[{")}, {Status: http.StatusOK, Body: []byte("[]")},
	}}
	box, err := inbox.New(inbox.Config{MinBackoff: time.Millisecond}, line, &receipts{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { box.Run(ctx); close(done) }()
	first := <-line.names
	require.GreaterOrEqual(t, len(first), 8)
	for range 3 {
		require.Equal(t, first, <-line.names)
	}
	require.NotEqual(t, first, <-line.names)
	cancel()
	<-done
}
