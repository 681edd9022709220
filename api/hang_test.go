package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/task"
)

// A database that accepts queries and does not answer them blocks no caller for ever.
func TestHangingDatabase_CallerGetsAnError(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	hasty := startOn(t, w.pool, w.bus,
		func(c *api.Config) { c.Open, c.MaxWait, c.Patience = true, time.Millisecond, 100*time.Millisecond })
	lock, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Rollback(t.Context())) }()
	_, err = lock.Exec(t.Context(),
		`LOCK TABLE api_keys, tasks, sandboxes, messages, sandbox_events IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/tasks"},
		{http.MethodPost, "/api/v1/tasks"},
		{http.MethodGet, "/api/v1/sandboxes/" + box + "/events"},
		{http.MethodGet, "/api/v1/sandboxes/" + box + "/messages?wait=1s"},
		{http.MethodGet, "/api/v1/sandboxes/" + box + "/stream"},
	} {
		var body any
		if c.method == http.MethodPost {
			body = newTask()
		}
		got := hasty.call(c.method, c.path, body)
		require.Equal(t, task.KindTimeout, got.refused(http.StatusServiceUnavailable, "").Code, c.path)
		require.NotEmpty(t, got.header.Get("Retry-After"), c.path)
	}
}

// A filter may name more sandboxes than fit into the default maximum of a frame.
func TestWebSocket_AcceptsLongFrames(t *testing.T) {
	t.Parallel()
	s := open(t).socket(t, "").ready()
	s.say(`{"type":"subscribe","filters":{"entity_ids":["` + strings.Repeat(`x","`, 50_000) + `y"]}}`)
	require.Equal(t, "subscribed", s.next()["status"])
}
