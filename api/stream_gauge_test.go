package api_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
)

// ledger records what was counted, and the number of open streams.
type ledger struct {
	mu       sync.Mutex
	requests []string
	open     map[string]int
}

func (l *ledger) Route(_, pattern string) func(int, time.Duration) {
	return func(status int, _ time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.requests = append(l.requests, fmt.Sprintf("%s %d", pattern, status))
	}
}

func (l *ledger) Stream(kind string) func() {
	l.add(kind, 1)
	return func() { l.add(kind, -1) }
}

func (l *ledger) Webhook(string, string) {}

func (l *ledger) add(kind string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[kind] += n
}

func (l *ledger) counted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.requests...)
}

// stands waits until the given number of streams of each kind is open.
func (l *ledger) stands(t *testing.T, want map[string]int) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for kind, n := range want {
			if l.open[kind] != n {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}

func (w *world) watched(t *testing.T, open bool) (*world, *ledger) {
	t.Helper()
	l := &ledger{open: map[string]int{}}
	cfg := api.Config{Open: open, Organization: w.org, StreamBeat: time.Minute, LoginWait: time.Minute}
	handler := api.New(cfg, api.Deps{Ports: api.PortsOf(w.store), Bus: w.bus, Tokens: w.ring, Meter: l})
	other := *w
	other.t, other.url = t, serve(t, handler)
	return &other, l
}

func TestStreamGauge_CountsOpenStreams(t *testing.T) {
	t.Parallel()
	const ofSandbox, ofTask, ofTasks = "/api/v1/sandboxes/{sandbox_id}/stream", "/api/v1/tasks/{id}/stream", "/api/v1/tasks/stream"
	w := open(t)
	made := w.task(newTask())
	w, counts := w.watched(t, true)
	first, second := w.follow(t, wire+"b/stream"), w.follow(t, "/api/v1/tasks/"+made.ID+"/stream")
	third := w.follow(t, ofTasks)
	bus := w.socket(t, "").ready()
	counts.stands(t, map[string]int{"sandbox": 1, "task": 1, "tasks": 1, "websocket": 1})
	require.ElementsMatch(t, []string{ofSandbox + " 200", ofTask + " 200", ofTasks + " 200", "/api/v1/ws/events 101"},
		counts.counted(), "as they opened")
	w.call(http.MethodGet, wire+"b/stream?after=x", nil).refused(http.StatusUnprocessableEntity, "query.after")
	first.close()
	second.close()
	third.close()
	_ = bus.conn.CloseNow()
	counts.stands(t, map[string]int{"sandbox": 0, "task": 0, "tasks": 0, "websocket": 0})
	require.Len(t, counts.counted(), 5, "nothing is counted at the end of a stream")
}

func TestStreamGauge_RejectedWebSocketIsNotCounted(t *testing.T) {
	t.Parallel()
	w, counts := open(t).watched(t, false)
	w.socket(t, "?token=sk_live_wrong").closedWith(websocket.StatusCode(4401))
	require.Equal(t, []string{"/api/v1/ws/events 401"}, counts.counted())
	counts.stands(t, map[string]int{"websocket": 0})
}
