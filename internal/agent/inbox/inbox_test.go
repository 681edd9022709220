package inbox_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/agent/agenttest"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type receipts struct {
	mu   sync.Mutex
	data []map[string]any
}

func (r *receipts) Emit(eventType string, data map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data["event_type"] = eventType
	r.data = append(r.data, data)
}

func begin(t *testing.T, server *agenttest.Server, dir string) (*inbox.Inbox, *receipts, func()) {
	t.Helper()
	line, err := link.New(link.Config{APIURL: server.URL, SandboxID: "sbx"})
	require.NoError(t, err)
	rep := &receipts{}
	box, err := inbox.New(inbox.Config{
		UsedFile: filepath.Join(dir, "used"), MinBackoff: time.Millisecond, Turn: func() int { return 7 },
	}, line, rep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { box.Run(ctx); close(done) }()
	stop := sync.OnceFunc(func() { cancel(); <-done; line.Close() })
	t.Cleanup(stop)
	return box, rep, stop
}

func waitAcks(t *testing.T, server *agenttest.Server, n int) {
	t.Helper()
	server.Wait(t, func([]agenttest.Event) bool { return len(server.Acks()) >= n })
}

func TestInterruptsComeFirstAndEachMessageOnce(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.Say(
		agenttest.Message{ID: "1", Content: "hello", Type: "user_message"},
		agenttest.Message{ID: "2", Content: "nudge", Type: "guardian_nudge"},
		agenttest.Message{ID: "3", Content: "stop", Type: "interrupt"},
	)
	box, rep, _ := begin(t, server, t.TempDir())
	var got []string
	for range 3 {
		m, err := box.Take(t.Context())
		require.NoError(t, err)
		got = append(got, m.ID)
	}
	require.Equal(t, []string{"3", "1", "2"}, got)
	waitAcks(t, server, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := box.Take(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, rep.data, 3)
	require.Equal(t, "agent.message_injected", rep.data[1]["event_type"])
	require.Equal(t, "1", rep.data[1]["message_id"])
	require.Equal(t, "hello", rep.data[1]["content"])
	require.Equal(t, 5, rep.data[1]["content_length"])
	require.Equal(t, 2, rep.data[1]["intervention_number"])
	require.Equal(t, 7, rep.data[1]["turn"])
}

func TestARestartUsesNoMessageTwice(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	dir := t.TempDir()
	server.Say(agenttest.Message{ID: "1", Content: "a", Type: "user_message"})
	box, _, stop := begin(t, server, dir)
	_, err := box.Take(t.Context())
	require.NoError(t, err)
	stop() // perhaps before the plain receipt was sent: the server gives the message again

	box, rep, _ := begin(t, server, dir)
	waitAcks(t, server, 1)
	server.Say(agenttest.Message{ID: "2", Content: "b", Type: "user_message"})
	m, err := box.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", m.ID)
	require.Len(t, rep.data, 1)
}

func TestOnlyInterruptsInterrupt(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	server.Say(agenttest.Message{ID: "1", Content: "a", Type: "user_message"})
	box, _, _ := begin(t, server, t.TempDir())
	heard := make(chan string, 1)
	go func() {
		m, err := box.TakeInterrupt(context.WithoutCancel(t.Context()))
		if err == nil {
			heard <- m.ID
		}
	}()
	m, err := box.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", m.ID)
	server.Say(agenttest.Message{ID: "2", Content: "stop", Type: "interrupt"})
	require.Equal(t, "2", <-heard)
}
