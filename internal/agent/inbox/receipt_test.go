package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
)

// stuckReceipt is an API that repeats message x. The first acknowledgement is lost, and each later one fails. With the
// second one an interrupt arrives.
type stuckReceipt struct {
	mu       sync.Mutex
	receipts int
}

func (s *stuckReceipt) Get(context.Context, string, time.Duration) (apiclient.Answer, error) {
	<-time.After(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := `{"id":"x","content":"a","message_type":"user_message"}`
	if s.receipts > 1 {
		list += `,{"id":"y","content":"stop","message_type":"interrupt"}`
	}
	return apiclient.Answer{Status: http.StatusOK, Body: []byte("[" + list + "]")}, nil
}

func (s *stuckReceipt) Post(_ context.Context, path string, _ []byte, _ bool) (apiclient.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.receipts++; s.receipts == 1 || path[:len("/messages/y")] == "/messages/y" {
		return apiclient.Answer{Status: http.StatusOK, Body: []byte(`{"settled":true}`)}, nil
	}
	return apiclient.Answer{}, errors.New("connection reset")
}

// TestRun_PollsOnBesideAReceiptThatFails checks that a failing acknowledgement does not block other messages.
func TestRun_PollsOnBesideAReceiptThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, err := inbox.New(inbox.Config{}, &stuckReceipt{}, mute{}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		over := make(chan struct{})
		go func() { defer close(over); box.Run(ctx) }()
		m, err := box.Take(ctx)
		require.NoError(t, err)
		box.Used(m.ID)
		m, err = box.TakeInterrupt(ctx)
		require.NoError(t, err)
		require.Equal(t, "y", m.ID)
		cancel()
		<-over
	})
}
