package inbox_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
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
	line, err := apiclient.New(apiclient.Config{APIURL: server.URL, SandboxID: "sbx"})
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

func TestTake_InterruptsFirst(t *testing.T) {
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

func TestTake_AfterRestart(t *testing.T) {
	t.Parallel()
	server := agenttest.New(t)
	dir := t.TempDir()
	server.Say(agenttest.Message{ID: "1", Content: "a", Type: "user_message"})
	box, _, stop := begin(t, server, dir)
	_, err := box.Take(t.Context())
	require.NoError(t, err)
	box.Used("1")
	require.Equal(t, []string{"1"}, box.Answered())
	require.Equal(t, []string{}, box.Answered())
	stop() // possibly before the acknowledgement: the server repeats the message

	box, rep, _ := begin(t, server, dir)
	require.Equal(t, []string{"1"}, box.Answered(), "the event that said so may be lost")
	waitAcks(t, server, 1)
	server.Say(agenttest.Message{ID: "2", Content: "b", Type: "user_message"})
	m, err := box.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", m.ID)
	require.Len(t, rep.data, 1)
}

func TestTakeInterrupt(t *testing.T) {
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

// answers is an API whose answers to acknowledgements a test sets.
type answers struct {
	inbox.Line

	mu    sync.Mutex
	paths []string
	say   func(n int) (apiclient.Answer, error)
}

func (a *answers) Post(_ context.Context, path string, _ []byte, _ bool) (apiclient.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, path)
	return a.say(len(a.paths))
}

func (a *answers) Get(context.Context, string, time.Duration) (apiclient.Answer, error) {
	return apiclient.Answer{Status: 200, Body: []byte(`[{"id":"1","content":"a","message_type":"user_message"},{"id":"2","content":"b","message_type":"user_message"}]`)}, nil
}

func over(t *testing.T, a *answers, dir string) (*inbox.Inbox, *receipts, func()) {
	t.Helper()
	rep := &receipts{}
	box, err := inbox.New(inbox.Config{
		UsedFile: filepath.Join(dir, "used"), MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, Wait: time.Millisecond,
	}, a, rep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { box.Run(ctx); close(done) }()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return box, rep, stop
}

// TestTake_OnlyTheWinner checks that a message which another taker has won, or which has expired, is not handed out.
func TestTake_OnlyTheWinner(t *testing.T) {
	t.Parallel()
	a := &answers{say: func(n int) (apiclient.Answer, error) {
		if n == 1 {
			return apiclient.Answer{Status: 200, Body: []byte(`{"settled":false}`)}, nil
		}
		return apiclient.Answer{Status: 200, Body: []byte(`{"settled":true}`)}, nil
	}}
	box, rep, _ := over(t, a, t.TempDir())
	m, err := box.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", m.ID, "the first is another taker's")
	rep.mu.Lock()
	defer rep.mu.Unlock()
	require.Len(t, rep.data, 1)
}

// TestTake_LostAnswer checks that an acknowledgement without an answer is repeated under the same name.
func TestTake_LostAnswer(t *testing.T) {
	t.Parallel()
	a := &answers{say: func(n int) (apiclient.Answer, error) {
		switch n {
		case 1:
			return apiclient.Answer{}, errors.New("connection reset")
		case 2:
			return apiclient.Answer{Status: 503}, nil
		}
		return apiclient.Answer{Status: 200, Body: []byte(`{"settled":true}`)}, nil
	}}
	box, _, _ := over(t, a, t.TempDir())
	m, err := box.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", m.ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	require.GreaterOrEqual(t, len(a.paths), 3, "the API lists the message until a receipt arrives: each listing asks again")
	for _, path := range a.paths {
		require.Equal(t, a.paths[0], path)
	}
	require.Contains(t, a.paths[0], "/messages/1/ack?taker=")
}

// TestTake_AfterKill checks that after the kill of a process with an open acknowledgement, the next process repeats it
// under the same name.
func TestTake_AfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	asked := make(chan struct{}, 100)
	dumb := &answers{say: func(int) (apiclient.Answer, error) {
		asked <- struct{}{}
		return apiclient.Answer{}, errors.New("connection reset")
	}}
	box, rep, stop := over(t, dumb, dir)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	_, err := box.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	stop()
	require.Empty(t, rep.data)

	good := &answers{say: func(int) (apiclient.Answer, error) {
		return apiclient.Answer{Status: 200, Body: []byte(`{"settled":true}`)}, nil
	}}
	silent := &silence{good}
	again, err := inbox.New(inbox.Config{UsedFile: filepath.Join(dir, "used"), MinBackoff: time.Millisecond}, silent, rep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	m, err := again.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", m.ID, "nobody has given it again")
	require.Equal(t, "a", m.Content)
	require.Equal(t, dumb.paths[0], good.paths[0], "under the same name")
	require.False(t, m.Repeated, "nobody had it before")
}

// TestTake_RepeatsUnusedMessage checks that the next process hands out a won, unused message again and marks it,
// without another acknowledgement. A used message is not repeated.
func TestTake_RepeatsUnusedMessage(t *testing.T) {
	t.Parallel()
	dir, answered := t.TempDir(), 0
	a := &answers{say: func(n int) (apiclient.Answer, error) {
		answered = n
		return apiclient.Answer{Status: 200, Body: []byte(`{"settled":true}`)}, nil
	}}
	box, _, stop := over(t, a, dir)
	for range 2 {
		_, err := box.Take(t.Context())
		require.NoError(t, err)
	}
	box.Used("2")
	stop() // before Used of the first message

	rep := &receipts{}
	before := answered
	again, err := inbox.New(inbox.Config{UsedFile: filepath.Join(dir, "used")}, a, rep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	m, err := again.Take(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1", m.ID)
	require.Equal(t, "a", m.Content)
	require.True(t, m.Repeated)
	require.Equal(t, true, rep.data[0]["repeated"])
	require.Equal(t, before, answered)
	again.Used("1")
	third, err := inbox.New(inbox.Config{UsedFile: filepath.Join(dir, "used")}, a, rep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = third.Take(ended)
	require.ErrorIs(t, err, context.Canceled, "both are used")
}

// silence never returns messages.
type silence struct{ *answers }

func (silence) Get(ctx context.Context, _ string, _ time.Duration) (apiclient.Answer, error) {
	<-ctx.Done()
	return apiclient.Answer{}, ctx.Err()
}
