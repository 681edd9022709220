package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

// legacyClient sends the requests of a script of OmoiOS, with /legacy in its base address.
type legacyClient struct {
	r   *rig
	key string // empty: none
}

func (c legacyClient) base() string { return c.r.api.BaseURL() + "/legacy" }

// ask200 sends a request. The scripts accept the status 200 only.
func ask200[T any](c legacyClient, method, path string, in any) (out T) {
	c.r.t.Helper()
	var body io.Reader = http.NoBody
	if in != nil {
		raw, err := json.Marshal(in)
		require.NoError(c.r.t, err)
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, c.base()+path, body)
	require.NoError(c.r.t, err)
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	bare := &http.Transport{DisableKeepAlives: true} // the events of a legacy worker differ from the document
	res, err := bare.RoundTrip(req)
	require.NoError(c.r.t, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(c.r.t, err)
	require.Equal(c.r.t, http.StatusOK, res.StatusCode, "%s %s: %s", method, path, raw)
	require.NoError(c.r.t, json.Unmarshal(raw, &out))
	return out
}

// frames are those of the WebSocket that a script of OmoiOS opens.
type frames struct {
	mu   sync.Mutex
	seen []map[string]any
}

// watches opens the WebSocket as the script: no login, no filter, then a subscription to three names.
func (c legacyClient) watches() *frames {
	c.r.t.Helper()
	url := strings.Replace(c.base(), "http", "ws", 1) + "/api/v1/ws/events"
	conn, res, err := websocket.Dial(context.Background(), url, nil)
	require.NoError(c.r.t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	require.NoError(c.r.t, wsjson.Write(context.Background(), conn, map[string]any{
		"type": "subscribe", "event_types": []string{"TASK_ASSIGNED", "TASK_COMPLETED", "AGENT_REGISTERED"},
	}))
	f, done := &frames{}, make(chan struct{})
	go func() {
		defer close(done)
		for {
			var frame map[string]any
			if wsjson.Read(context.Background(), conn, &frame) != nil {
				return
			}
			f.mu.Lock()
			f.seen = append(f.seen, frame)
			f.mu.Unlock()
		}
	}()
	c.r.t.Cleanup(func() {
		_ = conn.CloseNow()
		<-done
	})
	c.r.eventually("the subscription is confirmed", func() bool {
		return slices.ContainsFunc(f.all(), func(frame map[string]any) bool {
			return frame["status"] == "subscribed" && len(frame["filters"].(map[string]any)["event_types"].([]any)) == 3
		})
	})
	return f
}

func (f *frames) all() []map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// tells reports whether a frame of a name about an entity came, in the form that the script prints.
func (f *frames) tells(name, entity string) bool {
	return slices.ContainsFunc(f.all(), func(frame map[string]any) bool {
		_, payload := frame["payload"].(map[string]any)
		return frame["event_type"] == name && frame["entity_type"] == "task" && frame["entity_id"] == entity && payload
	})
}

// oldSystem answers a worker as OmoiOS does, and keeps the types of its events.
type oldSystem struct {
	url string

	mu   sync.Mutex
	said []string
}

func newOldSystem(t *testing.T) *oldSystem {
	t.Helper()
	s, routes := &oldSystem{}, http.NewServeMux()
	routes.HandleFunc("POST /api/v1/sandboxes/{box}/events", func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Type string `json:"event_type"`
		}
		if json.NewDecoder(r.Body).Decode(&event) != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		s.mu.Lock()
		s.said = append(s.said, event.Type)
		s.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"status":"received","sandbox_id":%q,"event_type":%q,"event_id":null,"timestamp":"2026-01-02T03:04:05+00:00"}`,
			r.PathValue("box"), event.Type)
	})
	routes.HandleFunc("GET /api/v1/sandboxes/{box}/messages", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// count returns how many events of a type came.
func (s *oldSystem) count(kind string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, said := range s.said {
		if said == kind {
			n++
		}
	}
	return n
}
